"""A league of controllers: expectations held, operating points, and dominance.

Each controller first gets a complete dossier. The comparison uses the expectations and cells that
all of them share. Replications of a cell are paired, because they have the same seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell import _engine
from dumbbell.compare import Measured
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Floats
from dumbbell.judge.description import BUSY, SOJOURN
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.request import MANUAL, Depth
from dumbbell.judge.section import Expectation, Section
from dumbbell.judge.sections.known import KNOWN
from dumbbell.judge.suite import Suite
from dumbbell.judge.words import FAILS, HOLDS, OPEN, outcome_words
from dumbbell.stats import difference_interval

BUSY_MARGIN_PERCENT = 1.0
"""Smaller differences in link utilization do not count."""
WAIT_MARGIN_MS = 1.0
LEVEL = 0.95
"""Simultaneous confidence level of all comparisons of a scenario."""


def native_controllers() -> tuple[str, ...]:
    """The simulator's controllers that set their own window."""
    return tuple(name for name in _engine.congestion_controllers() if name != MANUAL)


@dataclass(frozen=True, slots=True, order=True)
class Scenario:
    """A cell in which a section measures utilization or sojourn time.

    Attributes:
        reference: Reference of the section in its suite.
        section: The section's id.
        id: Id of the first such expectation of the cell.
        title: Section and cell, in words.
    """

    reference: str
    section: str
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Point:
    """Operating point of a controller in a scenario: one number per replication.

    Attributes:
        busy_percent: Utilization of the bottleneck, shape (n,), from 0 to 100.
        wait_ms: Mean sojourn time in its queue, shape (n,).
    """

    busy_percent: Floats
    wait_ms: Floats


@dataclass(frozen=True, slots=True)
class Number:
    """The number of an expectation, for one controller.

    Attributes:
        section: The section.
        label: Name of its cell in figures; empty if the section's figure leaves the number out.
        quantity: What was measured.
        measured: The number, in the base unit of the quantity.
        expectation: What is expected, with the controller's name in it.
    """

    section: Section
    label: str
    quantity: Quantity
    measured: Measured
    expectation: Expectation


@dataclass(frozen=True, slots=True)
class Entry:
    """A controller on a backend.

    Attributes:
        name: Name of the controller, and of the backend if there are several.
        outcomes: `HOLDS`, `FAILS` or `OPEN` by claim id, without claims about single controllers.
        points: Operating points by scenario; without failed cells.
        numbers: What was measured, by claim id.
    """

    name: str
    outcomes: Mapping[str, str]
    points: Mapping[Scenario, Point]
    numbers: Mapping[str, Number]


def entries_of(dossier: Dossier) -> list[Entry]:
    """The league's entries from a dossier: one per backend."""
    several = len(dossier.backends) > 1
    asked = [found for found in dossier.found if found.section.id != KNOWN.id]
    return [
        Entry(
            f"{dossier.request.name}, {backend}" if several else dossier.request.name,
            {
                each.claim.id: outcome_words(each)
                for found in asked
                for each in found.judged
                if each.backend == backend
            },
            {
                scenario: point
                for found in asked
                for scenario, point in _points(found, backend).items()
            },
            {name: number for found in asked for name, number in _numbers(found, backend).items()},
        )
        for backend in dossier.backends
    ]


def _numbers(found: SectionResult, backend: str) -> dict[str, Number]:
    drawn = f".{found.section.drawn.quantity}"
    return {
        f"{found.section.id}-{each.id}": Number(
            found.section,
            each.label if each.quantity.endswith(drawn) else "",
            Quantity.parse(each.quantity),
            found.measured(each, backend),
            each,
        )
        for each in found.written.trial.expectations
    }


def _points(found: SectionResult, backend: str) -> dict[Scenario, Point]:
    points: dict[Scenario, Point] = {}
    failed = {each.label for each in found.checked.comparison.failed}
    seen: set[str] = set()
    for each in found.written.trial.expectations:
        label = found.label(each)
        if each.quantity not in (BUSY, SOJOURN) or not each.label or label in seen | failed:
            continue
        seen.add(label)
        section = found.section
        busy = 100 * found.values(BUSY, each.where, backend)
        wait = 1e3 * found.values(SOJOURN, each.where, backend)
        if np.isfinite(busy).all() and np.isfinite(wait).all():
            title = f"{section.label}: {each.label}"
            points[Scenario(section.reference, section.id, each.id, title)] = Point(busy, wait)
    return points


