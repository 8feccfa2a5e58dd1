"""Accounts of the numbers that a source prints, and in which arms each is reproduced.

A study lists all numbers that its source prints (:class:`PrintedNumber`), the arms that were tried
(:class:`Arm`, with their assumptions), and which claim tests which number (:class:`NumberClaim`).
:func:`account` derives the state of each number from the verdicts of one run. A number without a
judged claim is *not judged in these runs*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.model import Judged
from dumbbell.claims.verdicts import Verdict


class State(StrEnum):
    """State of a printed number. The value is the text on the page."""

    REPRODUCED = "reproduced"
    """Follows from the printed description, or from what other printed numbers already fixed."""
    EXPLAINED = "explained at a point"
    """A single setting of the unpublished parameters reproduces this number and the rest of its
    set.
    """
    CALIBRATION = "calibration"
    """The number was used to choose a parameter, so it tests nothing."""
    NOT_EXPLAINED = "not explained anywhere"
    """None of the arms that were tried reproduces it."""
    UNINFORMATIVE = "uninformative"
    """A single run as published varies so much that the number tests nothing."""
    BY_CONSTRUCTION = "holds by construction"
    """The number repeats an input of the experiment."""
    NOT_TESTABLE = "not testable"
    """No run can test it."""
    NOT_JUDGED = "not judged in these runs"
    """Too little was run: only the full preset in the simulator judges all numbers."""

    @property
    def is_apart(self) -> bool:
        """Whether the number tests nothing and is therefore listed separately."""
        return self in _APART


_APART = (State.UNINFORMATIVE, State.BY_CONSTRUCTION, State.NOT_TESTABLE, State.NOT_JUDGED)
_STATES: Sequence[tuple[State, tuple[Verdict, ...]]] = (
    (State.REPRODUCED, (Verdict.REPRODUCED,)),
    (State.EXPLAINED, (Verdict.EXPLAINED_AT, Verdict.DEPENDS_ON)),
    # A number that was fitted jointly and is still reproduced nowhere stays unexplained.
    (State.NOT_EXPLAINED, (Verdict.NOT_EXPLAINED,)),
    (State.CALIBRATION, (Verdict.CALIBRATION,)),
    (State.NOT_EXPLAINED, (Verdict.NOT_REPRODUCED,)),
    (State.UNINFORMATIVE, (Verdict.UNINFORMATIVE,)),
    (State.BY_CONSTRUCTION, (Verdict.CHECK_HOLDS,)),
    (State.NOT_TESTABLE, (Verdict.NOT_TESTABLE,)),
)
"""A number's state is the first in this list for which one of the verdicts was given."""


def state_of(verdicts: Iterable[Verdict]) -> State:
    """The state of a number with these verdicts, whatever arms they come from."""
    given = set(verdicts)
    for state, any_of in _STATES:
        if given.intersection(any_of):
            return state
    return State.NOT_JUDGED


class Cost(StrEnum):
    """How implausible an arm's assumption is. The value completes "It is ...", most plausible
    first.
    """

    AS_PRINTED = "what the source prints"
    LEFT_OPEN = "a choice that the source leaves open"
    KNOWN = "what such programs are known to do"
    ONE_NUMBER = "a number of which the source says nothing, fitted"
    UNSUPPORTED = "an assumption that nothing in the source speaks for"
    AGAINST = "against what the source says"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """An explanation that was tried: a setting with its assumption.

    Attributes:
        name: Unique in its study; completes "it comes out ...", such as "with a ring of 77.5 kB".
        cost: How implausible the assumption is.
        why: The assumption and the evidence for and against it, in a sentence or two.
    """

    name: str
    cost: Cost
    why: str


