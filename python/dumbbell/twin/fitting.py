"""Fitting a line to scenes by simulation: what is measured of the runs is measured of the line.

Each parameter has a number that follows it closely: the rate the goodput, the propagation the
least round trip, the buffer the greatest delay under load, a target of delay the median. A step
simulates the line under the measured load and moves each parameter by what its number lacks, until
simulation and measurement agree (indirect inference: Gourieroux, Monfort and Renault, Journal of
Applied Econometrics 8, 1993, with as many numbers as parameters).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.twin.line import (
    ACK_BYTES,
    FULL_BYTES,
    FULL_PAYLOAD_BYTES,
    Line,
    LineEnd,
    QueueModel,
)
from dumbbell.twin.scene import Floats, Scene, Way, Window, least_ms
from dumbbell.twin.simulated import simulated

STEPS = 4
"""Of the iteration; the last moves a parameter by far less than its interval."""
REPLICATIONS_A_STEP = 2
_MOST_FACTOR = 4.0
"""By which a step moves a size, at most."""
_LEAST_DELAY_MS = 0.2
DEFAULT_TARGET_NS = {
    QueueModel.CODEL: 5_000_000,
    QueueModel.FQ_CODEL: 5_000_000,
    QueueModel.PIE: 15_000_000,
}
"""Of Linux's disciplines."""
_BURST_S = 0.03
_UNUSED = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A scene, and which part of its load is fitted to.

    Attributes:
        scene: Measured.
        begin: Of the part, as a share of the load.
        end: Of the part.
    """

    scene: Scene
    begin: float = 0.0
    end: float = 1.0

    @property
    def window(self) -> Window:
        """What was measured then."""
        return self.scene.between(self.begin, self.end)

    def windows(self, runs: Sequence[Scene]) -> list[Window]:
        """The same part of simulated scenes."""
        return [run.between(self.begin, self.end) for run in runs]


@dataclass(frozen=True, slots=True)
class Responses:
    """The numbers that parameters follow, of a measurement or as the mean of runs.

    Attributes:
        goodput_mbps: By direction; NaN where it carries no load.
        base_ms: Least round trip; NaN unknown.
        top_ms: Delay above it when the queue is as full as it gets; NaN unknown.
        middle_ms: Median delay above it; NaN unknown.
    """

    goodput_mbps: dict[Way, float]
    base_ms: float
    top_ms: float
    middle_ms: float


def responses(windows: Sequence[Window], base_ms: float) -> Responses:
    """Means over windows of the same load.

    Args:
        windows: One of a measurement, or one a run.
        base_ms: Least round trip of all that was measured, or simulated.
    """
    return Responses(
        {way: _mean([each.goodput_mbps(way) for each in windows]) for way in Way},
        base_ms,
        _mean([each.top_ms for each in windows]) - base_ms,
        _mean([each.rtt_ms(0.5) for each in windows]) - base_ms,
    )


def direct_line(loads: Sequence[Loaded], base_ms: float) -> Line:
    """A line by arithmetic alone: where fitting begins.

    The rate is the goodput with its headers, the propagation the least round trip, and before
    each rate a FIFO that holds the greatest delay. A direction without a load gets the other's.

    Args:
        loads: With flows.
        base_ms: Least round trip; NaN for unknown, taken as 20 ms.
    """
    ends: dict[Way, LineEnd] = {}
    for way in Way:
        load = best_load(loads, way)
        if load is None:
            continue
        rate_bps = 1e6 * load.window.goodput_mbps(way) * FULL_BYTES / FULL_PAYLOAD_BYTES
        end = LineEnd(0, QueueModel.FIFO, 0).with_rate(rate_bps)
        delay_ms = load.window.top_ms - base_ms
        if not math.isfinite(delay_ms):
            delay_ms = 100.0
        ends[way] = end.with_size(max(delay_ms, 1.0) / 8e3 * end.rate_bps)
    for way in Way:
        if way not in ends:
            ends[way] = ends[way.other]
    rtt_ms = base_ms if math.isfinite(base_ms) else 20.0
    return Line(ends[Way.UP], ends[Way.DOWN], 0).with_rtt(1e6 * rtt_ms)


def best_load(loads: Sequence[Loaded], way: Way) -> Loaded | None:
    """The load that says most of a direction: one that loads it alone, and has pings."""
    found = [each for each in loads if way in each.scene.ways]
    return min(
        found,
        key=lambda each: (len(each.scene.ways), not len(each.scene.rtt_ms)),
        default=None,
    )


def first_try(end: LineEnd, model: QueueModel) -> LineEnd:
    """An end with another discipline, of a size to begin with."""
    if model is QueueModel.FIFO:
        return LineEnd(end.rate_bps, model, end.size)
    size = DEFAULT_TARGET_NS.get(model, end.rate_bps * _BURST_S / 8)
    return LineEnd(end.rate_bps, model, 0).with_size(size)


def fit(
    lines: Sequence[Line],
    loads: Sequence[Loaded],
    *,
    ways: Sequence[Way],
    base_ms: float,
    seed: int,
    jobs: int = 0,
    steps: int = STEPS,
) -> list[Line]:
    """Lines moved until they agree with what was measured.

    Args:
        lines: Where to begin; each keeps its disciplines.
        loads: That are simulated; of each direction its best one is looked at.
        ways: Directions whose rate and size are moved.
        base_ms: Least round trip of all that was measured; NaN leaves the propagation as it is.
        seed: Of the simulation.
        jobs: Threads; 0 for one a core.
        steps: How often.
    """
    found = list(lines)
    wanted = list(dict.fromkeys(filter(None, (best_load(loads, way) for way in ways))))
    for _ in range(steps):
        runs = {
            id(load): simulated(
                found, load.scene, seed=seed, replications=range(REPLICATIONS_A_STEP), jobs=jobs
            )
            for load in wanted
        }
        for place in range(len(found)):
            of_line = {key: scenes[place] for key, scenes in runs.items()}
            found[place] = _moved(found[place], wanted, of_line, ways, base_ms)
    return found


def _moved(
    line: Line,
    loads: Sequence[Loaded],
    runs: dict[int, list[Scene]],
    ways: Sequence[Way],
    base_ms: float,
) -> Line:
    least = _mean([least_ms(runs[id(load)][:1]) for load in loads])
    for way in ways:
        load = best_load(loads, way)
        if load is None:
            continue
        of_run = responses(load.windows(runs[id(load)]), least)
        measured = responses([load.window], base_ms)
        end = line.end(way)
        factor = _ratio(measured.goodput_mbps[way], of_run.goodput_mbps[way])
        end = end.with_rate(min(end.rate_bps * factor, _most_rate_bps(measured, way)))
        line = line.with_end(way, _resized(end, measured, of_run, way, load))
    if math.isfinite(base_ms) and math.isfinite(least):
        line = line.with_rtt(line.rtt_ns + 1e6 * (base_ms - least))
    return line


def _most_rate_bps(measured: Responses, way: Way) -> float:
    """The greatest rate for what was moved: more would have moved more.

    The goodput with its headers, an acknowledgement of every packet of the other direction, and
    a quarter for what flows leave unused.
    """
    back = measured.goodput_mbps[way.other]
    acks = back * ACK_BYTES / FULL_PAYLOAD_BYTES if math.isfinite(back) else 0.0
    own = measured.goodput_mbps[way] * FULL_BYTES / FULL_PAYLOAD_BYTES
    return 1e6 * _UNUSED * (own + acks)


def _resized(
    end: LineEnd, measured: Responses, of_run: Responses, way: Way, load: Loaded
) -> LineEnd:
    """The size moved by what its number lacks; that of a policer and of flow queueing stays."""
    match end.model:
        case QueueModel.FIFO:
            return end.with_size(end.size * _ratio(measured.top_ms, of_run.top_ms))
        case QueueModel.CODEL | QueueModel.PIE:
            return end.with_size(end.size * _ratio(measured.middle_ms, of_run.middle_ms))
        case QueueModel.FQ_CODEL | QueueModel.POLICER:
            return end


def _ratio(wanted: float, found: float) -> float:
    """Of two numbers; 1 where one is not known."""
    if not (math.isfinite(wanted) and math.isfinite(found)):
        return 1.0
    ratio = max(wanted, _LEAST_DELAY_MS) / max(found, _LEAST_DELAY_MS)
    return min(max(ratio, 1 / _MOST_FACTOR), _MOST_FACTOR)


def _mean(values: Sequence[float]) -> float:
    known: Floats = np.array([value for value in values if math.isfinite(value)])
    return float(known.mean()) if known.size else math.nan
