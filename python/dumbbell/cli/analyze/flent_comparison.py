"""Compare a measurement with simulated runs of the same Flent test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.table import Table as Grid
from rich.text import Text

from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.cli.analyze.flent_network import SameTest
    from dumbbell.formats.flent import FlentFile

FEWEST_REPLICATIONS = 2
DEFAULT_REPLICATIONS = 5


@dataclass(frozen=True, slots=True)
class ComparedNumber:
    """One number of a measurement and of the simulated runs.

    Attributes:
        series: Series of the data file.
        statistic: ``mean``, or ``95 %`` (the 95th percentile).
        unit: ``Mbits/s`` or ``ms``.
        measured: Value in the file.
        simulated: Mean over the runs; NaN if they lack the series.
        low: Lower end of the 95 % prediction interval for one more run; not below 0.
        high: Upper end of that interval.
    """

    series: str
    statistic: str
    unit: str
    measured: float
    simulated: float
    low: float
    high: float

    @property
    def inside(self) -> bool:
        """Whether the measurement lies in the prediction interval."""
        return self.low <= self.measured <= self.high

    @property
    def is_known(self) -> bool:
        """Whether the runs have the series."""
        return not math.isnan(self.simulated)

    @property
    def has_interval(self) -> bool:
        """Whether there are enough runs for a prediction interval."""
        return not math.isnan(self.low)


_BESIDE_HEAD = ("measured", "simulated", "one run, 95 %", "inside")


def beside_grid(rows: Sequence[ComparedNumber]) -> Grid:
    """The comparison as a table for the terminal."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for _ in range(3):
        grid.add_column("", no_wrap=True)
    for name in _BESIDE_HEAD:
        grid.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells = [f"{row.measured:.2f}", "-", "-", "-"]
        if row.is_known:
            cells[1] = f"{row.simulated:.2f}"
        if row.has_interval:
            cells[2:] = [f"{row.low:.2f} to {row.high:.2f}", "yes" if row.inside else "no"]
        grid.add_row(*map(Text, (row.series, row.statistic, row.unit, *cells)))
    return grid


def compared_as_json(row: ComparedNumber) -> dict[str, object]:
    """One number as JSON."""
    return {
        "series": row.series,
        "statistic": row.statistic,
        "unit": row.unit,
        "measured": row.measured,
        "simulated": row.simulated,
        "low": row.low,
        "high": row.high,
        "is_inside": row.inside if row.has_interval else None,
    }


def check_replications(count: int) -> None:
    """Refuse too few runs for a prediction interval.

    Raises:
        SpecError: There are too few runs.
    """
    if count < FEWEST_REPLICATIONS:
        allowed = f"{FEWEST_REPLICATIONS} and more: one has no interval"
        raise SpecError("--replications", count, allowed)


def compare(file: FlentFile, runs: Sequence[FlentFile]) -> list[ComparedNumber]:
    """Compare the means of all series, and the 95th percentiles of latencies, with the runs.

    Columns of sockets and queues are not compared, since their names refer to hosts of the testbed.

    Args:
        file: The measurement.
        runs: Simulated runs of the same test; missing series get NaN.
    """
    from dumbbell.formats.flent import is_column, summary_rows
    from dumbbell.stats import prediction_interval

    rows = []
    for row in summary_rows(file):
        if not row.points or is_column(row.series):
            continue
        for name in statistics_of(row.unit):
            values = [statistic_of(name, run, row.series) for run in runs]
            found = [value for value in values if not math.isnan(value)]
            low = high = simulated = float("nan")
            if len(found) >= FEWEST_REPLICATIONS:
                interval = prediction_interval(found)
                low, high, simulated = max(interval.low, 0.0), interval.high, interval.value
            measured = statistic_of(name, file, row.series)
            rows.append(ComparedNumber(row.series, name, row.unit, measured, simulated, low, high))
    return rows


def statistics_of(unit: str) -> tuple[str, ...]:
    """Statistics compared for a series: the mean, and the 95th percentile of latencies."""
    return ("mean", "95 %") if unit == "ms" else ("mean",)


def statistic_of(name: str, file: FlentFile, series: str) -> float:
    """``mean`` (see `series_mean`), or ``95 %``: the 95th percentile; NaN without values."""
    from dumbbell.formats.flent import series_mean, series_values

    if name == "mean":
        return series_mean(file, series)
    values = series_values(file, series)
    return float(np.percentile(values, 95)) if values else float("nan")


def simulated_runs(same: SameTest, replications: int, *, jobs: int) -> list[FlentFile]:
    """One data file per replication, in order; the file's own replication is skipped.

    Args:
        same: The test to simulate.
        replications: Number of runs.
        jobs: Threads; 0 for one per core.

    Raises:
        RunError: A run failed.
    """
    from dumbbell.backends import BatchProgress, run_many
    from dumbbell.cli.flent.tests import hint_at_instead
    from dumbbell.cli.terminal.progress import shown_progress
    from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
    from dumbbell.formats.flent import flent_file
    from dumbbell.replication import Interrupted, Progress

    files: dict[int, FlentFile] = {}
    total = replications
    with stopped_by_ctrl_c() as stop, shown_progress() as show:

        def tell(progress: BatchProgress) -> None:
            show(Progress(same.test.name, min(progress.done, float(total)), float(total), "runs"))

        numbers = [number for number in range(total + 1) if number != same.own_replication]
        runs = [(same.experiment, number) for number in numbers[:total]]
        with hint_at_instead():
            for _, run in run_many(runs, jobs=jobs, cancel=stop, on_progress=tell):
                title = f"simulated-{run.replication}"
                files[run.replication] = flent_file(run, same.test, title=title)
        if stop.is_set():
            raise Interrupted("stopped; nothing was written")
    return [files[number] for number in sorted(files)]
