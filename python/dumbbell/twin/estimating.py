"""Estimation of a twin: fit, choice of discipline, validation on held-out data, and intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dumbbell.errors import SpecError
from dumbbell.stats import prediction_interval
from dumbbell.twin.discipline import Decision, decide
from dumbbell.twin.fitting import Loaded, best_load, direct_line, fit
from dumbbell.twin.line import DisciplineClass, Line, LineEnd, QueueModel
from dumbbell.twin.prediction import predict
from dumbbell.twin.reading import Measurements
from dumbbell.twin.result import Parameter, Quantity, Twin
from dumbbell.twin.scene import Scene, Way, least_ms
from dumbbell.twin.simulated import simulated

HALF = 0.5
INTERVAL_REPLICATIONS = 12
_LEAST_LOAD_S = 4.5
"""Minimum length of a load: half of it must be longer than its initial phase."""
_RATE_FLOOR = 0.003
"""Relative difference in rate between two runs of the same kernel, which no simulation shows."""
_RTT_FLOOR_MS = 0.1
_SIZE_FLOOR = 0.02
_STEP = 1.3
_LEAST_RESPONSE = 0.3
"""Minimum elasticity of delay to size: below it the delay hardly depends on the size."""
_VARIES = 0.05


def estimate(
    measured: Measurements,
    *,
    seed: int = 1,
    jobs: int = 0,
    held_out: Sequence[Scene] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> Twin:
    """Estimate the twin of a line.

    Args:
        measured: Measurements of the line.
        seed: Seed of all simulations; the same seed gives the same twin.
        jobs: Threads; 0 for one per core. Results do not depend on it.
        held_out: Further scenes to predict, instead of each load's second half.
        tell: Called with progress messages.

    Raises:
        SpecError: No scene has a sufficiently long load, or none has round trips.
    """
    loaded = [scene for scene in measured.scenes if scene.flows]
    names = ", ".join(dict.fromkeys(scene.source for scene in measured.scenes)) or "nothing"
    if not any(scene.length_s >= _LEAST_LOAD_S for scene in loaded):
        allowed = f"a load of TCP flows for {_LEAST_LOAD_S:g} s and longer"
        reason = "there is no load" if not loaded else "the load is too short"
        raise SpecError("FILE", names, allowed, reason=reason)
    loaded = [scene for scene in loaded if scene.length_s >= _LEAST_LOAD_S]
    base_ms = least_ms(measured.scenes)
    if not math.isfinite(base_ms):
        allowed = "round trips measured with the load, or --idle FILE"
        raise SpecError("FILE", names, allowed, reason="there are no round trips")
    ways = tuple(way for way in Way if any(way in scene.ways for scene in loaded))
    known = {each.way: each.class_ for each in measured.queues if each.class_ is not None}
    fitted = partial(_fitted, ways=ways, base_ms=base_ms, seed=seed, jobs=jobs, known=known)
    if held_out:
        tell("fitting")
        line, decisions = fitted([Loaded(each) for each in loaded])
        tell("predicting the held-out data")
        parts = [Loaded(each) for each in held_out if each.flows]
        predicted = predict(line, parts, seed=seed + 100, jobs=jobs)
    else:
        tell("fitting the first half")
        first = [Loaded(each, 0.0, HALF) for each in loaded]
        half, _ = fitted(first)
        tell("predicting the second half")
        rest = [Loaded(each, HALF, 1.0) for each in loaded]
        predicted = predict(half, rest, seed=seed + 100, jobs=jobs)
        tell("fitting all of it")
        line, decisions = fitted([Loaded(each) for each in loaded])
    tell("computing intervals")
    line = line.rounded
    loads = [Loaded(each) for each in loaded]
    intervals = _Intervals(line, decisions, loads, base_ms, seed, jobs)
    return Twin(
        line=line,
        ways=ways,
        parameters=tuple(intervals.parameters(ways)),
        decisions=decisions,
        predicted=tuple(predicted),
        sources=tuple(dict.fromkeys(scene.source for scene in measured.scenes)),
        notes=measured.notes,
        seed=seed,
    )


def _fitted(
    loads: Sequence[Loaded],
    *,
    ways: Sequence[Way],
    base_ms: float,
    seed: int,
    jobs: int,
    known: Mapping[Way, DisciplineClass],
) -> tuple[Line, dict[Way, Decision]]:
    """Return the line with the nearest discipline in each direction, refitted jointly."""
    line = direct_line(loads, base_ms)
    decided = _decided(loads, ways)
    if len(decided) < len(ways) and known.get(Way.UP) is not known.get(Way.DOWN):
        # Both directions get the same discipline, and tc names it for one of them only.
        known = {}
    decisions = {
        way: decide(line, loads, way, base_ms, seed=seed, jobs=jobs, known=known.get(way))
        for way in decided
    }
    for way in ways:
        if way not in decisions:
            decisions[way] = decisions[way.other]
    for way in ways:
        line = line.with_end(way, decisions[way].nearest.line.end(way))
    (line,) = fit([line], loads, ways=ways, base_ms=base_ms, seed=seed + 2, jobs=jobs, steps=3)
    return line, decisions


def _decided(loads: Sequence[Loaded], ways: Sequence[Way]) -> list[Way]:
    """Return the directions to decide; if one load fills both, the first represents both."""
    if len(ways) == 2 and best_load(loads, Way.UP) is best_load(loads, Way.DOWN):
        return [Way.UP]
    return list(ways)


@dataclass(frozen=True, slots=True)
class _Intervals:
    """Numbers of a twin with intervals that cover the variation of a single measurement.

    The twin is simulated repeatedly (parametric bootstrap: Efron and Tibshirani, An introduction to
    the bootstrap, 1993, section 6.5); each parameter varies with its statistic.
    """

    line: Line
    decisions: Mapping[Way, Decision]
    loads: Sequence[Loaded]
    base_ms: float
    seed: int
    jobs: int

    def parameters(self, ways: Sequence[Way]) -> list[Parameter]:
        """Return all parameters, those of directions in their order."""
        direct = direct_line(self.loads, self.base_ms)
        found: list[Parameter] = []
        sizes: list[Parameter] = []
        least: list[float] = []
        for way in ways:
            load = best_load(self.loads, way)
            assert load is not None
            end = self.line.end(way)
            bigger = self.line.with_end(way, end.with_size(end.size * _STEP))
            runs, runs_bigger = simulated(
                [self.line, bigger],
                load.scene,
                seed=self.seed + 200,
                replications=range(INTERVAL_REPLICATIONS),
                jobs=self.jobs,
            )
            windows = load.windows(runs)
            least += [least_ms([run]) for run in runs]
            goodput = prediction_interval([window.goodput_mbps(way) for window in windows])
            mbps = end.rate_bps / 1e6
            found.append(
                Parameter(
                    Quantity.RATE,
                    way,
                    "Mbit/s",
                    mbps,
                    mbps * (goodput.low / goodput.value - _RATE_FLOOR),
                    mbps * (goodput.high / goodput.value + _RATE_FLOOR),
                    direct.end(way).rate_bps / 1e6,
                )
            )
            found.append(_variation(load, way, [w.variation(way) for w in windows]))
            tops = _tops(load, runs), _tops(load, runs_bigger)
            sizes += self._sizes(load, way, tops, direct.end(way))
        spread = prediction_interval(least)
        rtt_ms = self.line.rtt_ns / 1e6
        low = rtt_ms + (spread.low - spread.value) - _RTT_FLOOR_MS
        high = rtt_ms + (spread.high - spread.value) + _RTT_FLOOR_MS
        base = Parameter(Quantity.BASE_ROUND_TRIP, None, "ms", rtt_ms, low, high, self.base_ms)
        why = "with packets of one size, overhead and rate cannot be told apart"
        overhead = Parameter(Quantity.OVERHEAD, None, "bytes", unidentifiable=why)
        return [*found, base, *sizes, overhead]

    def _sizes(
        self, load: Loaded, way: Way, tops: tuple[list[float], list[float]], direct: LineEnd
    ) -> list[Parameter]:
        """Return the buffer in bytes and in time, or the burst; with a reason if unknown."""
        end, decision = self.line.end(way), self.decisions[way]
        if decision.class_ is DisciplineClass.POLICER:
            why = "its size hardly changes what was measured"
            return [Parameter(Quantity.BURST, way, "kB", end.size / 1e3, unidentifiable=why)]
        why = _unknown_size(end, decision, load)
        if not why and math.fsum(tops[1]) < _STEP**_LEAST_RESPONSE * math.fsum(tops[0]):
            why = "the load does not fill it; it is at least this large"
        # The size that was fitted for a discipline that is not the line's means nothing.
        is_fifo = end.model is QueueModel.FIFO
        is_known = is_fifo and decision.class_ is not DisciplineClass.NOT_IDENTIFIABLE
        kilobytes = end.size / 1e3 if is_known else math.nan
        if why:
            return [Parameter(Quantity.BUFFER, way, "kB", kilobytes, unidentifiable=why)]
        top = prediction_interval(tops[0])
        low = max(top.low / top.value, 0.0) - _SIZE_FLOOR
        high = top.high / top.value + _SIZE_FLOOR
        sides = (("kB", kilobytes, direct.size / 1e3), ("ms", end.buffer_ms, direct.buffer_ms))
        return [
            Parameter(Quantity.BUFFER, way, unit, value, value * low, value * high, known)
            for unit, value, known in sides
        ]


def _tops(load: Loaded, runs: Sequence[Scene]) -> list[float]:
    """Return the maximum delay of each run above its minimum."""
    windows = load.windows(runs)
    return [w.top_ms - least_ms([run]) for w, run in zip(windows, runs, strict=True)]


def _unknown_size(end: LineEnd, decision: Decision, load: Loaded) -> str:
    """Return why a buffer's size is unknown, as far as no further run is needed to decide."""
    if not len(load.scene.rtt_ms):
        return "no round trips were measured under this load"
    if end.model is not QueueModel.FIFO:
        return f"{end.model.word} keeps the queue short, far from its limit"
    if decision.class_ is DisciplineClass.NOT_IDENTIFIABLE:
        return "the discipline is not known"
    if len(load.scene.ways) > 1:
        return "both directions were loaded at once, so only the sum of their delays is known"
    return ""


def _variation(load: Loaded, way: Way, simulated_ones: Sequence[float]) -> Parameter:
    """Return how the goodput varies from second to second beyond the variation due to the flows."""
    quantity = Quantity.VARIATION
    measured = load.window.variation(way)
    known = [value for value in simulated_ones if math.isfinite(value)]
    if not math.isfinite(measured) or len(known) < 2:
        return Parameter(quantity, way, "%", unidentifiable="too short")
    most = prediction_interval(known).high + _VARIES
    if measured <= most:
        why = "the goodput varies no more than at a constant rate"
        return Parameter(quantity, way, "%", 100 * measured, unidentifiable=why)
    return Parameter(quantity, way, "%", 100 * measured)
