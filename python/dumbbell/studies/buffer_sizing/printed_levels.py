"""Tests whether one point reproduces all numbers printed for an experiment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TypeVar

from dumbbell.claims import Amendment, Claim, Grid, GridPoint, Judged, Runs, Setting, judge
from dumbbell.claims.rules import Explained, Law, Level
from dumbbell.replication import Replications
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Case, Stack, Workload
from dumbbell.studies.buffer_sizing.claims import grid_words, settings
from dumbbell.studies.buffer_sizing.measures import (
    BufferComparison,
    Floats,
    Found,
    closed_loop_levels,
    persistent_levels,
)
from dumbbell.studies.buffer_sizing.published import Levels, Platform

A = TypeVar("A")

AROUND = 0.05
"""Tolerance of "around" a share: the source's shares are multiples of 5 %, or between two."""
UP_TO = 0.025
"""Tolerance of "up to" for a maximum loss: half of those steps."""
AROUND_LOSS = 0.01
"""Tolerance of "2 % to 4 %" around its middle."""
STACK_OF: Mapping[Platform, Stack] = MappingProxyType({"testbed": "testbed", "paper": "ns-2"})
_JOINT = Amendment(
    "2026-11-22",
    "until then each level was demanded of every point of the grid, where one point gave them all",
)


@dataclass(frozen=True, slots=True)
class LevelReading:
    """Interpretation of a printed level.

    Attributes:
        name: Name on the page, with the number of the observation.
        reading: Tolerance of the printed number.
        law: Distribution of the value of one run.
    """

    name: str
    reading: float = AROUND
    law: Law = Law.NORMAL


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment with printed levels.

    Attributes:
        printed: Printed levels by platform.
        measure: Computes the same levels of one replication.
        told: Interpretation of each level, by field.
    """

    printed: Mapping[Platform, Levels]
    measure: Callable[[BufferComparison], Levels]
    told: Mapping[str, LevelReading]

    def levels(self, platform: Platform) -> dict[str, float]:
        """Return the printed numbers of a platform by field."""
        printed = self.printed[platform]
        values = {each.name: getattr(printed, each.name) for each in fields(printed)}
        return {name: value for name, value in values.items() if value is not None}

    def values(self, found: Replications[A, BufferComparison], arm: A, field: str) -> Floats:
        """Return what each replication would have printed, shape (n,)."""
        return found.values(arm, lambda of: getattr(self.measure(of), field))

    def would_print(
        self, found: Replications[A, BufferComparison], arm: A, of_fields: Iterable[str]
    ) -> Mapping[str, Runs]:
        """Return what each replication would have printed for several fields, by printed name."""
        return {self.told[field].name: Runs(self.values(found, arm, field)) for field in of_fields}


EXPERIMENTS: Mapping[Workload, Experiment] = MappingProxyType(
    {
        "persistent": Experiment(
            published.PERSISTENT,
            persistent_levels,
            {
                "large_better_with_large": LevelReading("(1) large flows better with B_l"),
                "small_better_with_small": LevelReading("(2) small flows better with B_s"),
                "large_loss": LevelReading("(4) loss of large flows with B_l", AROUND_LOSS),
                "small_without_loss_small": LevelReading("(5) small flows without loss, B_s"),
                "small_without_loss_large": LevelReading("(5) small flows without loss, B_l"),
            },
        ),
        "closed-loop": Experiment(
            published.CLOSED_LOOP,
            closed_loop_levels,
            {
                "large_better_with_large": LevelReading("(6) large flows better with B_l"),
                "small_better_with_large": LevelReading("(7) small flows better with B_l"),
                "large_without_loss_large": LevelReading("(9) large flows without loss, B_l"),
                "large_greatest_loss_small": LevelReading(
                    "(9) greatest loss of a large flow, B_s", UP_TO, Law.LOG_NORMAL
                ),
                "small_greatest_loss_small": LevelReading(
                    "(9) greatest loss of a small flow, B_s", UP_TO, Law.LOG_NORMAL
                ),
            },
        ),
    }
)


def judge_levels(found: Found) -> Iterator[Judged]:
    """Judge whether one point of the grid gives all numbers printed for an experiment.

    A grid that was not run completely is not judged.
    """
    for workload in EXPERIMENTS:
        for platform in published.PLATFORMS:
            points = [point for point in arms.GRID if point.stack == STACK_OF[platform]]
            cases = [Case(point, workload) for point in points]
            if all(case in found.results for case in cases):
                yield judge_together(
                    found,
                    dict(zip(cases, settings(points), strict=True)),
                    id=f"levels-{workload}-{platform}",
                    workload=workload,
                    platform=platform,
                    grid=grid_words(points),
                    amended=_JOINT,
                )


def judge_together(
    found: Replications[A, BufferComparison],
    where: Mapping[A, Setting],
    *,
    id: str,
    workload: Workload,
    platform: Platform,
    grid: str,
    without: Sequence[str] = (),
    amended: Amendment | None = None,
) -> Judged:
    """Judge whether one of these arms gives all numbers that a platform prints for an experiment.

    Args:
        found: Runs of all arms.
        where: Setting of each arm, as named in a verdict.
        id: Id of the claim.
        workload: Workload of the experiment.
        platform: Platform of the levels.
        grid: Varied parameters, in words.
        without: Fields that are omitted.
        amended: Date at which the rule or its scope was changed.
    """
    experiment = EXPERIMENTS[workload]
    levels = experiment.levels(platform)
    asked = {field: value for field, value in levels.items() if field not in without}
    claim = Claim(
        id=id,
        statement=levels_statement(platform, workload, asked),
        source=published.PLATFORMS[platform],
        rule=Explained(
            levels={
                told.name: Level(printed=asked[field], reading=told.reading, law=told.law)
                for field, told in experiment.told.items()
                if field in asked
            },
            grid=grid,
            unit="1",
        ),
        amended=amended,
    )
    points = [
        GridPoint(setting, experiment.would_print(found, arm, asked))
        for arm, setting in where.items()
    ]
    return judge(claim, Grid(points))


def levels_statement(
    platform: Platform, workload: Workload, levels: Mapping[str, float] | None = None
) -> str:
    """Return the statement that a platform prints these levels, by default all of an experiment."""
    experiment = EXPERIMENTS[workload]
    printed = ", ".join(
        f"{experiment.told[field].name} {100 * value:g} %"
        for field, value in (experiment.levels(platform) if levels is None else levels).items()
    )
    return f"The {platform}'s levels with {arms.WORKLOADS[workload]}: {printed}"