@dataclass(frozen=True, slots=True)
class NumberClaim:
    """A claim that tests a printed number.

    Attributes:
        claim: The claim's id.
        arm: The arm in which it is judged.
        level: The number's name among the levels of a joint claim.
    """

    claim: str
    arm: Arm
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedNumber:
    """A number that the source prints as a result.

    Attributes:
        key: Unique in its study.
        group: Heading under which the number is listed.
        name: Name within the group.
        printed: As printed.
        unit: Unit; ``1`` for a pure number.
        spoken: Claims about it, most plausible arm first.
    """

    key: str
    group: str
    name: str
    printed: str
    unit: str
    spoken: tuple[NumberClaim, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """A printed number and its state in one run.

    Attributes:
        number: The printed number.
        state: Its state by the verdicts of that run.
        spoken: The claim that decided the state; if the number is explained nowhere, the nearest.
        judged: That claim's verdict; None where nothing was judged.
    """

    number: PrintedNumber
    state: State
    spoken: NumberClaim | None = None
    judged: Judged | None = None

    @property
    def found(self) -> MeasuredInterval | None:
        """The number measured for this claim, where it has one of its own."""
        if self.judged is None or self.spoken is None:
            return None
        return _found(self.spoken, self.judged.decision)


@dataclass(frozen=True, slots=True)
class TriedArm:
    """An arm and its results.

    Attributes:
        arm: The arm.
        asked: Number of printed numbers judged in it.
        came_out: How many of those were reproduced or explained.
        used: How many of those were used for calibration.
    """

    arm: Arm
    asked: int
    came_out: int
    used: int


@dataclass(frozen=True, slots=True)
class Accounts:
    """All printed numbers of a source in one run.

    Attributes:
        rows: One account per number, in the source's order.
        tried: The arms with a judged claim, most plausible first.
        story: Summary for the reader, one string per paragraph.
    """

    rows: Sequence[Account]
    tried: Sequence[TriedArm]
    story: Sequence[str] = ()

    @property
    def counts(self) -> Mapping[State, int]:
        """Number of printed numbers per state; states without numbers are left out."""
        found = Counter(row.state for row in self.rows)
        return {state: found[state] for state in State if found[state]}

    @property
    def groups(self) -> Mapping[str, Sequence[Account]]:
        """Accounts by group."""
        groups: dict[str, list[Account]] = {}
        for row in self.rows:
            groups.setdefault(row.number.group, []).append(row)
        return groups


@dataclass(frozen=True, slots=True)
class PrintedNumbers:
    """All numbers that a source prints as results.

    Attributes:
        numbers: The numbers, in the source's order.
        story: Summary for the reader, one string per paragraph.
    """

    numbers: Sequence[PrintedNumber]
    story: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse duplicate keys.

        Raises:
            ValueError: Two numbers have the same key.
        """
        twice = [key for key, n in Counter(each.key for each in self.numbers).items() if n > 1]
        if twice:
            raise ValueError(f"printed twice: {', '.join(twice)}")

    def account(self, judged: Iterable[Judged]) -> Accounts:
        """The state of every number by the verdicts of a run.

        Args:
            judged: That run's verdicts; the simulator's precede those of other backends.
        """
        by_id: dict[str, Judged] = {}
        for one in sorted(judged, key=lambda one: one.backend != "sim"):
            by_id.setdefault(one.claim.id, one)
        rows = [_account(number, by_id) for number in self.numbers]
        return Accounts(rows, _tried(self.numbers, by_id), self.story)


def _account(number: PrintedNumber, judged: Mapping[str, Judged]) -> Account:
    given = [(each, judged[each.claim]) for each in number.spoken if each.claim in judged]
    state = state_of(one.verdict for _, one in given)
    if state is State.NOT_JUDGED:
        return Account(number, state)
    deciding = [pair for pair in given if state_of([pair[1].verdict]) is state]
    if state is State.NOT_EXPLAINED:
        # The nearest of the arms that do not reproduce it.
        return Account(number, state, *min(deciding, key=lambda pair: _miss(*pair)))
    return Account(number, state, *deciding[0])


def _found(spoken: NumberClaim, decision: Decision) -> MeasuredInterval | None:
    if not spoken.level:
        return decision.found
    return next((found for name, _, found in decision.levels if name == spoken.level), None)


def _miss(spoken: NumberClaim, judged: Judged) -> float:
    """Distance between a printed number and the measured one, in half-widths of its interval."""
    found = _found(spoken, judged.decision)
    printed = [value for name, value, _ in judged.decision.levels if name == spoken.level] or [
        stated.value for stated in judged.claim.rule.stated
    ]
    if found is None or found.low is None or found.high is None or not printed:
        return math.inf
    half = (found.high - found.low) / 2
    away = abs(printed[0] - (found.low + found.high) / 2)
    return away / half if half > 0 else math.inf


_CAME_OUT = (State.REPRODUCED, State.EXPLAINED)


def _tried(numbers: Sequence[PrintedNumber], judged: Mapping[str, Judged]) -> list[TriedArm]:
    by_arm: dict[Arm, list[State]] = {}
    for number in numbers:
        arms = dict.fromkeys(each.arm for each in number.spoken if each.claim in judged)
        for arm in arms:
            verdicts = [
                judged[each.claim].verdict
                for each in number.spoken
                if each.arm == arm and each.claim in judged
            ]
            by_arm.setdefault(arm, []).append(state_of(verdicts))
    costs = list(Cost)
    return [
        TriedArm(
            arm,
            len(states),
            sum(state in _CAME_OUT for state in states),
            states.count(State.CALIBRATION),
        )
        for arm, states in sorted(by_arm.items(), key=lambda each: costs.index(each[0].cost))
    ]
