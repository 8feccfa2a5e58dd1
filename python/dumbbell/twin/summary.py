"""The numbers by which a twin is held against a measurement, of a window of a scene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.twin.scene import Way, Window

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Of the round trips under load."""
_DELAY_FLOOR_MS = 0.5
"""Added to delays before their logarithm: less is noise of hosts and clocks."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A number that both sides have.

    Attributes:
        name: What it is.
        weight: Of its square in the distance; numbers that know of each other share one.
        tolerance: What a simulator that is right in all else may be wrong by, in its own unit.
    """

    name: str
    weight: float
    tolerance: float


_TOP_TOLERANCE = 0.4
"""Of the greatest delay: before a discipline that manages its queue it is the first second's, in
which the simulator's senders and a kernel's differ."""
DELAYS = tuple(
    Compared(
        f"log of the delay under load, {100 * q:.0f} %",
        0.5,
        _TOP_TOLERANCE if q == max(QUANTILES) else 0.12,
    )
    for q in QUANTILES
)
UNEVENNESS = Compared("unevenness of the flows", 1.0, 0.06)
SRTT = Compared("log of the senders' round trips above the least", 1.0, 0.15)
GOODPUTS = tuple(Compared(f"log of the goodput {way.value}", 1.0, 0.015) for way in Way)
ALL = (*DELAYS, UNEVENNESS, SRTT, *GOODPUTS)


def summary(window: Window, way: Way, base_ms: float) -> list[float]:
    """The numbers of `ALL`, in that order; NaN where the scene does not say.

    Args:
        window: Of a scene in which the direction is loaded.
        way: Which direction.
        base_ms: The least round trip.
    """
    delays = [_log_delay(window.rtt_ms(q) - base_ms) for q in QUANTILES]
    goodputs = [window.goodput_mbps(each) for each in Way]
    return [
        *delays,
        window.unevenness(way),
        _log_delay(window.srtt_ms(way) - base_ms),
        *(math.log(each) if each > 0 else math.nan for each in goodputs),
    ]


def distance(measured: Sequence[float], simulated: Sequence[Sequence[float]]) -> float:
    """How far a measurement is from runs, in squares of what is expected of one more run.

    Args:
        measured: As `summary` has it.
        simulated: The same of each run, two and more.

    Returns:
        The weighted sum over the numbers that both have: about their weights' sum where the line
        is that of the runs; infinite where they have none in common.
    """
    total, known = 0.0, False
    for k, each in enumerate(ALL):
        values = np.array([run[k] for run in simulated])
        if not math.isfinite(measured[k]) or not np.isfinite(values).all():
            continue
        known = True
        spread = float(values.var(ddof=1)) * (1.0 + 1.0 / len(values)) + each.tolerance**2
        total += each.weight * (measured[k] - float(values.mean())) ** 2 / spread
    return total if known else math.inf


def _log_delay(delay_ms: float) -> float:
    return math.log(max(delay_ms, 0.0) + _DELAY_FLOOR_MS) if math.isfinite(delay_ms) else math.nan
