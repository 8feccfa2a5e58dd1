"""Thinning of curves, which keeps a page small without a visible change."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_POINTS = 500
"""Points per curve on a page."""

Array = NDArray[np.float64]


def ecdf_points(
    values: ArrayLike, weights: ArrayLike | None = None, max_points: int = MAX_POINTS
) -> tuple[Array, Array]:
    """Points (x, F(x)) of the empirical distribution function, thinned.

    Every point returned lies exactly on the full ECDF. Half of the points are even in
    probability and half even in x, so a missing step is at most about 2/max_points high or
    2/max_points of the range wide: less than a pixel or two.

    Args:
        values: Sample, any shape; not-a-number entries (lost pings) are left out.
        weights: Weight of each value, same shape, such as seconds spent at a queue length.
        max_points: At least 4.

    Returns:
        x ascending without repeats, and F at x in (0, 1]; both of shape (k,), k <= max_points.

    Raises:
        ValueError: No values, negative or all-zero weights, shapes that differ.
    """
    x = np.asarray(values, dtype=np.float64).ravel()
    w = np.ones_like(x) if weights is None else np.asarray(weights, dtype=np.float64).ravel()
    if x.shape != w.shape:
        raise ValueError(f"{x.size} values with {w.size} weights")
    if max_points < 4:
        raise ValueError(f"max_points is {max_points}; at least 4")
    known = ~np.isnan(x)
    x, w = x[known], w[known]
    if not x.size or (w < 0).any() or w.sum() <= 0:
        raise ValueError("an ECDF needs at least one value, and weights not negative, not all 0")
    distinct, place = np.unique(x, return_inverse=True)
    cumulative = np.cumsum(np.bincount(place, weights=w))
    share = cumulative / cumulative[-1]
    if distinct.size <= max_points:
        return distinct, share
    half = max_points // 2
    even_share = np.searchsorted(share, np.linspace(0.0, 1.0, half))
    even_x = np.searchsorted(distinct, np.linspace(distinct[0], distinct[-1], half))
    kept = np.union1d(even_share, even_x)
    kept = kept[kept < distinct.size]
    return distinct[kept], share[kept]


def thin(count: int, max_points: int = MAX_POINTS) -> NDArray[np.int64]:
    """Indices of at most ``max_points`` evenly spaced out of ``count``, both ends included."""
    if count <= max_points:
        return np.arange(count, dtype=np.int64)
    return np.unique(np.linspace(0, count - 1, max_points).round().astype(np.int64))
