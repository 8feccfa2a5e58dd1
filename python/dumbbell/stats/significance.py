"""Significance of a difference between paired replications."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats._laws import student_quantile, student_upper_tail
from dumbbell.stats.errors import StatsError, check_level, sample
from dumbbell.stats.estimate import Estimate, IntervalKind


def paired_p_value(differences: ArrayLike) -> float:
    """Two-sided p-value of "the mean difference is zero", from one difference per replication.

    Student's paired test (Law & Kelton section 10.2.1). If all differences are equal, there is no
    spread, and the p-value is that of the sign test, 2^(1 - n) if they are not zero (Conover,
    Practical Nonparametric Statistics, section 3.4).

    Args:
        differences: Shape (n,), finite.

    Returns:
        P-value in (0, 1]; 1 for a single difference.

    Raises:
        StatsError: No values, or one that is not finite.
    """
    values = sample(differences, "differences")
    n, mean = values.size, float(values.mean())
    if n == 1 or mean == 0.0:
        return 1.0
    error = float(values.std(ddof=1)) / math.sqrt(n)
    # Rounding gives equal differences a tiny spread.
    if error <= 1e-12 * abs(mean):
        return min(1.0, 2.0 ** (1 - n))
    return min(1.0, 2.0 * student_upper_tail(abs(mean) / error, n - 1))


def geometric_interval(
    x: ArrayLike, level: float = 0.95, *, kind: IntervalKind = IntervalKind.GEOMETRIC_MEAN
) -> Estimate:
    """Interval of a geometric mean: Student's interval of the logarithms, transformed back.

    For strongly skewed positive quantities, such as completion times and high quantiles of delay,
    for which Student's interval of the arithmetic mean has too low a coverage. For ratios of pairs
    it is the interval of the ratio of the two sides.

    Args:
        x: One positive value per replication, shape (n,), n >= 1.
        level: Coverage wanted.
        kind: Kind of the estimate.

    Raises:
        StatsError: No values, one that is not positive and finite, or a level outside (0, 1).
    """
    check_level(level)
    values = sample(x, "x")
    if not (values > 0.0).all():
        raise StatsError("x: one is not above 0; only positive values have a geometric mean")
    logs = np.log(values)
    n, mean = logs.size, float(logs.mean())
    if n == 1:
        return Estimate(math.exp(mean), 0.0, math.inf, level, 1, kind)
    reach = student_quantile((1.0 + level) / 2.0, n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
    return Estimate(math.exp(mean), math.exp(mean - reach), math.exp(mean + reach), level, n, kind)
