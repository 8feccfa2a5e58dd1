"""Tests whether unpublished parameters outside the grid reproduce the printed numbers.

Each attempt makes one additional assumption, over one or a few readings. It is judged by the rule
of the grid: all levels of an experiment together at one point. If that fails, a further attempt
omits the levels that disagree, and its name says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dumbbell.claims import (
    Amendment,
    Claim,
    Grid,
    GridPoint,
    Judged,
    Ratio,
    Runs,
    Setting,
    judge,
)
from dumbbell.claims.rules import Direction, Equivalent, Rule, Spread
from dumbbell.claims.rules.prediction import predict
from dumbbell.replication import Replications
from dumbbell.report import Cell, ValueRow, ValueTable
from dumbbell.stats import student_interval
from dumbbell.studies.buffer_sizing import arms, published, readings
from dumbbell.studies.buffer_sizing.arms import Buffer, Workload
from dumbbell.studies.buffer_sizing.measures import BufferComparison, compared
from dumbbell.studies.buffer_sizing.printed_levels import EXPERIMENTS, STACK_OF, judge_together
from dumbbell.studies.buffer_sizing.published import Platform
from dumbbell.studies.buffer_sizing.readings import FULL_PACKET_BYTES, Reading, ReadingRun
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

Found = Replications[Reading, BufferComparison]
AFTERWARDS = Amendment(
    "2026-11-23", "readings chosen after the runs that showed which levels do not come out"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Readings that share an assumption.

    Attributes:
        name: Suffix of the claim's id.
        workload: Workload of the experiment.
        platform: Platform whose levels are judged.
        readings: Readings to run.
        without: Fields of the levels that are omitted.
    """

    name: str
    workload: Workload
    platform: Platform
    readings: tuple[Reading, ...]
    without: tuple[str, ...] = ()

    @property
    def claim(self) -> str:
        """Return the id of the claim."""
        return f"levels-{self.workload}-{self.platform}-{self.name}"


def _attempt(
    workload: Workload, platform: Platform, name: str, *of: Reading, without: Sequence[str] = ()
) -> Attempt:
    return Attempt(
        name=name, workload=workload, platform=platform, readings=of, without=tuple(without)
    )


_MAXIMA = ("large_greatest_loss_small", "small_greatest_loss_small")
ATTEMPTS: tuple[Attempt, ...] = (
    _attempt("persistent", "testbed", "one-size", *readings.LINUX_ONE_SIZE),
    _attempt("persistent", "testbed", "bursts", *readings.LINUX_BURSTY),
    _attempt("persistent", "testbed", "one-way", *readings.LINUX_ONE_WAY),
    _attempt(
        "persistent",
        "testbed",
        "one-way-without-1",
        *readings.LINUX_ONE_WAY,
        without=("large_better_with_large",),
    ),
    _attempt("persistent", "paper", "one-size", *readings.NS_2_ONE_SIZE),
    _attempt("persistent", "paper", "small-packets", *readings.NS_2_SMALL_PACKETS),
    _attempt("closed-loop", "testbed", "between", *readings.LINUX_BETWEEN),
    _attempt("closed-loop", "testbed", "as-persistent", *readings.LINUX_ONE_WAY_USERS),
    _attempt("closed-loop", "testbed", "shaper-gone", *readings.LINUX_SHAPER_GONE),
    _attempt(
        "closed-loop",
        "testbed",
        "without-7",
        *readings.LINUX_BETWEEN,
        without=("small_better_with_large",),
    ),
    _attempt("persistent", "testbed", "gro", *readings.LINUX_GRO),
    _attempt("closed-loop", "testbed", "gro", *readings.LINUX_GRO_USERS),
    # Both buffers give the same result there, so the share at which the CDFs cross is arbitrary.
    _attempt(
        "closed-loop",
        "testbed",
        "host-shaper",
        *readings.LINUX_HOST_SHAPER,
        without=("large_better_with_large", "small_better_with_large"),
    ),
    _attempt("closed-loop", "paper", "between", *readings.NS_2_BETWEEN),
    _attempt("closed-loop", "paper", "least-timeout", *readings.NS_2_LEAST_TIMEOUT),
    _attempt(
        "closed-loop",
        "paper",
        "without-maxima",
        *readings.NS_2_LEAST_TIMEOUT,
        without=_MAXIMA,
    ),
)
"""All attempts; each one is a claim."""


