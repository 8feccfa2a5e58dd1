"""Reproducing printed numbers: every number of a source, and the arms in which it is reproduced.

A study lists all numbers that its source prints (:class:`PrintedNumber`), the arms that were tried
for them (:class:`Arm`, with what each assumes), and which claims speak of which number
(:class:`NumberClaim`). :func:`account` reads the state of each from the verdicts of one run;
nothing is entered by hand, and a number of which that run judged nothing is *not judged in these
runs*.
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
    """What became of a printed number. The value is the word on the page."""

    REPRODUCED = "reproduced"
    """Follows from what is printed, or from what other printed numbers had fixed already."""
    EXPLAINED = "explained at a point"
    """One setting of the unpublished parameters reproduces it and the others of its set."""
    CALIBRATION = "calibration"
    """It chose a parameter, and so says nothing more."""
    NOT_EXPLAINED = "not explained anywhere"
    """No arm that was tried gives it."""
    UNINFORMATIVE = "uninformative"
    """One run as published is so uncertain that the number tests nothing."""
    BY_CONSTRUCTION = "holds by construction"
    """It repeats what was asked for."""
    NOT_TESTABLE = "not testable"
    """Nothing that can be run speaks of it."""
    NOT_JUDGED = "not judged in these runs"
    """Too little was run: the full preset in the simulator judges all."""

    @property
    def is_apart(self) -> bool:
        """Whether it tests nothing, and so is listed apart."""
        return self in _APART


_APART = (State.UNINFORMATIVE, State.BY_CONSTRUCTION, State.NOT_TESTABLE, State.NOT_JUDGED)
_STATES: Sequence[tuple[State, tuple[Verdict, ...]]] = (
    (State.REPRODUCED, (Verdict.REPRODUCED,)),
    (State.EXPLAINED, (Verdict.EXPLAINED_AT, Verdict.DEPENDS_ON)),
    # Held together with others and found nowhere: that it chose a parameter does not help it.
    (State.NOT_EXPLAINED, (Verdict.NOT_EXPLAINED,)),
    (State.CALIBRATION, (Verdict.CALIBRATION,)),
    (State.NOT_EXPLAINED, (Verdict.NOT_REPRODUCED,)),
    (State.UNINFORMATIVE, (Verdict.UNINFORMATIVE,)),
    (State.BY_CONSTRUCTION, (Verdict.CHECK_HOLDS,)),
    (State.NOT_TESTABLE, (Verdict.NOT_TESTABLE,)),
)
"""The first state of which one of the verdicts was given is a number's."""


def state_of(verdicts: Iterable[Verdict]) -> State:
    """The state of a number of which these verdicts were given, in whatever arms."""
    given = set(verdicts)
    for state, any_of in _STATES:
        if given.intersection(any_of):
            return state
    return State.NOT_JUDGED


class Cost(StrEnum):
    """What an arm costs in plausibility. The value completes "It is ...", the cheapest first."""

    AS_PRINTED = "what the source prints"
    LEFT_OPEN = "a choice that the source leaves open"
    KNOWN = "what such programs are known to do"
    ONE_NUMBER = "a number of which the source says nothing, fitted"
    UNSUPPORTED = "an assumption that nothing in the source speaks for"
    AGAINST = "against what the source says"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Something that was tried.

    Attributes:
        name: Unique in its study; completes "it comes out ...", such as "with a ring of 77.5 kB".
        cost: In plausibility.
        why: What is assumed, and what speaks for and against it, in a sentence or two.
    """

    name: str
    cost: Cost
    why: str


@dataclass(frozen=True, slots=True)
class NumberClaim:
    """A claim that speaks of a number.

    Attributes:
        claim: Its id.
        arm: In which it is judged.
        level: What the number is called among the levels of a claim about several.
    """

    claim: str
    arm: Arm
    level: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedNumber:
    """A number that the source prints as a result.

    Attributes:
        key: Unique in its study.
        group: What a reader finds it under; numbers of a group stand together.
        name: In that group.
        printed: As printed.
        unit: Of it; ``1`` for a pure number.
        spoken: Claims about it, the cheapest arm first.
    """

    key: str
    group: str
    name: str
    printed: str
    unit: str
    spoken: tuple[NumberClaim, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """A printed number with its state in one run.

    Attributes:
        number: Which.
        state: From the verdicts of that run.
        spoken: The claim that decided the state; of one not explained anywhere, the nearest.
        judged: That claim; None where nothing was judged.
    """

    number: PrintedNumber
    state: State
    spoken: NumberClaim | None = None
    judged: Judged | None = None

    @property
    def found(self) -> MeasuredInterval | None:
        """What one run gives there, where the claim has a number of its own for it."""
        if self.judged is None or self.spoken is None:
            return None
        return _found(self.spoken, self.judged.decision)


@dataclass(frozen=True, slots=True)
class TriedArm:
    """An arm with what came out in it.

    Attributes:
        arm: Which.
        asked: Printed numbers judged in it.
        came_out: Of those, reproduced or explained.
        used: Of those, calibration.
    """

    arm: Arm
    asked: int
    came_out: int
    used: int


@dataclass(frozen=True, slots=True)
class Accounts:
    """All printed numbers of a source in one run.

    Attributes:
        rows: One a number, in the source's order.
        tried: The arms of which something was judged, the cheapest first.
        story: What a reader should take from it, a paragraph each.
    """

    rows: Sequence[Account]
    tried: Sequence[TriedArm]
    story: Sequence[str] = ()

    @property
    def counts(self) -> Mapping[State, int]:
        """State to how many numbers have it, of those that any has."""
        found = Counter(row.state for row in self.rows)
        return {state: found[state] for state in State if found[state]}

    @property
    def groups(self) -> Mapping[str, Sequence[Account]]:
        """Group to its numbers."""
        groups: dict[str, list[Account]] = {}
        for row in self.rows:
            groups.setdefault(row.number.group, []).append(row)
        return groups


@dataclass(frozen=True, slots=True)
class PrintedNumbers:
    """Everything a source prints as a result.

    Attributes:
        numbers: All of them, in its order.
        story: What a reader should take from it, a paragraph each.
    """

    numbers: Sequence[PrintedNumber]
    story: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse two numbers of one key.

        Raises:
            ValueError: As said.
        """
        twice = [key for key, n in Counter(each.key for each in self.numbers).items() if n > 1]
        if twice:
            raise ValueError(f"printed twice: {', '.join(twice)}")

    def account(self, judged: Iterable[Judged]) -> Accounts:
        """The state of every number by the verdicts of a run.

        Args:
            judged: Of that run; the simulator's go before another backend's.
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
        # Of all arms in which it does not come out, the one that comes nearest.
        return Account(number, state, *min(deciding, key=lambda pair: _miss(*pair)))
    return Account(number, state, *deciding[0])


def _found(spoken: NumberClaim, decision: Decision) -> MeasuredInterval | None:
    if not spoken.level:
        return decision.found
    return next((found for name, _, found in decision.levels if name == spoken.level), None)


def _miss(spoken: NumberClaim, judged: Judged) -> float:
    """How far a printed number is from what one run gives, in half-widths of its interval."""
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
