"""Class of a rate's queueing discipline: each class is fitted, and their distances are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dumbbell.twin.fitting import DEFAULT_TARGET_NS, Loaded, best_load, first_try, fit
from dumbbell.twin.line import DisciplineClass, Line, LineEnd, QueueModel
from dumbbell.twin.scene import Way, least_ms
from dumbbell.twin.simulated import simulated
from dumbbell.twin.summary import distance, summary

REPLICATIONS = 6
CLEAR = 3.0
"""Minimum difference in distance between the nearest class and the next, to identify the class."""
NEAR = 25.0
"""If all distances are larger, no discipline tried explains the measurement."""
_BURSTS_S = (0.01, 0.03, 0.1)
_OCTAVE = math.log(2.0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fitted discipline.

    Attributes:
        line: The line with this discipline.
        model: The discipline.
        distance: Distance from the measurement, by `dumbbell.twin.summary.distance`; for a delay
            target, plus the squared difference from Linux's default in octaves.
    """

    line: Line
    model: QueueModel
    distance: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Result for the discipline of a direction.

    Attributes:
        class_: The class that is clearly nearest; ``not identifiable`` if none is.
        candidates: The nearest of each discipline, nearest first.
    """

    class_: DisciplineClass
    candidates: tuple[Candidate, ...]

    @property
    def nearest(self) -> Candidate:
        """Return the nearest candidate."""
        return self.candidates[0]

    @property
    def distances(self) -> Mapping[DisciplineClass, float]:
        """Return the distance of the nearest candidate of each class."""
        found: dict[DisciplineClass, float] = {}
        for each in self.candidates:
            found.setdefault(each.model.class_, each.distance)
        return found

    @property
    def near(self) -> list[DisciplineClass]:
        """Return the classes indistinguishable from the nearest; none if no class is near."""
        best = self.nearest.distance
        if best > NEAR:
            return []
        return [each for each, far in self.distances.items() if far < best + CLEAR]


def decide(
    line: Line,
    loads: Sequence[Loaded],
    way: Way,
    base_ms: float,
    *,
    seed: int,
    jobs: int = 0,
    known: DisciplineClass | None = None,
) -> Decision:
    """Fit every discipline to a direction, and decide which are near.

    If one load alone fills both directions, both get the same discipline.

    Args:
        line: Initial line.
        loads: Measured loads; one of them loads the direction.
        way: The direction.
        base_ms: Minimum round-trip time of all measurements.
        seed: Seed of the simulation.
        jobs: Threads; 0 for one per core.
        known: Class to which the disciplines are limited; None tries all.
    """
    load = best_load(loads, way)
    assert load is not None
    ways = tuple(load.scene.ways) if len(load.scene.ways) > 1 else (way,)
    ways = tuple(sorted(ways, key=list(Way).index))
    tried = [_with_model(line, ways, end) for end in _ends(line.end(way), known)]
    fitted = fit(tried, [load], ways=ways, base_ms=base_ms, seed=seed, jobs=jobs)
    runs = simulated(
        fitted,
        load.scene,
        seed=seed + 1,
        replications=range(REPLICATIONS),
        jobs=jobs,
        share=load.end,
    )
    measured = summary(load.window, way, base_ms)
    nearest: dict[QueueModel, Candidate] = {}
    for found, scenes in zip(fitted, runs, strict=True):
        least = least_ms(scenes)
        numbers = [summary(window, way, least) for window in load.windows(scenes)]
        end = found.end(way)
        far = distance(measured, numbers) + _octaves(end) ** 2
        candidate = Candidate(found, end.model, far)
        if end.model not in nearest or far < nearest[end.model].distance:
            nearest[end.model] = candidate
    ordered = tuple(sorted(nearest.values(), key=lambda each: each.distance))
    undecided = Decision(DisciplineClass.NOT_IDENTIFIABLE, ordered)
    if len(undecided.near) == 1:
        return Decision(undecided.near[0], ordered)
    return undecided


def _ends(end: LineEnd, known: DisciplineClass | None) -> list[LineEnd]:
    found = [first_try(end, model) for model in QueueModel if model is not QueueModel.POLICER]
    if known is not None:
        return [each for each in found if each.model.class_ is known]
    for burst_s in _BURSTS_S:
        policed = first_try(end, QueueModel.POLICER)
        found.append(policed.with_size(end.rate_bps * burst_s / 8))
    return found


def _with_model(line: Line, ways: Sequence[Way], tried: LineEnd) -> Line:
    for way in ways:
        end = line.end(way)
        sized = LineEnd(end.rate_bps, tried.model, tried.size)
        if tried.model is QueueModel.FIFO:
            # If a load uses both directions, its delay is the sum of two queues' delays.
            sized = sized.with_size(end.size / len(ways))
        line = line.with_end(way, sized)
    return line


def _octaves(end: LineEnd) -> float:
    default = DEFAULT_TARGET_NS.get(end.model)
    return 0.0 if default is None else math.log(end.size / default) / _OCTAVE