def judge_attempts(found: Found) -> Iterator[Judged]:
    """Judge every attempt whose readings were run."""
    for attempt in ATTEMPTS:
        if all(reading in found.results for reading in attempt.readings):
            yield judge_together(
                found,
                dict(zip(attempt.readings, settings(attempt.readings), strict=True)),
                id=attempt.claim,
                workload=attempt.workload,
                platform=attempt.platform,
                grid=_grid_words(attempt.readings),
                without=attempt.without,
                amended=AFTERWARDS,
            )


BY_THE_LAW = 0.25
"""Throughputs with a smaller relative difference count as matching an approximation."""
_LAW = Amendment("2026-11-23", "until then the law was drawn and not judged")
_SMALL_TOO = Amendment("2026-11-23", "until then large flows alone were looked at")


def judge_beyond(found: Found) -> Iterator[Judged]:
    """Judge statements about any flows: small flows also vary more, and the square-root law holds.

    Uses all readings of a workload except those that merge frames, if all of them were run.
    """
    if not all(reading in found.results for reading in readings.READINGS):
        return
    small: Mapping[Workload, tuple[int, str]] = {
        "persistent": (3, "mice"),
        "closed-loop": (8, "small flows of users"),
    }
    for workload, (number, flows) in small.items():
        yield _judge_over_readings(
            found,
            workload,
            id=f"observation-0{number}-small",
            statement=f"({number}, 13) With B_s the throughput of {flows} varies more",
            source=published.BOTH,
            rule=Spread.more(of=f"the throughput of {flows}, B_s over B_l"),
            evidence=lambda reading: Ratio(
                found.values(reading, lambda of: of.small.small.spread),
                found.values(reading, lambda of: of.large.small.spread),
            ),
            amended=_SMALL_TOO,
            note="measured: the ratio of the means, over the flows of a run of up to 100 kB",
        )
    for buffer, packets in arms.BUFFERS.items():
        yield _judge_over_readings(
            found,
            "persistent",
            id=f"square-root-law-{packets}",
            statement="Throughput of persistent flows is approximately 0.87/(T sqrt(p)), with "
            f"{packets} packets of buffer",
            source=published.SOURCE,
            rule=Equivalent(margin=math.log1p(BY_THE_LAW), unit="1"),
            evidence=partial(_over_the_law, found, buffer),
            amended=_LAW,
            note="measured: logarithm of the median over the flows of throughput over the law's, "
            "with the flow's own dropped packets as p and its mean round-trip time as T; a "
            "quarter more is 0.22, and that this is approximately is ours",
        )


def _over_the_law(found: Found, buffer: Buffer, reading: Reading) -> Runs:
    """Return throughput over the law. The law counts packets; `measures` assumes full ones."""
    full = arms.PACKET_BYTES / (reading.packet_bytes + arms.PACKET_BYTES - FULL_PACKET_BYTES)
    return Runs(found.values(reading, lambda of: math.log(full * getattr(of, buffer).over_law)))


def _judge_over_readings(
    found: Found,
    workload: Workload,
    *,
    id: str,
    statement: str,
    source: str,
    rule: Rule[Any],
    evidence: Callable[[Reading], Any],
    amended: Amendment,
    note: str,
) -> Judged:
    # If frames are merged, the number of packets does not measure what a flow sends.
    these = [
        reading for reading in readings.READINGS if reading.workload == workload and not reading.gro
    ]
    named = [
        {"TCP": reading.stack, **setting}
        for reading, setting in zip(these, settings(these), strict=True)
    ]
    claim = Claim(
        id=id,
        statement=statement,
        source=source,
        rule=Direction(at_each=rule, grid=f"the readings beyond the grid: {len(these)} points"),
        amended=amended,
    )
    points = [
        GridPoint(setting, evidence(reading)) for reading, setting in zip(these, named, strict=True)
    ]
    return judge(claim, Grid(points), note=note)


def settings(of: Sequence[Reading]) -> list[Setting]:
    """Return, for each reading, the parameters that are unusual in at least one of them."""
    names = [name for name in of[0].parameters if any(name in reading.unusual for reading in of)]
    return [{name: reading.parameters[name] for name in names} for reading in of]


def _grid_words(of: Sequence[Reading]) -> str:
    count = "one point" if len(of) == 1 else f"{len(of)} points"
    return f"{', '.join(settings(of)[0])}: {count}"


