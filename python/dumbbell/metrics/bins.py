"""Quantiles from the histograms of a run; it has no delays of single packets."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.stats import histogram_quantile

Floats = NDArray[np.float64]
Bins = tuple[Floats, Floats, Floats]
"""Lower and upper edges, and weights; ascending, shape (bins in use,) each."""


def quantile_of_bins(bins: Bins, q: ArrayLike, greatest: float) -> Floats:
    """Quantiles by linear interpolation inside a bin, at most the exact maximum.

    Args:
        bins: Edges and weights of the histogram.
        q: Levels in [0, 1], any shape.
        greatest: Exact maximum, in the unit of the edges; NaN if unknown.

    Returns:
        An array of the shape of ``q``, in the unit of the edges; NaN for an empty histogram.
    """
    low, high, weight = bins
    levels = np.asarray(q, dtype=np.float64)
    if not len(weight):
        return np.full(levels.shape, np.nan)
    found = histogram_quantile(low, high, weight, levels)
    return np.asarray(np.fmin(found, greatest), dtype=np.float64)
