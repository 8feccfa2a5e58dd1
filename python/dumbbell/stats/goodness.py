"""Goodness of fit of a distribution to counts, and coverage of intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats._laws import beta_quantile, binomial_at_most, chi_square_upper_tail
from dumbbell.stats.errors import Floats, StatsError, check_level, sample


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Pearson's chi-square test.

    Attributes:
        statistic: Sum of (observed - expected)^2 / expected over the cells used.
        degrees_of_freedom: Cells used - 1 - fitted parameters.
        p_value: Chance of a statistic at least this large when the law holds.
        cells: Cells after merging thin neighbours.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float
    cells: int


def chi_square_fit(
    observed: ArrayLike,
    expected: ArrayLike,
    *,
    fitted: int = 0,
    least_expected: float = 5.0,
) -> GoodnessOfFit:
    """Pearson's test of counts against a distribution; neighbouring cells with small expectation
    are merged.

    Cochran, "The chi-square test of goodness of fit", Ann. Math. Stat. 23, 1952. The counts must
    be of independent events; correlated pings are not.

    Args:
        observed: Count in each cell, in order, shape (k,), at least 0.
        expected: Expected counts or probabilities (scaled to the total observed), shape (k,).
        fitted: Parameters fitted to the same counts.
        least_expected: Merge cells until each expects at least this many.

    Raises:
        StatsError: Shapes differ, a negative entry, nothing expected, or too few cells left.
    """
    counts, law = sample(observed, "observed"), sample(expected, "expected")
    if counts.size != law.size:
        raise StatsError(f"{counts.size} observed and {law.size} expected cells; as many of each")
    if (counts < 0).any() or (law < 0).any() or not law.sum() > 0:
        raise StatsError("observed and expected counts are at least 0, and something is expected")
    counts, law = _merge_thin(counts, law * (counts.sum() / law.sum()), least_expected)
    freedom = counts.size - 1 - fitted
    if freedom < 1:
        raise StatsError(
            f"{counts.size} cells with at least {least_expected} expected and {fitted} fitted "
            "parameters leave no degree of freedom; count more or use fewer parameters"
        )
    statistic = float(((counts - law) ** 2 / law).sum())
    return GoodnessOfFit(
        statistic, freedom, chi_square_upper_tail(statistic, freedom), int(counts.size)
    )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Observed coverage of intervals, compared with their nominal level.

    Attributes:
        share: Share of intervals that contained the true value.
        low: Lower end of the Clopper-Pearson interval of the true coverage.
        high: Upper end.
        p_value: Exact two-sided binomial test of "coverage equals the level".
        consistent: Whether the claimed level lies in [low, high].
    """

    share: float
    low: float
    high: float
    p_value: float
    consistent: bool


def coverage(hits: int, trials: int, level: float, *, confidence: float = 0.999) -> Coverage:
    """Test that intervals have their nominal coverage.

    Clopper & Pearson, Biometrika 26, 1934. With 2,000 trials and level 0.95 the binomial error
    allows about +-1.6 points at the default confidence.

    Args:
        hits: Number of intervals that contained the true value.
        trials: Number of intervals, at least 1.
        level: Nominal coverage.
        confidence: Level of the interval for the true coverage; the false-alarm rate is 1 less this
            level.

    Raises:
        StatsError: Negative or inconsistent counts, or a level outside (0, 1).
    """
    check_level(level)
    check_level(confidence, "confidence")
    if not (trials >= 1 and 0 <= hits <= trials):
        raise StatsError(f"{hits} hits in {trials} trials; 0 <= hits <= trials, trials >= 1")
    alpha = 1.0 - confidence
    low = 0.0 if hits == 0 else beta_quantile(alpha / 2.0, hits, trials - hits + 1)
    high = 1.0 if hits == trials else beta_quantile(1.0 - alpha / 2.0, hits + 1, trials - hits)
    at_most = binomial_at_most(hits, trials, level)
    at_least = 1.0 - binomial_at_most(hits - 1, trials, level)
    p_value = min(1.0, 2.0 * min(at_most, at_least))
    return Coverage(hits / trials, low, high, p_value, low <= level <= high)


def _merge_thin(counts: Floats, law: Floats, least: float) -> tuple[Floats, Floats]:
    """Merge neighbours from the left until each cell's expectation is large enough; the rest joins
    the last."""
    merged_counts: list[float] = []
    merged_law: list[float] = []
    count = mass = 0.0
    for observed, expected in zip(counts, law, strict=True):
        count += float(observed)
        mass += float(expected)
        if mass >= least:
            merged_counts.append(count)
            merged_law.append(mass)
            count = mass = 0.0
    if (count or mass) and merged_law:
        merged_counts[-1] += count
        merged_law[-1] += mass
    return np.asarray(merged_counts), np.asarray(merged_law)