class Readings(Part[Found]):
    """Readings beyond the grid; see `dumbbell.studies.buffer_sizing.readings`."""

    name = "readings beyond the grid"

    def __init__(self, amount: Amount[Reading]) -> None:
        """Set the readings to run."""
        self.amount = amount

    def run(self, runner: Runner) -> Found:
        """See `Part`."""
        length_s = self.amount.length_s or published.DURATION_S
        groups = {
            reading: readings.both_buffers(reading, seed=runner.seed, duration_s=length_s)
            for reading in self.amount.over
        }
        return runner.replicate_groups(groups, _reduced, self.amount, task=self.name)

    def judge(self, found: Found) -> Iterator[Judged]:
        """Judge levels together, then directions."""
        yield from judge_attempts(found)
        yield from judge_beyond(found)

    def tables(self, found: Found) -> Iterator[ValueTable]:
        """Return what one run would print at each reading."""
        for workload in EXPERIMENTS:
            for platform, stack in STACK_OF.items():
                these = [
                    reading
                    for reading in found.arms
                    if (reading.workload, reading.stack) == (workload, stack)
                ]
                if these:
                    yield _table(found, these, workload, platform)


def _reduced(runs: Mapping[ReadingRun, Run]) -> BufferComparison:
    return compared({tried.buffer: run for tried, run in runs.items()})


_LEVEL = 0.95
_OTHERS: Mapping[str, Callable[[BufferComparison], float]] = {
    "utilization, B_l less B_s": lambda of: of.large.utilization - of.small.utilization,
    "(3, 8) spread of large flows, B_s over B_l": lambda of: (
        of.small.large.spread / of.large.large.spread
    ),
    "(3, 8) spread of small flows, B_s over B_l": lambda of: (
        of.small.small.spread / of.large.small.spread
    ),
    "small flows better with B_s": lambda of: 1 - of.small_better,
    "loss of large flows with B_s": lambda of: of.small.large.loss,
    "packets dropped with B_s": lambda of: of.small.drop_share,
}
"""Consequences of the reading that were not fitted."""


def _table(
    found: Found, these: Sequence[Reading], workload: Workload, platform: Platform
) -> ValueTable:
    experiment = EXPERIMENTS[workload]
    printed = experiment.levels(platform)
    rows = []
    for field, told in experiment.told.items():
        if field not in printed:
            continue
        values = [experiment.values(found, reading, field) for reading in these]
        cells = [
            Cell.of(predict(each, told.law, _LEVEL) if np.isfinite(each).all() else None)
            for each in values
        ]
        rows.append(ValueRow(told.name, "1", [Cell.of(printed[field]), *cells]))
    for name, measure in _OTHERS.items():
        values = [found.values(reading, measure) for reading in these]
        cells = [
            Cell.of(student_interval(each) if np.isfinite(each).all() else None) for each in values
        ]
        rows.append(ValueRow(name, "1", [Cell(), *cells]))
    caption = (
        "Whole runs of 150 s; nothing is sampled. Above, what one run would print and half of the "
        f"{100 * _LEVEL:.0f} % interval in which it lies; below, what was not asked for: means of "
        f"{found.n} runs with half of their 95 % intervals."
    )
    columns = ["printed", *(label(reading) for reading in these)]
    title = f"Beyond the grid: {platform}, {arms.WORKLOADS[workload]}"
    return ValueTable(title, columns, rows, caption, is_folded=True)


def label(reading: Reading) -> str:
    """Return a short name of a reading, such as a column's title."""
    what = "flows" if reading.workload == "persistent" else "users"
    words = [f"{reading.hosts} nodes with {reading.per_host} {what}", reading.sizes]
    words += [] if reading.think_s == arms.THINK_S else [f"thinking {reading.think_s:g} s"]
    words += [] if reading.access_bps == published.LINK_BPS else ["bursts at 1 Gbit/s"]
    words += [] if reading.has_rack else ["no RACK"]
    words += ["delays one way"] if reading.is_one_way else []
    words += (
        [] if reading.bottleneck_bps == published.BOTTLENECK_BPS else ["bottleneck of 100 Mbit/s"]
    )
    below = reading.host_queue_packets
    words += [] if below is None else [f"{below} packets below the buffer"]
    words += (
        []
        if reading.packet_bytes == FULL_PACKET_BYTES
        else [f"packets of {reading.packet_bytes} bytes"]
    )
    words += [f"least timeout {reading.min_rto}"] if reading.min_rto else []
    words += [f"GRO every {reading.gro}"] if reading.gro else []
    return ", ".join(words)
