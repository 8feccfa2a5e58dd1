"""Numbers from the histograms that a run has instead of every packet's delay."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.stats import histogram_quantile

Floats = NDArray[np.float64]
Bins = tuple[Floats, Floats, Floats]
"""Lower and upper edges, and weights; ascending, shape (bins in use,) each."""


def quantile_of_bins(bins: Bins, q: ArrayLike) -> Floats:
    """Quantiles, linear inside a bin.

    Args:
        bins: What was counted.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of that shape, in the unit of the edges; NaN of nothing.
    """
    low, high, weight = bins
    levels = np.asarray(q, dtype=np.float64)
    if not len(weight):
        return np.full(levels.shape, np.nan)
    return np.asarray(histogram_quantile(low, high, weight, levels), dtype=np.float64)
