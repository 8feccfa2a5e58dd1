"""Statistics of a scene's window used to compare a twin with a measurement."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.twin.scene import Way, Window

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Quantiles of the round-trip times under load."""
_DELAY_FLOOR_MS = 0.5
"""Added to delays before taking logarithms: smaller values are noise of hosts and clocks."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A statistic computed for both sides.

    Attributes:
        name: Name of the statistic.
        weight: Weight of its square in the distance; correlated statistics share one weight.
        tolerance: Tolerated model error, in its unit.
    """

    name: str
    weight: float
    tolerance: float


_TOP_TOLERANCE = 0.4
"""Tolerance of the maximum delay: with AQM the maximum occurs in the first second, in which the
simulator's and a kernel's senders differ."""
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
UNANSWERED = Compared("share of pings without an answer", 1.0, 0.03)
ALL = (*DELAYS, UNEVENNESS, SRTT, *GOODPUTS, UNANSWERED)


def summary(window: Window, way: Way, base_ms: float) -> list[float]:
    """Return the statistics of `ALL`, in that order; NaN if undefined for the scene.

    Args:
        window: Window of a scene in which the direction is loaded.
        way: The direction.
        base_ms: The minimum round-trip time.
    """
    delays = [_log_delay(window.rtt_ms(q) - base_ms) for q in QUANTILES]
    goodputs = [window.goodput_mbps(each) for each in Way]
    return [
        *delays,
        window.unevenness(way),
        _log_delay(window.srtt_ms(way) - base_ms),
        *(math.log(each) if each > 0 else math.nan for each in goodputs),
        window.unanswered(),
    ]


def distance(measured: Sequence[float], simulated: Sequence[Sequence[float]]) -> float:
    """Return the distance of a measurement from runs, as a weighted sum of squares.

    Differences are standardized by the expected variation of one further run.

    Args:
        measured: Result of `summary`.
        simulated: Result of `summary` for each run; at least two runs.

    Returns:
        The weighted sum over the statistics defined for both: about the sum of their weights if the
        line equals that of the runs; infinite without common statistics.
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
