"""The measures that describe a run, for all tables, comparisons, sweeps and exports.

Each applies a function of `dumbbell.metrics` to one flow, a group of equal flows, a queue, a probe,
a program or the whole network.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from dumbbell.errors import DumbbellError
from dumbbell.metrics import METRICS
from dumbbell.metrics.ccperf import ROWS
from dumbbell.spec.program_list import ProgramQuantities
from dumbbell.tables import Run

Subject = int | Sequence[int]
"""Index of a flow, queue, probe or program; all indices of a group of flows; nothing for the
network.
"""


class MeasureSubject(enum.StrEnum):
    """What a number describes; the value begins its path."""

    NETWORK = "network"
    FLOWS = "flows"
    """A group of equal flows: those of a flow with a ``count``."""
    FLOW = "flow"
    PROBE = "probe"
    QUEUE = "queue"
    PROGRAM = "program"
    """A program that ran on the kernel."""


class Scale(enum.Enum):
    """Kind of number: which differences matter, and how values are distributed."""

    DELAY = "delay"
    """Differences below 2 ms do not matter."""
    TAIL = "tail"
    """A delay with a strongly skewed distribution: compared by ratios, on a logarithmic scale."""
    RATE = "rate"
    """Differences below 3 Mbit/s or 3 % of the possible rate, whichever is less, do not matter."""
    SHARE = "share"
    """A rate relative to the possible rate."""
    OTHER = "other"
    """No margin is defined."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number in a summary.

    Attributes:
        of: What it describes.
        name: Last part of the path: ``rtt_p95_ms``.
        metric: Name of the registered function that computes it.
        words: Name in tables, without its unit.
        scale: How it is compared.
        shown: Whether a comparison's table shows it; JSON has all.
        watched: Whether a precision asked for applies to it.
        compute: Computes the number from a run and a subject.
        of_transfers: Whether only flows that send transfers have it.
        says: What the output of a program with this number has; None if no program has it.
        of_recorded: Whether only TCP flows with samples and recorded packets have it, and queues
            and networks with such flows.
    """

    of: MeasureSubject
    name: str
    metric: str
    words: str
    scale: Scale
    shown: bool
    watched: bool
    compute: Callable[[Run, Subject], float]
    of_transfers: bool = False
    says: ProgramQuantities | None = None
    of_recorded: bool = False

    @property
    def of_kinds(self) -> frozenset[str]:
        """Kinds of the programs that have it, as they say themselves (`Program.SAYS`)."""
        if self.says is None:
            return frozenset()
        from dumbbell.spec.programs import kinds_that_say

        return kinds_that_say(self.says)

    @property
    def unit(self) -> str:
        """The metric's unit."""
        return METRICS[self.metric].unit

    @property
    def possible(self) -> tuple[float, float]:
        """Range of the possible means: nothing is negative, and ratios are at most 1.

        The share of a capacity is not bounded by 1, since a shaper may let a burst exceed its rate.
        """
        if self.of_recorded:
            return ROWS[self.metric].bounds
        has_end = self.unit == "1" and self.metric != "capacity_share"
        return 0.0, (1.0 if has_end else math.inf)

    @property
    def shown_unit(self) -> tuple[str, float]:
        """The unit in tables, and the factor from the measure's own unit."""
        if self.of_recorded:
            return ("" if self.unit == "1" else self.unit), 1.0
        if self.unit == "s" and not self.of_transfers:
            return "ms", 1e3
        if self.unit == "bit/s":
            return "Mbit/s", 1e-6
        if self.unit == "1" and self.metric != "jain_index":
            return "%", 100.0
        return ("" if self.unit == "1" else self.unit), 1.0


_Take = Callable[[Callable[..., float], Run, Subject], float]
"""Calls a metric for one number of one subject."""


def _plain(function: Callable[..., float], run: Run, subject: Subject) -> float:
    return float(function(run, subject))


def _whole(function: Callable[..., float], run: Run, subject: Subject) -> float:
    return float(function(run))


def _probe(function: Callable[..., float], run: Run, subject: Subject) -> float:
    return float(function(run, [subject]))


def _level_of(q: float) -> _Take:
    return lambda function, run, subject: float(function(run, subject, q))


def _level_of_probe(q: float) -> _Take:
    return lambda function, run, subject: float(function(run, q, [subject]))


def _level_of_flows(q: float) -> _Take:
    return lambda function, run, subject: float(function(run, q, subject))


def _level_of_all(q: float) -> _Take:
    return lambda function, run, subject: float(function(run, q))


def _first(subject: Subject) -> int:
    return subject if isinstance(subject, int) else subject[0]


