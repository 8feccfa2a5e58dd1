"""Fit of a line to scenes by simulation: the same statistics of runs and measurements are compared.

Each parameter has a statistic that depends mainly on it: the rate determines the goodput, the
propagation delay the minimum RTT, the buffer the maximum delay under load, a delay target the
median delay. A step simulates the line under the measured load and corrects each parameter by the
error of its statistic, until simulation and measurement agree (indirect inference: Gourieroux,
Monfort and Renault, Journal of Applied Econometrics 8, 1993, with as many statistics as
parameters).
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
"""Number of iterations; the last changes a parameter by far less than its interval."""
REPLICATIONS_A_STEP = 2
_MOST_FACTOR = 4.0
"""Maximum factor by which a step changes a size."""
_LEAST_DELAY_MS = 0.2
DEFAULT_TARGET_NS = {
    QueueModel.CODEL: 5_000_000,
    QueueModel.FQ_CODEL: 5_000_000,
    QueueModel.PIE: 15_000_000,
}
"""Defaults of Linux's disciplines."""
_BURST_S = 0.03
_UNUSED = 1.25


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A scene, and the part of its load used for fitting.

    Attributes:
        scene: The measured scene.
        begin: Begin of the part, as a share of the load.
        end: End of the part.
    """

    scene: Scene
    begin: float = 0.0
    end: float = 1.0

    @property
    def window(self) -> Window:
        """Return the measurements of that part."""
        return self.scene.between(self.begin, self.end)

    def windows(self, runs: Sequence[Scene]) -> list[Window]:
        """Return the same part of simulated scenes."""
        return [run.between(self.begin, self.end) for run in runs]


@dataclass(frozen=True, slots=True)
class Responses:
    """The statistics that parameters determine, of a measurement or as the mean of runs.

    Attributes:
        goodput_mbps: Goodput by direction; NaN without load.
        base_ms: Minimum round-trip time; NaN if unknown.
        top_ms: Delay above it when the queue is fullest; NaN if unknown.
        middle_ms: Median delay above it; NaN if unknown.
    """

    goodput_mbps: dict[Way, float]
    base_ms: float
    top_ms: float
    middle_ms: float


def responses(windows: Sequence[Window], base_ms: float) -> Responses:
    """Return the means over windows of the same load.

    Args:
        windows: One window of a measurement, or one per run.
        base_ms: Minimum round-trip time of all measurements, or of all simulations.
    """
    return Responses(
        {way: _mean([each.goodput_mbps(way) for each in windows]) for way in Way},
        base_ms,
        _mean([each.top_ms for each in windows]) - base_ms,
        _mean([each.rtt_ms(0.5) for each in windows]) - base_ms,
    )


def direct_line(loads: Sequence[Loaded], base_ms: float) -> Line:
    """Compute the initial line directly from the measurement, without simulation.

    The rate is the goodput with headers, the propagation delay the minimum RTT, and before each
    rate is a FIFO that holds the maximum delay. A direction without load gets the values of the
    opposite direction.

    Args:
        loads: With flows.
        base_ms: Minimum round-trip time; NaN if unknown, taken as 20 ms.
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
    """Return the most informative load of a direction: one that loads it alone, with pings."""
    found = [each for each in loads if way in each.scene.ways]
    return min(
        found,
        key=lambda each: (len(each.scene.ways), not len(each.scene.rtt_ms)),
        default=None,
    )


def first_try(end: LineEnd, model: QueueModel) -> LineEnd:
    """Return an end with another discipline, with an initial size."""
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
    """Adjust lines until they agree with the measurement.

    Args:
        lines: Initial lines; each keeps its disciplines.
        loads: Loads to simulate; the best one of each direction is compared.
        ways: Directions whose rate and size are adjusted.
        base_ms: Minimum round-trip time of all measurements; with NaN the propagation delay is not
            changed.
        seed: Seed of the simulation.
        jobs: Threads; 0 for one per core.
        steps: Number of steps.
    """
    found = list(lines)
    wanted = list(dict.fromkeys(filter(None, (best_load(loads, way) for way in ways))))
    for _ in range(steps):
        runs = {
            id(load): simulated(
                found,
                load.scene,
                seed=seed,
                replications=range(REPLICATIONS_A_STEP),
                jobs=jobs,
                share=load.end,
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
    """Return the maximum rate consistent with the bytes transferred.

    It is the goodput with headers, plus an acknowledgement for every packet of the opposite
    direction, plus a quarter for capacity that flows leave unused.
    """
    back = measured.goodput_mbps[way.other]
    acks = back * ACK_BYTES / FULL_PAYLOAD_BYTES if math.isfinite(back) else 0.0
    own = measured.goodput_mbps[way] * FULL_BYTES / FULL_PAYLOAD_BYTES
    return 1e6 * _UNUSED * (own + acks)


def _resized(
    end: LineEnd, measured: Responses, of_run: Responses, way: Way, load: Loaded
) -> LineEnd:
    """Adjust the size by the error of its statistic; a policer's and flow queueing's stays."""
    match end.model:
        case QueueModel.FIFO:
            return end.with_size(end.size * _ratio(measured.top_ms, of_run.top_ms))
        case QueueModel.CODEL | QueueModel.PIE:
            return end.with_size(end.size * _ratio(measured.middle_ms, of_run.middle_ms))
        case QueueModel.FQ_CODEL | QueueModel.POLICER:
            return end


def _ratio(wanted: float, found: float) -> float:
    """Return the ratio of two numbers; 1 if one is unknown."""
    if not (math.isfinite(wanted) and math.isfinite(found)):
        return 1.0
    ratio = max(wanted, _LEAST_DELAY_MS) / max(found, _LEAST_DELAY_MS)
    return min(max(ratio, 1 / _MOST_FACTOR), _MOST_FACTOR)


def _mean(values: Sequence[float]) -> float:
    known: Floats = np.array([value for value in values if math.isfinite(value)])
    return float(known.mean()) if known.size else math.nan
