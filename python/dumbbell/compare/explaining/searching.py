"""What is tried: the values of each unknown setting alone, and in pairs.

The file has the printed numbers as ``[[claim]]`` tables of the kind ``published``, and the settings
that the source does not say as ``[[unknown]]`` tables. Each value is tried alone, then with each
value of another unknown; everything else stays as in the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.claims.rules import Law, Level, Preview, Published, PublishedInEnsemble
from dumbbell.claims.rules.prediction import LEAST_FOR_STUDENT
from dumbbell.compare.axes import Axis, with_unique_names
from dumbbell.compare.checking.asserted import Asserted, asserted
from dumbbell.compare.checking.numbers import Number, Numbers
from dumbbell.compare.checking.planning import Plan
from dumbbell.compare.summary import Floats
from dumbbell.errors import SpecError
from dumbbell.spec import Setting, spelling_of
from dumbbell.spec.claim_tables import CLAIM
from dumbbell.spec.questions import parted
from dumbbell.spec.toml_file import load
from dumbbell.spec.unknown_tables import UNKNOWN, Unknowns, UnknownTable

MOST_TRIALS = 500
"""Most settings that are tried: each is a cell, or several, with all its replications."""
AS_IT_IS = "the file as it is"


class Pairs(StrEnum):
    """When settings are tried two at a time."""

    AUTO = "auto"
    """If neither the file nor a setting alone gives the printed numbers."""
    ALWAYS = "always"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of an unknown.

    Attributes:
        unknown: Index of the unknown.
        words: Its name and value.
        settings: The value at each of its paths.
    """

    unknown: int
    words: str
    settings: tuple[Setting, ...]


@dataclass(frozen=True)
class Trial:
    """Some choices, and the claims and cells of the file with them.

    Attributes:
        choices: None, one or two.
        claims: The claims.
    """

    choices: tuple[Choice, ...]
    claims: Asserted

    @property
    def label(self) -> str:
        """Its choices in words."""
        return _words(self.choices) or AS_IT_IS

    @property
    def printed(self) -> list[Plan]:
        """Plans of the printed numbers."""
        return [each for each in self.claims.plans if _rule(each) is not None]

    @property
    def is_preview(self) -> bool:
        """Whether a run is shorter than a claim says the published one was."""
        return any(isinstance(each.claim.rule, Preview) for each in self.printed)


@dataclass(frozen=True, slots=True)
class NotRun:
    """Choices without runs.

    Attributes:
        label: The choices in words.
        why: Why there are none.
    """

    label: str
    why: str


@dataclass(frozen=True)
class Search:
    """What is tried; nothing has run.

    Attributes:
        file: The file.
        settings: Values that replace those of the file in every trial.
        base: The file as it is.
        alone: One setting changed.
        same: Values that are the file's own.
        printed: Each printed number, by the id of its claim.
        groups: Ids of numbers that are printed of the same runs.
        at_least: Replications of each cell, from the sweep or the default.
    """

    file: Path
    settings: tuple[Setting, ...]
    base: Trial
    alone: tuple[Trial, ...]
    same: tuple[str, ...]
    printed: Mapping[str, Level]
    groups: tuple[tuple[str, ...], ...]
    at_least: int

    @property
    def replications(self) -> int:
        """Replications of each cell: enough for the joint test of the largest group."""
        return max(self.at_least, self.fewest, 2 * max(map(len, self.groups)))

    @property
    def fewest(self) -> int:
        """Fewest replications for the joint test, as of the rules for printed numbers."""
        return max(LEAST_FOR_STUDENT, max(map(len, self.groups)) + 2)

    @property
    def n_pairs(self) -> int:
        """Number of pairs of choices."""
        return sum(1 for _ in self._pairs())

    def pairs(self) -> tuple[tuple[Trial, ...], tuple[NotRun, ...]]:
        """Two settings changed, and the pairs that describe no experiment."""
        found, impossible = [], []
        for choices in self._pairs():
            try:
                found.append(self.trial(choices))
            except SpecError as error:
                impossible.append(NotRun(_words(choices), str(error)))
        return tuple(found), tuple(impossible)

    def _pairs(self) -> Iterator[tuple[Choice, Choice]]:
        choices = [choice for trial in self.alone for choice in trial.choices]
        for one, other in itertools.combinations(choices, 2):
            if one.unknown != other.unknown:
                yield one, other

    def trial(self, choices: tuple[Choice, ...]) -> Trial:
        """The file with some choices.

        Raises:
            SpecError: They describe no experiment.
        """
        settings = [each for choice in choices for each in choice.settings]
        return Trial(choices, asserted(self.file, (*self.settings, *settings)))


