"""Numbers from the histograms that a run has instead of every packet's delay."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.stats import histogram_quantile

Floats = NDArray[np.float64]
Bins = tuple[Floats, Floats, Floats]
"""Lower and upper edges, and weights; ascending, shape (bins in use,) each."""


def quantile_of_bins(bins: Bins, q: ArrayLike, greatest: float) -> Floats:
    """Quantiles, linear inside a bin and never beyond the greatest value.

    Args:
        bins: What was counted.
        q: Levels in [0, 1], any shape.
        greatest: Exact greatest value, in the unit of the edges; NaN where it is not known.

    Returns:
        An array of that shape, in the unit of the edges; NaN of nothing.
    """
    low, high, weight = bins
    levels = np.asarray(q, dtype=np.float64)
    if not len(weight):
        return np.full(levels.shape, np.nan)
    found = histogram_quantile(low, high, weight, levels)
    return np.asarray(np.fmin(found, greatest), dtype=np.float64)