@dataclass(frozen=True, slots=True)
class Standing:
    """Position of an entry in the league.

    Attributes:
        entry: The entry.
        counts: Number of shared expectations by outcome.
        first: Best possible rank, from 1.
        last: Worst possible rank; equal to `first` if the rank is decided.
        dominated: Scenarios in which others dominate it, with their names.
    """

    entry: Entry
    counts: Mapping[str, int]
    first: int
    last: int
    dominated: Mapping[Scenario, Sequence[str]]

    @property
    def rank(self) -> str:
        """``3``, or ``2 to 5`` if undecided."""
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class League:
    """All entries.

    Attributes:
        entries: The entries, in the order they were named.
        depth: Depth of the dossiers.
        against: Rivals with which each shared links.
        suite: Suite of the dossiers.
    """

    entries: Sequence[Entry]
    depth: Depth
    against: Sequence[str]
    suite: Suite

    @property
    def shared(self) -> list[str]:
        """Ids of the claims that every entry has; only these count."""
        return [
            name
            for name in self.entries[0].outcomes
            if all(name in each.outcomes for each in self.entries)
        ]

    @property
    def scenarios(self) -> list[Scenario]:
        """Cells in which every entry has an operating point."""
        return [
            scenario
            for scenario in self.entries[0].points
            if all(scenario in each.points for each in self.entries)
        ]

    @property
    def drawn(self) -> dict[str, list[str]]:
        """Ids of the shared claims in the figure of each section without an operating point, by the
        section's id.
        """
        with_points = {each.section for each in self.scenarios}
        found: dict[str, list[str]] = {}
        for name in self.shared:
            number = self.entries[0].numbers[name]
            if number.label and number.section.id not in with_points:
                found.setdefault(number.section.id, []).append(name)
        return found

    def counts(self, entry: Entry) -> dict[str, int]:
        """Number of shared expectations by outcome."""
        found = Counter(entry.outcomes[name] for name in self.shared)
        return {word: found[word] for word in (HOLDS, FAILS, OPEN)}

    def standings(self) -> list[Standing]:
        """The entries, best first.

        An entry is ahead of another if it meets more expectations even if all undecided ones of the
        other were met. A rank is a single number only if the verdicts' intervals decide it.
        """
        counts = [self.counts(each) for each in self.entries]
        most = [each[HOLDS] + each[OPEN] for each in counts]
        dominated: list[dict[Scenario, list[str]]] = [{} for _ in self.entries]
        for scenario in self.scenarios:
            for worse, better in self.dominations(scenario):
                dominated[worse].setdefault(scenario, []).append(self.entries[better].name)
        rows = [
            Standing(
                entry,
                own,
                1 + sum(other[HOLDS] > most[place] for other in counts),
                len(counts) - sum(own[HOLDS] > other for other in most),
                dominated[place],
            )
            for place, (entry, own) in enumerate(zip(self.entries, counts, strict=True))
        ]
        return sorted(
            rows, key=lambda row: (row.first, row.last, len(row.dominated), row.entry.name)
        )

    def dominations(self, scenario: Scenario) -> list[tuple[int, int]]:
        """Pairs of indices: a dominated entry, and one that dominates it.

        An entry dominates if it is better in utilization or sojourn time by more than the margin,
        and not worse in the other. This is decided by 95 % intervals of the paired differences,
        simultaneous over all pairs and both numbers (Bonferroni).
        """
        points = [each.points[scenario] for each in self.entries]
        # Two numbers for each pair.
        intervals = len(points) * (len(points) - 1)
        level = 1 - (1 - LEVEL) / max(intervals, 1)
        found = []
        for worse, a in enumerate(points):
            for better, b in enumerate(points):
                if worse == better:
                    continue
                gains = (
                    _gain(b.busy_percent, a.busy_percent, level, BUSY_MARGIN_PERCENT),
                    _gain(a.wait_ms, b.wait_ms, level, WAIT_MARGIN_MS),
                )
                if all(not_worse for _, not_worse in gains) and any(ahead for ahead, _ in gains):
                    found.append((worse, better))
        return found


def _gain(more: Floats, less: Floats, level: float, margin: float) -> tuple[bool, bool]:
    """Whether the first is significantly larger by the margin, and whether it is significantly not
    smaller by it.
    """
    n = min(more.size, less.size)
    interval = difference_interval(more[:n], less[:n], level)
    return interval.low > margin, interval.low > -margin