def _measure(
    of: MeasureSubject,
    metric: str,
    words: str,
    scale: Scale = Scale.OTHER,
    *,
    name: str = "",
    take: _Take = _plain,
    shown: bool = False,
    watched: bool = False,
    of_transfers: bool = False,
    says: ProgramQuantities | None = None,
) -> Measure:
    function = METRICS[metric].function

    def compute(run: Run, subject: Subject) -> float:
        return take(function, run, subject)

    return Measure(
        of,
        name or metric,
        metric,
        words,
        scale,
        shown,
        watched,
        compute,
        of_transfers,
        says,
    )


def _completion(of: MeasureSubject) -> list[Measure]:
    """Measures of transfers, where there are any."""
    take, level = (
        (_whole, _level_of_all) if of is MeasureSubject.NETWORK else (_plain, _level_of_flows)
    )
    return [
        _measure(of, "begun_transfers", "transfers begun", take=take, of_transfers=True),
        _measure(of, "completed_transfers", "transfers completed", take=take, of_transfers=True),
        _measure(
            of,
            "mean_completion_time_s",
            "completion time, mean",
            Scale.TAIL,
            take=take,
            shown=True,
            watched=True,
            of_transfers=True,
        ),
        *(
            _measure(
                of,
                "completion_time_quantiles_s",
                f"completion time, {percent} %",
                Scale.TAIL,
                name=f"completion_time_p{percent}_s",
                take=level(percent / 100),
                shown=percent != 99,
                of_transfers=True,
            )
            for percent in (50, 95, 99)
        ),
    ]


_ROUND_TRIPS = (
    ("min_rtt_ms", "least", 0.0, Scale.DELAY),
    ("rtt_p25_ms", "25 %", 0.25, Scale.DELAY),
    ("rtt_p50_ms", "50 %", 0.5, Scale.DELAY),
    ("rtt_p75_ms", "75 %", 0.75, Scale.DELAY),
    ("rtt_p95_ms", "95 %", 0.95, Scale.DELAY),
    ("rtt_p99_ms", "99 %", 0.99, Scale.TAIL),
    ("max_rtt_ms", "most", 1.0, Scale.TAIL),
)
"""Minimum, quartiles, tails: name, words, level, scale."""


def _round_trips() -> list[Measure]:
    """Round-trip times of a probe."""
    return [
        _measure(
            MeasureSubject.PROBE,
            "ping_rtt_quantiles_ms",
            f"round trip, {words}",
            scale,
            name=name,
            take=_level_of_probe(q),
            shown=name in ("rtt_p95_ms", "rtt_p99_ms"),
        )
        for name, words, q, scale in _ROUND_TRIPS
    ]


def _of_programs() -> list[Measure]:
    """Measures that programs report: round trips of pings, throughput of streams, in total and by
    interval.
    """
    return [
        _measure(
            MeasureSubject.PROGRAM,
            "mean_program_rtt_ms",
            "round trip, mean",
            Scale.DELAY,
            name="mean_rtt_ms",
            shown=True,
            watched=True,
            says=ProgramQuantities.ROUND_TRIPS,
        ),
        *(
            _measure(
                MeasureSubject.PROGRAM,
                "program_rtt_quantiles_ms",
                f"round trip, {words}",
                scale,
                name=name,
                take=_level_of(q),
                shown=name in ("rtt_p95_ms", "rtt_p99_ms"),
                says=ProgramQuantities.ROUND_TRIPS,
            )
            for name, words, q, scale in _ROUND_TRIPS
        ),
        _measure(
            MeasureSubject.PROGRAM,
            "program_throughput_bps",
            "throughput",
            Scale.RATE,
            name="throughput_bps",
            shown=True,
            watched=True,
            says=ProgramQuantities.THROUGHPUT,
        ),
        *(
            _measure(
                MeasureSubject.PROGRAM,
                "program_interval_throughput_quantiles_bps",
                f"throughput of an interval, {percent} %",
                Scale.RATE,
                name=f"interval_throughput_p{percent}_bps",
                take=_level_of(percent / 100),
                says=ProgramQuantities.INTERVALS,
            )
            for percent in (5, 50, 95)
        ),
        _measure(
            MeasureSubject.PROGRAM,
            "mean_program_delay_s",
            "delay, mean",
            Scale.DELAY,
            name="mean_delay_s",
            shown=True,
            says=ProgramQuantities.DELAY,
        ),
        _measure(
            MeasureSubject.PROGRAM,
            "program_loss_ratio",
            "loss",
            name="loss_ratio",
            shown=True,
            says=ProgramQuantities.LOSS,
        ),
        *_program_transfers(),
    ]