def search_of(file: Path, settings: Sequence[Setting] = (), *, pairs: Pairs = Pairs.AUTO) -> Search:
    """Read what is printed and what is unknown.

    Raises:
        SpecError: The file has no printed number or no unknown; a path or a value of an unknown is
            not allowed; or there is too much to try.
    """
    document, _ = load(file)
    if not document.get(UNKNOWN):
        allowed = "[[unknown]] tables: what the source does not say (docs/explain.md)"
        raise SpecError(UNKNOWN, "nothing", allowed)
    tables = Unknowns.read({UNKNOWN: document[UNKNOWN]}).unknown
    paths = [path for table in tables for path in table.path]
    for setting in settings:
        if spelling_of(parted(document)[0], setting.path, paths) in paths:
            allowed = "a setting that no [[unknown]] table tries"
            raise SpecError("--set", str(setting), allowed)
    base = Trial((), asserted(file, tuple(settings)))
    if not base.printed:
        allowed = '[[claim]] tables with kind = "published": the printed numbers'
        raise SpecError(CLAIM, "no printed number", allowed)
    search = Search(
        file=file,
        settings=tuple(settings),
        base=base,
        alone=(),
        same=(),
        printed={each.claim.id: _level(each) for each in base.printed},
        groups=_groups(base.printed),
        at_least=base.claims.at_least,
    )
    alone, same = [], []
    for choice, where in _choices(tables):
        try:
            trial = search.trial((choice,))
        except SpecError as error:
            place = f"{where}: {error.path}" if error.path else where
            raise SpecError(place, error.value, error.allowed, error.hint, error.reason) from None
        if _described(trial) == _described(base):
            same.append(choice.words)
        else:
            alone.append(trial)
    search = replace(search, alone=tuple(alone), same=tuple(same))
    n, most = 1 + len(alone), f"at most {MOST_TRIALS} settings"
    if pairs is not Pairs.NEVER:
        n += search.n_pairs
        most += ": fewer values, or --pairs never"
    if n > MOST_TRIALS:
        raise SpecError(UNKNOWN, f"{n} settings, alone and in pairs", most)
    return search


def _choices(tables: Sequence[UnknownTable]) -> Iterator[tuple[Choice, str]]:
    """Each value of each unknown, and its place in the file."""
    axes = []
    for number, table in enumerate(tables):
        try:
            given = table.given()
        except ValueError as error:
            raise SpecError(f"{UNKNOWN}[{number}]", "values", str(error)) from None
        more = {"text": table.text or "", "name": table.name or "", "unit": table.unit or ""}
        axes.append(Axis.of(table.path[0], given, **more))
    for number, (table, axis) in enumerate(zip(tables, with_unique_names(axes), strict=True)):
        for place, value in enumerate(axis.values):
            settings = tuple(Setting(path, value) for path in table.path)
            words = f"{axis.name} {axis.label(place)}"
            yield Choice(number, words, settings), f"{UNKNOWN}[{number}], value {place + 1}"


def _described(trial: Trial) -> list[str]:
    return [each.experiment.resolved_json() for each in trial.claims.cells]


def _rule(plan: Plan) -> Published | PublishedInEnsemble | None:
    rule = plan.claim.rule
    rule = rule.of if isinstance(rule, Preview) else rule
    return rule if isinstance(rule, Published | PublishedInEnsemble) else None


def _level(plan: Plan) -> Level:
    rule = _rule(plan)
    assert rule is not None
    of_runs: dict[str, Any] = {}
    if isinstance(rule, Published):
        of_runs = {"law": rule.law, "jitter": rule.jitter}
    if of_runs.get("law") is Law.ANY:
        allowed = "'normal' or 'log-normal': all printed numbers are tested jointly"
        raise SpecError(f"claim {plan.claim.id}: law", "any", allowed)
    try:
        return Level(printed=rule.printed, reading=rule.rounding, **of_runs)
    except ValueError as error:
        raise SpecError(f"claim {plan.claim.id}", plan.claim.id, str(error)) from None


def _words(choices: Sequence[Choice]) -> str:
    return " and ".join(each.words for each in choices)


class _CellsOf(Numbers):
    """Stands in for runs, to find the cells that a claim is about."""

    def __init__(self) -> None:
        self.labels: set[str] = set()

    def of(self, number: Number, scale: Any = None) -> Floats:
        self.labels.add(number.cell.label)
        return np.ones(2)


def _groups(plans: Sequence[Plan]) -> tuple[tuple[str, ...], ...]:
    """Ids of claims whose numbers share a cell, and so come from the same runs."""
    groups: list[tuple[set[str], list[str]]] = []
    for plan in plans:
        seen = _CellsOf()
        plan.evidence(seen, seen)
        labels, ids = set(seen.labels), [plan.claim.id]
        for other in [each for each in groups if each[0] & labels]:
            labels |= other[0]
            ids = [*other[1], *ids]
            groups.remove(other)
        groups.append((labels, ids))
    return tuple(tuple(ids) for _, ids in groups)
