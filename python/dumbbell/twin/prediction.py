"""What a twin says of a part of a measurement that it was not fitted to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dumbbell.stats import prediction_interval
from dumbbell.twin.fitting import Loaded
from dumbbell.twin.line import Line
from dumbbell.twin.scene import Way, Window
from dumbbell.twin.simulated import simulated

REPLICATIONS = 8
GOODPUT_TOLERANCE = 0.03
"""Of the goodput: what a twin may be wrong by before it is called wrong."""
DELAY_TOLERANCE, DELAY_TOLERANCE_MS = 0.15, 3.0
"""Of a round trip: that share of it, and that much more."""
ROUND_TRIPS = (0.5, 0.95)
"""Quantiles that are predicted."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A number that was predicted, and then looked up.

    Attributes:
        source: Of which measurement.
        load: What the line carried.
        name: What it is.
        unit: Of the numbers.
        measured: In the part that was held out.
        predicted: Mean of the runs.
        low: Least that the twin allows: by 95 % of differences of two runs, and the tolerance.
        high: Greatest.
    """

    source: str
    load: str
    name: str
    unit: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def is_inside(self) -> bool:
        """Whether the measurement is where the twin says."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class _Number:
    """What is looked at.

    Attributes:
        name: What it is.
        unit: Of it.
        of: Of a window; NaN where the window does not say it.
        tolerance: Share of the prediction that a twin may be wrong by.
        more: And so much more, in the unit.
    """

    name: str
    unit: str
    of: Callable[[Window], float]
    tolerance: float
    more: float = 0.0


def _goodput(way: Way) -> _Number:
    def of(window: Window) -> float:
        return window.goodput_mbps(way)

    return _Number(f"goodput {way.value}", "Mbit/s", of, GOODPUT_TOLERANCE)


def _round_trip(quantile: float) -> _Number:
    def of(window: Window) -> float:
        return window.rtt_ms(quantile)

    name = f"round trip, {100 * quantile:.0f} %"
    return _Number(name, "ms", of, DELAY_TOLERANCE, DELAY_TOLERANCE_MS)


def predict(line: Line, held_out: Sequence[Loaded], *, seed: int, jobs: int = 0) -> list[Predicted]:
    """Goodput, median and 95 % of the round trips of each part, by the twin.

    Args:
        line: The twin.
        held_out: Measured, and not fitted to.
        seed: Of the simulation.
        jobs: Threads; 0 for one a core.
    """
    found = []
    for load in held_out:
        (scenes,) = simulated(
            [line], load.scene, seed=seed, replications=range(REPLICATIONS), jobs=jobs
        )
        runs = load.windows(scenes)
        ways = sorted(load.scene.ways, key=list(Way).index)
        numbers = [*map(_goodput, ways), *map(_round_trip, ROUND_TRIPS)]
        found += [_predicted(load, runs, each) for each in numbers]
    return [each for each in found if each is not None]


def _predicted(load: Loaded, runs: Sequence[Window], number: _Number) -> Predicted | None:
    measured = number.of(load.window)
    values = [value for value in map(number.of, runs) if math.isfinite(value)]
    if not math.isfinite(measured) or len(values) < 2:
        return None
    interval = prediction_interval(values)
    # The twin was fitted to one part, which differs from run to run as much as the one predicted.
    reach = math.sqrt(2.0) * interval.half_width
    slack = reach + number.tolerance * interval.value + number.more
    return Predicted(
        load.scene.source,
        load.scene.load,
        number.name,
        number.unit,
        measured,
        interval.value,
        interval.value - slack,
        interval.value + slack,
    )
