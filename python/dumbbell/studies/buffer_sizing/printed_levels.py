"""What the source prints as numbers: does one point give all that it prints of an experiment?"""

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
"""What "around" leaves of a share: the source's shares are all multiples of 5 %, or between two."""
UP_TO = 0.025
"""What "up to" leaves of a greatest loss: half of those steps."""
AROUND_LOSS = 0.01
"""Of "2 % to 4 %" around its middle."""
STACK_OF: Mapping[Platform, Stack] = MappingProxyType({"testbed": "testbed", "paper": "ns-2"})
_JOINT = Amendment(
    "2026-11-22",
    "until then each level was demanded of every point of the grid, where one point gave them all",
)


@dataclass(frozen=True, slots=True)
class LevelReading:
    """How a printed level is read.

    Attributes:
        name: For the reader, with the number of the observation.
        reading: What print leaves open.
        law: Of what one run prints.
    """

    name: str
    reading: float = AROUND
    law: Law = Law.NORMAL


@dataclass(frozen=True, slots=True)
class Experiment:
    """Of which a source prints levels.

    Attributes:
        printed: By each platform.
        measure: The same of one replication.
        told: How each is read, by the field that holds it.
    """

    printed: Mapping[Platform, Levels]
    measure: Callable[[BufferComparison], Levels]
    told: Mapping[str, LevelReading]

    def levels(self, platform: Platform) -> dict[str, float]:
        """Field to printed number, of those that a platform prints."""
        printed = self.printed[platform]
        values = {each.name: getattr(printed, each.name) for each in fields(printed)}
        return {name: value for name, value in values.items() if value is not None}

    def values(self, found: Replications[A, BufferComparison], arm: A, field: str) -> Floats:
        """What each replication would have printed, shape (n,)."""
        return found.values(arm, lambda of: getattr(self.measure(of), field))

    def would_print(
        self, found: Replications[A, BufferComparison], arm: A, of_fields: Iterable[str]
    ) -> Mapping[str, Runs]:
        """The same of several, by what a reader calls them."""
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
    """Does one point of the grid give all that is printed of an experiment?

    Over a grid that was not run completely nothing is judged.
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
    """Does one of these arms give what a platform prints of an experiment?

    Args:
        found: Runs of all arms.
        where: Arm to what it is called in a verdict.
        id: Of the claim.
        workload: Of the experiment.
        platform: Whose levels.
        grid: What varies, in words.
        without: Fields that are not asked for.
        amended: When the rule, or what it is asked of, was changed.
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
    """What a platform prints of an experiment, all of it or these levels."""
    experiment = EXPERIMENTS[workload]
    printed = ", ".join(
        f"{experiment.told[field].name} {100 * value:g} %"
        for field, value in (experiment.levels(platform) if levels is None else levels).items()
    )
    return f"The {platform}'s levels with {arms.WORKLOADS[workload]}: {printed}"