def _program_transfers() -> list[Measure]:
    """Measures from curl's ``-w``, per page: ``size_download``, ``time_total``, and their ratio."""
    return [
        _measure(
            MeasureSubject.PROGRAM,
            "program_transferred_bytes",
            "received",
            name="bytes",
            says=ProgramQuantities.TRANSFERS,
        ),
        _measure(
            MeasureSubject.PROGRAM,
            "mean_program_transfer_time_s",
            "time of a transfer, mean",
            Scale.TAIL,
            name="mean_time_total_s",
            shown=True,
            watched=True,
            says=ProgramQuantities.TRANSFERS,
        ),
        *(
            _measure(
                MeasureSubject.PROGRAM,
                "program_transfer_time_quantiles_s",
                f"time of a transfer, {percent} %",
                Scale.TAIL,
                name=f"time_total_p{percent}_s",
                take=_level_of(percent / 100),
                shown=percent == 95,
                says=ProgramQuantities.TRANSFERS,
            )
            for percent in (50, 95, 99)
        ),
        *(
            _measure(
                MeasureSubject.PROGRAM,
                "program_transfer_goodput_quantiles_bps",
                f"goodput of a transfer, {percent} %",
                Scale.RATE,
                name=f"goodput_p{percent}_bps",
                take=_level_of(percent / 100),
                says=ProgramQuantities.TRANSFERS,
            )
            for percent in (5, 50, 95)
        ),
    ]


def _delays(of: MeasureSubject) -> list[Measure]:
    """Delays of a flow or a group: median and tails."""
    return [
        _measure(
            of,
            "delay_quantile_s",
            f"delay, {percent} %",
            Scale.TAIL if percent > 95 else Scale.DELAY,
            name=f"delay_p{percent}_s",
            take=_level_of(percent / 100),
            shown=of is MeasureSubject.FLOW and percent == 95,
        )
        for percent in (50, 95, 99)
    ]


def _of_tcp(of: MeasureSubject) -> list[Measure]:
    """Measures of one TCP flow or a group."""
    return [
        _measure(of, "retransmitted_share", "sent again"),
        *(
            _measure(
                of,
                "srtt_quantile_s",
                f"smoothed round trip, {percent} %",
                Scale.DELAY,
                name=f"srtt_p{percent}_s",
                take=_level_of(percent / 100),
            )
            for percent in (50, 95)
        ),
    ]


def _sojourn_times() -> list[Measure]:
    """Sojourn times of a queue: median and tails."""
    return [
        _measure(
            MeasureSubject.QUEUE,
            "sojourn_quantile_s",
            f"sojourn, {percent} %",
            Scale.TAIL if percent > 95 else Scale.DELAY,
            name=f"sojourn_p{percent}_s",
            take=_level_of(percent / 100),
            shown=percent == 95,
        )
        for percent in (50, 95, 99)
    ]


def _rows_of_ccperf(of: MeasureSubject, subject: str) -> list[Measure]:
    """The rows of CCPerf's tables (`dumbbell.metrics.ccperf`), by their names."""
    return [
        replace(_measure(of, row.name, row.name, take=_where_defined), of_recorded=True)
        for row in ROWS.values()
        if row.of == subject
    ]


def _where_defined(function: Callable[..., float], run: Run, subject: Subject) -> float:
    """A row's value; NaN for a flow that was not on at any sampling time, or that nothing limits.

    Divisions by zero are NaN too: a flow that got nothing has no power and no utility.
    """
    arguments = [subject] if isinstance(subject, int) else []
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(function(run, *arguments))
    except (DumbbellError, ZeroDivisionError):
        return math.nan
    return value if math.isfinite(value) else math.nan


