"""Several controllers compared with each other: what holds, operating points, who dominates whom.

Each has its whole dossier first. Compared are the expectations and the cells that all of them
have. Replications of a cell are paired, as all of them have the same seeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell import _engine
from dumbbell.compare.summary import Floats
from dumbbell.judge.asked import Depth
from dumbbell.judge.description import BUSY, SOJOURN
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.sections.known import KNOWN
from dumbbell.judge.words import FAILS, HOLDS, OPEN, outcome_words
from dumbbell.stats import difference_interval

BUSY_MARGIN_PERCENT = 1.0
"""Of the link: less is no difference."""
WAIT_MARGIN_MS = 1.0
LEVEL = 0.95
"""That all comparisons of a scenario hold together."""
_MANUAL = "manual"
"""Its window is a list in the description."""


def native_controllers() -> tuple[str, ...]:
    """All of the simulator's that set their own window."""
    return tuple(name for name in _engine.congestion_controllers() if name != _MANUAL)


@dataclass(frozen=True, slots=True, order=True)
class Scenario:
    """A cell in which a section asks how busy the link is or how long its packets wait.

    Attributes:
        rfc: Number of the section in RFC 9743.
        section: Its id.
        id: Of the first such expectation of the cell.
        title: Section and cell, in words.
    """

    rfc: str
    section: str
    id: str
    title: str


@dataclass(frozen=True, slots=True)
class Point:
    """Where a controller works in a scenario: a number of each replication.

    Attributes:
        busy_percent: Time that the bottleneck was busy, shape (n,), from 0 to 100.
        wait_ms: Mean time of a packet in its queue, shape (n,).
    """

    busy_percent: Floats
    wait_ms: Floats


@dataclass(frozen=True, slots=True)
class Entry:
    """A controller on a backend.

    Attributes:
        name: Of the controller, and of the backend where there are several.
        outcomes: Id of each claim to `HOLDS`, `FAILS` or `OPEN`, without what is known of it.
        points: Where it works, by scenario; without the cells that failed.
        sections: Id of each claim to title of its section.
    """

    name: str
    outcomes: Mapping[str, str]
    points: Mapping[Scenario, Point]
    sections: Mapping[str, str]


def entries_of(dossier: Dossier) -> list[Entry]:
    """What a league takes from a dossier: one entry a backend."""
    several = len(dossier.backends) > 1
    asked = [found for found in dossier.found if found.section.id != KNOWN.id]
    return [
        Entry(
            f"{dossier.asked.name}, {backend}" if several else dossier.asked.name,
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
            {each.claim.id: found.section.title for found in asked for each in found.judged},
        )
        for backend in dossier.backends
    ]


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
    """How an entry stands in the league.

    Attributes:
        entry: Which one.
        counts: How many of the shared expectations have each outcome.
        first: The best rank that it may have, from 1.
        last: The worst; `first` where what is decided leaves one rank.
        dominated: Scenarios in which another is better, to the names of those.
    """

    entry: Entry
    counts: Mapping[str, int]
    first: int
    last: int
    dominated: Mapping[Scenario, Sequence[str]]

    @property
    def rank(self) -> str:
        """``3``, or ``2 to 5`` where it is not decided."""
        return f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class League:
    """All of them.

    Attributes:
        entries: In the order they were named.
        depth: How thoroughly each was run.
        against: What each shared links with.
    """

    entries: Sequence[Entry]
    depth: Depth
    against: Sequence[str]

    @property
    def shared(self) -> list[str]:
        """Claims that were asked of every entry, by id: only they count."""
        return [
            name
            for name in self.entries[0].outcomes
            if all(name in each.outcomes for each in self.entries)
        ]

    @property
    def scenarios(self) -> list[Scenario]:
        """Cells in which every entry has a point."""
        return [
            scenario
            for scenario in self.entries[0].points
            if all(scenario in each.points for each in self.entries)
        ]

    def counts(self, entry: Entry) -> dict[str, int]:
        """How many of the shared expectations have each outcome."""
        found = Counter(entry.outcomes[name] for name in self.shared)
        return {word: found[word] for word in (HOLDS, FAILS, OPEN)}

    def standings(self) -> list[Standing]:
        """The entries, the best first.

        One is ahead of another where it keeps more expectations even if all that is open of the
        other held. So a rank is one number only where the intervals behind the verdicts decide it.
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
        """Places of a worse entry and one that dominates it.

        That one is better in busy or in wait, and not worse in the other. By 95 % intervals of the
        paired differences that hold for all pairs and both numbers together (Bonferroni), and by
        more than the margins.
        """
        points = [each.points[scenario] for each in self.entries]
        # Two numbers of each pair.
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
    """Whether one is surely more by a margin, and whether it is surely not less by it."""
    n = min(more.size, less.size)
    interval = difference_interval(more[:n], less[:n], level)
    return interval.low > margin, interval.low > -margin
