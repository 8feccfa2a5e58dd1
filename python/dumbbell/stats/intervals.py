"""Intervals for a mean, a difference, a ratio of means, a quantile and a correlated series.

Every function here wants independent values: one number per replication. The exception is
:func:`batch_means`, which is for the correlated values inside one long run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats._laws import student_quantile
from dumbbell.stats.errors import Floats, StatsError, check_level, check_quantiles, sample
from dumbbell.stats.estimate import Estimate, IntervalKind


def student_interval(
    x: ArrayLike, level: float = 0.95, *, kind: IntervalKind = IntervalKind.MEAN
) -> Estimate:
    """Student's interval of a mean: mean +- t s / sqrt(n).

    Law & Kelton, Simulation Modeling and Analysis, section 4.5. With one value the interval is
    the whole line: nothing is known about its spread.

    Args:
        x: One value per replication, shape (n,), n >= 1, any unit.
        level: Coverage wanted.
        kind: Kind of the estimate.

    Raises:
        StatsError: No values, one that is not finite, or a level outside (0, 1).
    """
    check_level(level)
    values = sample(x, "x")
    n, mean = values.size, float(values.mean())
    if n == 1:
        return Estimate(mean, -math.inf, math.inf, level, 1, kind)
    reach = student_quantile((1.0 + level) / 2.0, n - 1) * float(values.std(ddof=1)) / math.sqrt(n)
    return Estimate(mean, mean - reach, mean + reach, level, n, kind)


def difference_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Estimate:
    """Interval of mean(a) - mean(b) for paired replications (common random numbers).

    Law & Kelton section 10.2.1 (paired-t): pairing keeps what the two arms share, the arrivals,
    out of the interval.

    Args:
        a: One value per replication of arm A, shape (n,).
        b: The same replications of arm B, same unit, shape (n,).
        level: Coverage wanted.

    Raises:
        StatsError: Different lengths, or as :func:`student_interval`.
    """
    first, second = _paired(a, b, "a", "b", at_least=1)
    return student_interval(first - second, level, kind=IntervalKind.DIFFERENCE)


def welch_interval(a: ArrayLike, b: ArrayLike, level: float = 0.95) -> Estimate:
    """Interval of mean(a) - mean(b) for two independent sets of replications, by Welch.

    Welch, "The generalization of Student's problem when several different population variances
    are involved", Biometrika 34, 1947, with Satterthwaite's degrees of freedom (Law & Kelton
    section 10.2.2). Neither equal variances nor equal numbers are assumed.

    Args:
        a: One value per replication of side A, shape (n,).
        b: The same of side B, same unit, shape (m,); streams are not shared with A.
        level: Coverage wanted.

    Returns:
        Estimate whose ``n`` is that of the smaller side.

    Raises:
        StatsError: No values, one that is not finite, or a level outside (0, 1).
    """
    check_level(level)
    first, second = sample(a, "a"), sample(b, "b")
    n = min(first.size, second.size)
    difference = float(first.mean() - second.mean())
    if n == 1:
        kind = IntervalKind.DIFFERENCE
        return Estimate(difference, -math.inf, math.inf, level, 1, kind)
    parts = [float(side.var(ddof=1)) / side.size for side in (first, second)]
    variance = sum(parts)
    # Without spread the degrees of freedom are 0/0; the interval has no width in any case.
    freedom = float(n - 1)
    if variance > 0.0:
        shares = [part / variance for part in parts]
        freedom = 1.0 / (shares[0] ** 2 / (first.size - 1) + shares[1] ** 2 / (second.size - 1))
    reach = student_quantile((1.0 + level) / 2.0, freedom) * math.sqrt(variance)
    return Estimate(
        difference,
        difference - reach,
        difference + reach,
        level,
        n,
        IntervalKind.DIFFERENCE,
        freedom,
    )


def ratio_interval(num: ArrayLike, den: ArrayLike, level: float = 0.95) -> Estimate:
    """Interval of a ratio of means, mean(num) / mean(den), by the jackknife; pairs.

    The value is the plain ratio of means. The standard error is the jackknife's (Miller, "The
    jackknife - a review", Biometrika 61, 1974; Law & Kelton section 9.5.3 use it for regenerative
    ratios), with Student's t at n - 1 degrees of freedom. The pairs share their random numbers, so
    the interval is narrower than from separate runs. The mean of the ratios would estimate a
    different number.

    Args:
        num: Numerator of each replication, shape (n,), n >= 1.
        den: Denominator of the same replications, shape (n,), mean not zero.
        level: Coverage wanted.

    Raises:
        StatsError: Different lengths, a mean (or leave-one-out mean) of the denominator that is
            zero, or as :func:`student_interval`.
    """
    check_level(level)
    upper, lower = _paired(num, den, "num", "den", at_least=1)
    n = upper.size
    total_upper, total_lower = float(upper.sum()), float(lower.sum())
    left_out = total_lower - lower
    if total_lower == 0.0 or (n > 1 and bool((left_out == 0.0).any())):
        raise StatsError("den has mean zero (with all or with all but one replication); no ratio")
    ratio = total_upper / total_lower
    if n == 1:
        return Estimate(ratio, -math.inf, math.inf, level, 1, IntervalKind.RATIO)
    leave_one_out = (total_upper - upper) / left_out
    spread = float(((leave_one_out - leave_one_out.mean()) ** 2).sum())
    standard_error = math.sqrt((n - 1) / n * spread)
    reach = student_quantile((1.0 + level) / 2.0, n - 1) * standard_error
    return Estimate(ratio, ratio - reach, ratio + reach, level, n, IntervalKind.RATIO)


def batch_means(x: ArrayLike, n_batches: int = 32, level: float = 0.95) -> Estimate:
    """Interval of the mean of one long stationary run, whose values are correlated.

    The run is cut into batches of equal length; their means are treated as independent (Law &
    Kelton section 9.5.3; Schmeiser, "Batch size effects", Operations Research 30, 1982, on why
    10 to 30 batches are enough). Values before the first full batch, fewer than one batch, are
    left out at the front, where a run is least stationary. Check with :func:`lag_one` that
    neighbouring batch means are hardly correlated.

    Args:
        x: The series in order of time, warm-up removed, shape (k,), k >= 2 n_batches.
        n_batches: Number of batches, at least 2. ``n`` of the result.
        level: Coverage wanted.

    Raises:
        StatsError: Fewer than two values a batch, or as :func:`student_interval`.
    """
    means = _means_of_batches(x, n_batches)
    return student_interval(means, level, kind=IntervalKind.BATCH_MEANS)


def lag_one(x: ArrayLike, n_batches: int | None = None) -> float:
    """Lag-one autocorrelation of a series, or of its batch means, in [-1, 1].

    Under independence it has standard deviation about 1 / sqrt(n) (Fishman, "Grouping
    observations in digital simulation", Management Science 24, 1978).

    Args:
        x: Series in order of time, at least 3 values (or batches).
        n_batches: Take the means of this number of batches first.

    Raises:
        StatsError: Too few values, or a constant series.
    """
    values = sample(x, "x", 3) if n_batches is None else _means_of_batches(x, n_batches)
    if values.size < 3:
        raise StatsError(f"{values.size} batches; an autocorrelation needs at least 3")
    centred = values - values.mean()
    power = float(centred @ centred)
    if power == 0.0:
        raise StatsError("x is constant; it has no autocorrelation")
    return float(centred[1:] @ centred[:-1]) / power


def quantile_interval(replications: Sequence[ArrayLike], q: float, level: float = 0.95) -> Estimate:
    """Interval of a quantile: the quantile of each replication, then Student over those.

    Values inside a run (pings at high load) are correlated over tens of seconds, so order
    statistics of the pooled values would give intervals far too narrow.

    Args:
        replications: The values of each replication, one array each, any lengths >= 1.
        q: Quantile level in [0, 1] (0.5 is the median), by linear interpolation between order
            statistics (definition 7 of Hyndman & Fan, 1996; R's default).
        level: Coverage wanted.

    Raises:
        StatsError: No replications, an empty one, or a level out of range.
    """
    check_quantiles(q)
    each = [
        float(np.quantile(sample(values, f"replications[{i}]"), q))
        for i, values in enumerate(replications)
    ]
    return student_interval(each, level, kind=IntervalKind.QUANTILE)


def _means_of_batches(x: ArrayLike, n_batches: int) -> Floats:
    if n_batches < 2:
        raise StatsError(f"n_batches is {n_batches}; at least 2 are needed for a spread")
    values = sample(x, "x", 2 * n_batches)
    length = values.size // n_batches
    kept = values[values.size - length * n_batches :]
    means: Floats = kept.reshape(n_batches, length).mean(1)
    return means


def _paired(
    a: ArrayLike, b: ArrayLike, name_a: str, name_b: str, at_least: int
) -> tuple[Floats, Floats]:
    first, second = sample(a, name_a, at_least), sample(b, name_b, at_least)
    if first.size != second.size:
        raise StatsError(
            f"{name_a} has {first.size} values and {name_b} has {second.size}; paired "
            "replications come in equal numbers"
        )
    return first, second
