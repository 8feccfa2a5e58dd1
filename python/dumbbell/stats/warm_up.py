"""How much of the start of a run to leave out before calling it stationary."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import StatsError


@dataclass(frozen=True, slots=True)
class WarmUpCut:
    """Where MSER truncates a series. Usable as an index: ``x[cut:]``.

    Attributes:
        index: Number of leading values to leave out, a multiple of the batch.
        reliable: False when the criterion is still falling in the middle of the series: the run
            is too short to tell, and the index is half of it, not a warm-up.
        mean: Mean of what is kept, averaged over series.
    """

    index: int
    reliable: bool
    mean: float

    def __index__(self) -> int:
        """The index, so that ``x[cut:]`` is the stationary part."""
        return self.index


def warm_up_cut(x: ArrayLike, batch: int = 5) -> WarmUpCut:
    """MSER-5: drop the start whose removal makes the mean of the rest most certain.

    Batch the series by five, then choose the d that minimises the marginal standard error
    var(y_d .. y_k) / (k - d) over the first half (White, "An effective truncation heuristic for
    bias reduction in simulation output", Simulation 69, 1997; White, Cobb & Spratt, "A comparison
    of five steady-state truncation heuristics", WSC 2000). Several replications are averaged
    point by point first, as in Welch's procedure (Law & Kelton section 9.5.1), which shows the
    transient and hides the noise.

    Args:
        x: One series, shape (k,), or replications, shape (n, k), in order of time; k at least
            four batches.
        batch: Values per batch.

    Raises:
        StatsError: Too short, more than two dimensions, or a value that is not finite.
    """
    if batch < 1:
        raise StatsError(f"batch is {batch}; at least one value goes into each")
    series = np.asarray(x, dtype=np.float64)
    if series.ndim == 2 and series.shape[0]:
        series = series.mean(axis=0)
    if series.ndim != 1:
        raise StatsError(f"x has shape {series.shape}; one series or (replications, times)")
    n_batches = series.size // batch
    if n_batches < 4:
        raise StatsError(f"x has {series.size} values; at least {4 * batch} are needed")
    if not np.isfinite(series).all():
        raise StatsError("x has a value that is not finite")
    batched = series[: n_batches * batch].reshape(n_batches, batch).mean(axis=1)
    # Suffix sums give every candidate in one pass; centring first avoids cancellation.
    centred = batched - batched.mean()
    kept = n_batches - np.arange(n_batches)
    suffix_sum = np.cumsum(centred[::-1])[::-1]
    suffix_squares = np.cumsum((centred**2)[::-1])[::-1]
    standard_error = (suffix_squares - suffix_sum**2 / kept) / kept**2
    last = n_batches // 2
    best = int(np.argmin(standard_error[: last + 1]))
    return WarmUpCut(best * batch, best < last, float(series[best * batch :].mean()))
