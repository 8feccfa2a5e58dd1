"""Simultaneous confidence bands, for statements such as "A's CDF lies left of B's everywhere".

Pointwise 95 % intervals at two hundred points fail at some point far more often than one time in
twenty. A simultaneous band covers the whole curve at once with the level stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.distribution import ecdf_at
from dumbbell.stats.errors import Floats, StatsError, check_level, sample

BAND_SEED = 20240229
"""Seed of the bootstrap: fixed, so that the same replications give the same band."""

_NUMBERS_AT_ONCE = 500_000
"""Maximum number of bootstrap values in memory at a time: 4 MB."""


@dataclass(frozen=True)
class Band:
    """A curve with a band that covers all of it at once.

    Attributes:
        at: Points of the range, shape (k,), in the unit of the samples.
        value: Estimated curve, shape (k,).
        low: Lower edge, shape (k,).
        high: Upper edge, shape (k,).
        level: Probability that the true curve lies inside at every point.
        n: Number of replications.
        critical: The multiple of the standard error used at every point (Student's pointwise
            quantile would be smaller).
    """

    at: Floats
    value: Floats
    low: Floats
    high: Floats
    level: float
    n: int
    critical: float

    def above(self, bound: float = 0.0) -> bool:
        """Whether the whole band lies above ``bound``."""
        return bool((self.low > bound).all())

    def below(self, bound: float = 0.0) -> bool:
        """Whether the whole band lies below ``bound``."""
        return bool((self.high < bound).all())


def simultaneous_band(
    curves: ArrayLike,
    at: ArrayLike | None = None,
    *,
    level: float = 0.95,
    draws: int = 4000,
    seed: int = BAND_SEED,
) -> Band:
    """Sup-t band of a mean curve, from one curve per replication.

    The band is mean +- c s / sqrt(n) with one c for all points (Montiel Olea & Plagborg-Moller,
    "Simultaneous confidence bands", Journal of Applied Econometrics 34, 2019). c is the level's
    quantile of the largest absolute t-ratio over the points, by a parametric bootstrap: n curves
    are drawn anew as Gaussian with the correlation observed, and each point's t-ratio is formed
    with its own redrawn spread (Degras, Statistica Sinica 21, 2011). With one point that is
    Student's interval. A spread estimated once for all points would be too narrow with few
    replications: 64 % instead of 95 % at n = 5 for CDFs of 200 values. This one covers 92 % at
    n = 5, 93 % at 10, 94 % at 30 there.

    Where all replications agree exactly the band has no width: restrict the range to where the
    curves change (:func:`comparison_range`).

    Args:
        curves: One row per replication, shape (n, k), n >= 2.
        at: The k points, for the result; 0, 1, .. when not given.
        level: Coverage wanted of the whole curve.
        draws: Bootstrap draws.
        seed: Seed of the bootstrap.

    Raises:
        StatsError: Fewer than two replications, no points, or a value that is not finite.
    """
    check_level(level)
    rows = np.asarray(curves, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] < 2 or rows.shape[1] < 1:
        raise StatsError(
            f"curves has shape {rows.shape}; it must be (replications >= 2, points >= 1)"
        )
    if not np.isfinite(rows).all():
        raise StatsError("curves: every value must be finite")
    if draws < 100:
        raise StatsError(f"draws is {draws}; at least 100 for a quantile near {level}")
    n, k = rows.shape
    points = np.arange(k, dtype=np.float64) if at is None else sample(at, "at")
    if points.size != k:
        raise StatsError(f"at has {points.size} points, the curves have {k}")
    mean = rows.mean(axis=0)
    deviation = rows - mean
    sd = np.sqrt((deviation**2).sum(axis=0) / (n - 1))
    critical = _sup_t(deviation, sd, level, draws, seed)
    reach = critical * sd / np.sqrt(n)
    return Band(points, mean, mean - reach, mean + reach, level, n, critical)


def cdf_difference_band(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    at: ArrayLike,
    *,
    level: float = 0.95,
    draws: int = 4000,
    seed: int = BAND_SEED,
) -> Band:
    """Band of F_A - F_B over a range, from paired replications.

    "A is below B everywhere" (A's CDF left of B's) is shown when the whole band is positive.

    Args:
        a: Values of arm A, one array per replication (not a single pooled one), any lengths.
        b: Arm B, the same replications (common random numbers), same unit.
        at: Points of the range named in the claim, shape (k,), same unit.
        level: Coverage wanted of the whole curve.
        draws: Bootstrap draws.
        seed: Seed of the bootstrap.

    Raises:
        StatsError: Different numbers of replications, or as :func:`simultaneous_band`.
    """
    if len(a) != len(b):
        raise StatsError(f"a has {len(a)} replications and b has {len(b)}; they are paired")
    points = sample(at, "at")
    curves = [ecdf_at(x, points) - ecdf_at(y, points) for x, y in zip(a, b, strict=True)]
    if len(curves) < 2:
        raise StatsError(f"{len(curves)} replications; a band needs at least 2")
    return simultaneous_band(curves, points, level=level, draws=draws, seed=seed)


def comparison_range(
    a: Sequence[ArrayLike],
    b: Sequence[ArrayLike],
    *,
    between: tuple[float, float] = (0.01, 0.99),
    points: int = 200,
) -> Floats:
    """Points at which a comparison of two CDFs is meaningful.

    Quantiles of the pooled values at evenly spaced levels, from the first to the last level of
    ``between``. Outside this range both CDFs are 0 or 1 in nearly all replications.

    Args:
        a: Values of arm A, one array per replication.
        b: Arm B, same unit.
        between: Lowest and highest quantile level of the pooled values.
        points: Number of points; fewer are returned where pooled values are equal.

    Raises:
        StatsError: Levels out of order, or an empty or non-finite replication.
    """
    lowest, highest = between
    if not 0.0 <= lowest < highest <= 1.0 or points < 1:
        raise StatsError(
            f"between is {between}, points {points}; 0 <= low < high <= 1, points >= 1"
        )
    pooled = np.concatenate([sample(values, "replication") for values in (*a, *b)])
    return np.unique(np.quantile(pooled, np.linspace(lowest, highest, points)))


def _sup_t(deviation: Floats, sd: Floats, level: float, draws: int, seed: int) -> float:
    """Quantile at ``level`` of max |t| over the points that vary."""
    n = deviation.shape[0]
    # Rounding leaves a spread of about 1e-16 where all replications agree; treat it as zero.
    varies = sd > 1e-12 * np.abs(deviation).max(initial=0.0)
    if not varies.any():
        return 0.0
    standardised = deviation[:, varies] / sd[varies]
    # standardised.T @ standardised is the correlation of the curves, up to a factor that cancels
    # in t-ratios. Directions of zero variance are left out, which makes the draws cheap.
    _, size, directions = np.linalg.svd(standardised, full_matrices=False)
    kept = size > 1e-4 * size[0]
    factor = size[kept, None] * directions[kept]
    random = np.random.default_rng(seed)
    largest = np.empty(draws)
    at_once = max(1, _NUMBERS_AT_ONCE // (n * max(factor.shape)))
    for start in range(0, draws, at_once):
        count = min(at_once, draws - start)
        curves = random.standard_normal((count, n, factor.shape[0])) @ factor
        ratio = curves.mean(axis=1) / curves.std(axis=1, ddof=1)
        largest[start : start + count] = np.abs(ratio).max(axis=1)
    return float(np.quantile(largest, level) * np.sqrt(n))
