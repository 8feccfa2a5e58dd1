"""Distance from the measurement as a function of one parameter of a twin.

A steep curve means that the parameter is well identified; a flat curve means that it is not
identifiable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.twin.fitting import Loaded, best_load
from dumbbell.twin.line import Line
from dumbbell.twin.result import Twin
from dumbbell.twin.scene import Scene, Way, least_ms
from dumbbell.twin.simulated import simulated
from dumbbell.twin.summary import distance, summary

FACTORS = (0.6, 0.75, 0.87, 1.0, 1.15, 1.33, 1.7)
"""Factors applied to a parameter."""
_REPLICATIONS = 3


@dataclass(frozen=True, slots=True)
class Profile:
    """Profile of one parameter.

    Attributes:
        name: Name of the parameter.
        distances: Distance at each of `FACTORS`, as a sum of squared standardized differences.
    """

    name: str
    distances: tuple[float, ...]


def profiles(twin: Twin, scenes: Sequence[Scene], *, jobs: int = 0) -> list[Profile]:
    """Return the profiles of the rates, sizes and the propagation delay.

    Args:
        twin: The fitted twin.
        scenes: Measured scenes with flows.
        jobs: Threads; 0 for one per core.
    """
    loads = [Loaded(scene) for scene in scenes if scene.flows]
    found = []
    for way in twin.ways:
        load = best_load(loads, way)
        if load is None:
            continue
        end = twin.line.end(way)
        moved = {
            f"rate {way.value}": [
                twin.line.with_end(way, end.with_rate(end.rate_bps * f)) for f in FACTORS
            ],
            f"size of the {end.model.word} {way.value}": [
                twin.line.with_end(way, end.with_size(end.size * f)) for f in FACTORS
            ],
        }
        if way is twin.ways[0]:
            rtts = [twin.line.with_rtt(twin.line.rtt_ns * f) for f in FACTORS]
            moved["base round trip"] = rtts
        found += [
            Profile(name, tuple(_distances(lines, load, way, scenes, seed=twin.seed, jobs=jobs)))
            for name, lines in moved.items()
        ]
    return found


def _distances(
    lines: Sequence[Line],
    load: Loaded,
    way: Way,
    scenes: Sequence[Scene],
    *,
    seed: int,
    jobs: int,
) -> list[float]:
    # The minimum RTT stays the measured one, so that a wrong propagation delay is visible.
    base_ms = least_ms(scenes)
    measured = summary(load.window, way, base_ms)
    runs = simulated(
        lines, load.scene, seed=seed + 300, replications=range(_REPLICATIONS), jobs=jobs
    )
    return [
        distance(measured, [summary(window, way, base_ms) for window in load.windows(each)])
        for each in runs
    ]
