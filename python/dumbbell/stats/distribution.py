"""Empirical distributions: of samples, of weighted values, of histogram bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import Floats, StatsError, check_quantiles, sample
from dumbbell.stats.estimate import Estimate, IntervalKind
from dumbbell.stats.intervals import student_interval


def ecdf(x: ArrayLike) -> tuple[Floats, Floats]:
    """Empirical distribution function as a step curve.

    Args:
        x: Values, shape (n,), n >= 1.

    Returns:
        The distinct values in order and the share of values at or below each.

    Raises:
        StatsError: No values, or one that is not finite.
    """
    values, counts = np.unique(sample(x, "x"), return_counts=True)
    return values, np.cumsum(counts) / counts.sum()


def ecdf_at(x: ArrayLike, at: ArrayLike) -> Floats:
    """Share of values at or below each point.

    Args:
        x: Values, shape (n,), n >= 1.
        at: Points, any shape, same unit.

    Raises:
        StatsError: No values, or one that is not finite.
    """
    values = np.sort(sample(x, "x"))
    points = np.asarray(at, dtype=np.float64)
    return np.searchsorted(values, points, side="right") / values.size


def weighted_quantile(values: ArrayLike, weights: ArrayLike, q: ArrayLike) -> Floats:
    """Smallest value at or below which the share ``q`` of the weight lies.

    The inverse of a weighted empirical distribution, without interpolation: right for counts
    (packets in the system weighted by time). For bins with a width see
    :func:`histogram_quantile`.

    Args:
        values: Values in any order, shape (n,).
        weights: Weight of each, at least 0, not all 0.
        q: Levels in [0, 1], any shape.

    Returns:
        Quantiles, the shape of ``q`` (zero-dimensional for a number).

    Raises:
        StatsError: Shapes differ, a negative weight, no weight, a level out of range.
    """
    points, mass = sample(values, "values"), _weights(weights)
    if points.size != mass.size:
        raise StatsError(f"{points.size} values and {mass.size} weights; one weight each")
    levels = check_quantiles(q)
    points, mass = points[mass > 0], mass[mass > 0]
    order = np.argsort(points, kind="stable")
    cumulative = np.cumsum(mass[order])
    # Tolerance for rounding of the cumulative sum, so that a share reached exactly is found.
    wanted = levels * cumulative[-1] * (1.0 - 1e-12)
    index = np.minimum(np.searchsorted(cumulative, wanted, side="left"), points.size - 1)
    return np.asarray(points[order][index])


def histogram_quantile(low: ArrayLike, high: ArrayLike, weight: ArrayLike, q: ArrayLike) -> Floats:
    """Quantiles of binned values; the weight is assumed to be uniform within each bin.

    The error is at most a bin's width (for delay bins, 1/128 of the value). Bins of several queues
    or replications may be concatenated if they have the same grid.

    Args:
        low: Lower edge of each bin, shape (n,), any order.
        high: Upper edge, above the lower one. Bins may repeat but not overlap otherwise.
        weight: Weight in each bin, at least 0, not all 0.
        q: Levels in [0, 1], any shape.

    Raises:
        StatsError: Shapes differ, bins overlap, a negative weight, a level out of range.
    """
    levels = check_quantiles(q)
    edges_low, edges_high, mass = _bins(low, high, weight)
    cumulative = np.cumsum(mass)
    target = levels * cumulative[-1]
    index = np.minimum(np.searchsorted(cumulative, target, side="left"), mass.size - 1)
    before = cumulative[index] - mass[index]
    share = np.clip((target - before) / mass[index], 0.0, 1.0)
    return np.asarray(edges_low[index] + share * (edges_high[index] - edges_low[index]))


def histogram_cdf(low: ArrayLike, high: ArrayLike, weight: ArrayLike, at: ArrayLike) -> Floats:
    """Share of the weight at or below each point; the inverse of :func:`histogram_quantile`.

    Args:
        low: Lower edge of each bin, shape (n,), any order.
        high: Upper edge of each bin.
        weight: Weight in each bin.
        at: Points, any shape, in the unit of the edges.

    Raises:
        StatsError: As :func:`histogram_quantile`.
    """
    edges_low, edges_high, mass = _bins(low, high, weight)
    points = np.asarray(at, dtype=np.float64)
    cumulative = np.cumsum(mass)
    index = np.searchsorted(edges_low, points, side="right") - 1
    bin_of = np.maximum(index, 0)
    width = edges_high[bin_of] - edges_low[bin_of]
    share = np.clip((points - edges_low[bin_of]) / width, 0.0, 1.0)
    reached = cumulative[bin_of] - mass[bin_of] + share * mass[bin_of]
    return np.asarray(np.where(index < 0, 0.0, reached / cumulative[-1]))


@dataclass(frozen=True)
class CdfCrossings:
    """Where two CDFs cross, by quantile level.

    Attributes:
        share_a_lower: Share of quantile levels at which A's quantile is below B's (equal ones
            count half). With a single crossing it is the crossing level, or 1 minus it.
        levels: Levels strictly inside (0, 1) at which the order changes, in order.
    """

    share_a_lower: float
    levels: tuple[float, ...]


def cdf_crossings(a: ArrayLike, b: ArrayLike) -> CdfCrossings:
    """Quantile levels at which the CDFs of two unpaired samples cross, exactly.

    "For 70 % of the flows A is better" compares distributions when the flows of A and B are not
    the same flows: it is the measure of levels u with F_A^-1(u) < F_B^-1(u). Both quantile
    functions are steps, so between neighbouring levels i/n_a and j/n_b nothing changes.

    Args:
        a: First sample, shape (n_a,), finite.
        b: Second sample, shape (n_b,), same unit.

    Raises:
        StatsError: An empty sample, or a value that is not finite.
    """
    first, second = np.sort(sample(a, "a")), np.sort(sample(b, "b"))
    # Levels as integers over n_a * n_b: equal levels are then equal exactly.
    total = first.size * second.size
    grid = np.union1d(
        np.arange(first.size + 1) * second.size, np.arange(second.size + 1) * first.size
    )
    start, width = grid[:-1], np.diff(grid)
    sign = np.sign(second[start // first.size] - first[start // second.size])
    lower = float((width * (sign > 0)).sum() + 0.5 * (width * (sign == 0)).sum()) / total
    # An interval of equality is a crossing only if the order differs on its two sides.
    signs, starts = sign[sign != 0], start[sign != 0]
    changes = np.flatnonzero(signs[1:] != signs[:-1]) + 1
    return CdfCrossings(lower, tuple(float(starts[i] / total) for i in changes))


def crossing_interval(
    a: Sequence[ArrayLike], b: Sequence[ArrayLike], level: float = 0.95
) -> Estimate:
    """Interval of the share of quantile levels at which A is lower, over replications.

    Args:
        a: One sample per replication of arm A.
        b: The same replications of arm B.
        level: Coverage wanted.

    Returns:
        Estimate of kind ``share``, cut to [0, 1].

    Raises:
        StatsError: Different numbers of replications, or as :func:`cdf_crossings`.
    """
    if len(a) != len(b):
        raise StatsError(f"a has {len(a)} replications and b has {len(b)}; they are paired")
    shares = [cdf_crossings(x, y).share_a_lower for x, y in zip(a, b, strict=True)]
    raw = student_interval(shares, level, kind=IntervalKind.SHARE)
    return Estimate(
        raw.value, max(raw.low, 0.0), min(raw.high, 1.0), level, raw.n, IntervalKind.SHARE
    )


def _weights(weight: ArrayLike) -> Floats:
    mass = sample(weight, "weights")
    if (mass < 0).any():
        raise StatsError("weights: one is negative; each must be at least 0")
    if not mass.sum() > 0:
        raise StatsError("weights: all are 0; there is nothing to take a quantile of")
    return mass


def _bins(low: ArrayLike, high: ArrayLike, weight: ArrayLike) -> tuple[Floats, Floats, Floats]:
    """Non-empty bins in order; repeated bins are added up."""
    lower, upper, mass = sample(low, "low"), sample(high, "high"), _weights(weight)
    if not lower.size == upper.size == mass.size:
        raise StatsError(
            f"{lower.size} lower edges, {upper.size} upper edges, {mass.size} weights; one each"
        )
    if (upper <= lower).any():
        raise StatsError("a bin's upper edge is not above its lower edge")
    filled = mass > 0
    lower, upper, mass = lower[filled], upper[filled], mass[filled]
    if (lower[:-1] < lower[1:]).all():
        # The bins of a single queue are in order without repetitions; sorting would dominate the
        # time.
        if (upper[:-1] > lower[1:]).any():
            raise StatsError("bins overlap; they must share one grid")
        return lower, upper, mass
    edges, first, which = np.unique(lower, return_index=True, return_inverse=True)
    ends = upper[first]
    if (upper != ends[which]).any() or (ends[:-1] > edges[1:]).any():
        raise StatsError("bins overlap; they must share one grid")
    total: Floats = np.bincount(which, weights=mass).astype(np.float64)
    return edges, ends, total