_MEASURES: tuple[Measure, ...] = (
    _measure(
        MeasureSubject.NETWORK, "total_goodput_bps", "goodput, all flows", Scale.RATE, take=_whole
    ),
    _measure(MeasureSubject.NETWORK, "jain_index", "Jain's index", take=_whole, shown=True),
    *_completion(MeasureSubject.NETWORK),
    *_rows_of_ccperf(MeasureSubject.NETWORK, "network"),
    _measure(
        MeasureSubject.FLOWS,
        "total_goodput_bps",
        "goodput, sum",
        Scale.RATE,
        shown=True,
        watched=True,
    ),
    _measure(
        MeasureSubject.FLOWS,
        "path_capacity_bps",
        "capacity of the way",
        take=lambda function, run, subject: float(function(run, _first(subject))),
    ),
    _measure(MeasureSubject.FLOWS, "capacity_share", "share of capacity", Scale.SHARE),
    _measure(MeasureSubject.FLOWS, "goodput_share", "share of all goodput", Scale.SHARE),
    _measure(
        MeasureSubject.FLOWS,
        "goodput_share_of_greedy",
        "share of the greedy flows' goodput",
        Scale.SHARE,
    ),
    _measure(MeasureSubject.FLOWS, "jain_index", "Jain's index"),
    _measure(MeasureSubject.FLOWS, "flow_loss_ratio", "loss", name="loss_ratio", shown=True),
    _measure(MeasureSubject.FLOWS, "mean_delay_s", "delay, mean", Scale.DELAY),
    *_delays(MeasureSubject.FLOWS),
    _measure(MeasureSubject.FLOWS, "max_delay_s", "delay, most", Scale.TAIL),
    *_of_tcp(MeasureSubject.FLOWS),
    *_completion(MeasureSubject.FLOWS),
    _measure(MeasureSubject.FLOW, "sending_rate_pps", "datagrams sent"),
    _measure(MeasureSubject.FLOW, "sending_rate_bps", "sent", Scale.RATE),
    _measure(MeasureSubject.FLOW, "goodput_bps", "goodput", Scale.RATE, shown=True, watched=True),
    _measure(MeasureSubject.FLOW, "path_capacity_bps", "capacity of the way"),
    _measure(MeasureSubject.FLOW, "capacity_share", "share of capacity", Scale.SHARE),
    _measure(MeasureSubject.FLOW, "goodput_share", "share of all goodput", Scale.SHARE),
    _measure(
        MeasureSubject.FLOW,
        "goodput_share_of_greedy",
        "share of the greedy flows' goodput",
        Scale.SHARE,
    ),
    _measure(MeasureSubject.FLOW, "flow_loss_ratio", "loss", name="loss_ratio", shown=True),
    _measure(MeasureSubject.FLOW, "mean_delay_s", "delay, mean", Scale.DELAY, shown=True),
    *_delays(MeasureSubject.FLOW),
    _measure(MeasureSubject.FLOW, "max_delay_s", "delay, most", Scale.TAIL),
    *_of_tcp(MeasureSubject.FLOW),
    *_completion(MeasureSubject.FLOW),
    *_rows_of_ccperf(MeasureSubject.FLOW, "flow"),
    _measure(MeasureSubject.PROBE, "echo_requests", "sent", name="sent", take=_probe),
    _measure(
        MeasureSubject.PROBE,
        "mean_ping_rtt_ms",
        "round trip, mean",
        Scale.DELAY,
        name="mean_rtt_ms",
        take=_probe,
        shown=True,
        watched=True,
    ),
    *_round_trips(),
    _measure(
        MeasureSubject.PROBE, "ping_loss_ratio", "loss", name="loss_ratio", take=_probe, shown=True
    ),
    *_of_programs(),
    _measure(MeasureSubject.QUEUE, "arrival_rate_pps", "arrivals"),
    _measure(MeasureSubject.QUEUE, "throughput_bps", "throughput", Scale.RATE),
    _measure(MeasureSubject.QUEUE, "utilization", "busy", Scale.SHARE, shown=True),
    _measure(MeasureSubject.QUEUE, "loss_ratio", "dropped", shown=True),
    _measure(MeasureSubject.QUEUE, "mark_ratio", "marked"),
    _measure(MeasureSubject.QUEUE, "mean_system_pkts", "packets in the system, mean"),
    _measure(MeasureSubject.QUEUE, "mean_backlog_pkts", "backlog, mean"),
    _measure(
        MeasureSubject.QUEUE,
        "mean_sojourn_s",
        "sojourn, mean",
        Scale.DELAY,
        shown=True,
        watched=True,
    ),
    _measure(MeasureSubject.QUEUE, "mean_wait_s", "waiting time, mean", Scale.DELAY),
    *_sojourn_times(),
    _measure(MeasureSubject.QUEUE, "max_sojourn_s", "sojourn, most", Scale.TAIL),
    *_rows_of_ccperf(MeasureSubject.QUEUE, "link"),
)

MEASURES: Mapping[tuple[MeasureSubject, str], Measure] = MappingProxyType(
    {(each.of, each.name): each for each in _MEASURES}
)
"""All measures by subject and name, in the order of tables."""


def measures_of(of: MeasureSubject) -> tuple[Measure, ...]:
    """The measures of one kind of subject, in the order of tables."""
    return tuple(each for each in _MEASURES if each.of is of)
