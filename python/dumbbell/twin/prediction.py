"""A twin's predictions for held-out parts of a measurement."""

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
"""Relative error of the goodput that is tolerated."""
DELAY_TOLERANCE, DELAY_TOLERANCE_MS = 0.15, 3.0
"""Tolerated error of a round-trip time: this share of it plus this constant."""
ROUND_TRIPS = (0.5, 0.95)
"""Quantiles of the round-trip time that are predicted."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted number and its measured value.

    Attributes:
        source: The measurement.
        load: Load of the line.
        name: Name of the number.
        unit: Unit of the numbers.
        measured: Value in the held-out part.
        predicted: Mean of the runs.
        low: Lower limit: by 95 % of the differences of two runs, plus the tolerance.
        high: Upper limit.
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
        """Whether the measured value is within the predicted interval."""
        return self.low <= self.measured <= self.high


@dataclass(frozen=True, slots=True)
class _Number:
    """A predicted quantity.

    Attributes:
        name: Name of the quantity.
        unit: Unit of the quantity.
        of: Computes it for a window; NaN if undefined.
        tolerance: Tolerated relative error.
        more: Additional tolerated error, in the unit.
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
    """Predict goodput, median and 95th percentile of the round-trip times of each part.

    Args:
        line: The twin.
        held_out: Measured parts not used in the fit.
        seed: Seed of the simulation.
        jobs: Threads; 0 for one per core.
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
    # The fitted part varies from run to run as much as the predicted part.
    reach = math.sqrt(2.0) * interval.half_width
    slack = reach + number.tolerance * interval.value + number.more
    return Predicted(
        load.scene.source,
        load.scene.load,
        number.name,
        number.unit,
        measured,
        interval.value,
        max(0.0, interval.value - slack),
        interval.value + slack,
    )
