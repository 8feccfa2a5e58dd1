"""Quantities that claims are about: shares of flows, and percentile ranges.

They are computed per replication, and their intervals are over replications.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats import cdf_crossings


def share_better(
    a: ArrayLike, b: ArrayLike, *, better: Literal["lower", "higher"] = "lower"
) -> float:
    """Share of flows that perform better under A than under B, in [0, 1].

    Flows are not paired between A and B. The share is the fraction of quantile levels at which A's
    quantile is better than B's. If the CDFs cross once, it is the quantile at which they cross.

    Args:
        a: One value per flow under A, finite.
        b: One value per flow under B, same unit; the numbers of flows may differ.
        better: Whether low values (delays, completion times) or high ones (rates) are good.

    Raises:
        StatsError: An empty sample, or a value that is not finite.
    """
    share_lower = cdf_crossings(a, b).share_a_lower
    return share_lower if better == "lower" else 1.0 - share_lower


def percentile_range(sample: ArrayLike, low: float = 0.05, high: float = 0.95) -> float:
    """Distance between two percentiles (default 5th to 95th), in the sample's unit.

    Unlike maximum minus minimum it does not grow with the number of flows.

    Args:
        sample: One value per flow, any shape, finite.
        low: Lower level.
        high: Upper level.

    Raises:
        ValueError: An empty sample, a value that is not finite, or levels out of order.
    """
    values = np.asarray(sample, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError("a percentile range needs at least one value, all of them finite")
    if not 0.0 <= low < high <= 1.0:
        raise ValueError(f"levels {low} and {high}; 0 <= low < high <= 1")
    return float(np.quantile(values, high) - np.quantile(values, low))


def relative_spread(sample: ArrayLike, low: float = 0.05, high: float = 0.95) -> float:
    """Distance between two percentiles over the median, a pure number.

    An absolute range grows with the mean, and maximum minus minimum with the number of flows.

    Args:
        sample: One value per flow, any shape, finite, with a positive median.
        low: Lower level.
        high: Upper level.

    Raises:
        ValueError: As :func:`percentile_range`, or a median that is not positive.
    """
    distance = percentile_range(sample, low, high)
    median = float(np.median(np.asarray(sample, dtype=np.float64)))
    if not median > 0:
        raise ValueError(f"the median is {median}; a relative spread needs a positive one")
    return distance / median
