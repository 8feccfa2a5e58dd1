"""Where will ONE future run fall? For comparing with a number published once.

The interval of a mean shrinks with every replication; one published run does not. A prediction
interval keeps the spread of a single run (Hahn & Meeker, Statistical Intervals, chapters 4 and 5).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats._laws import student_quantile
from dumbbell.stats.errors import check_level, sample
from dumbbell.stats.estimate import Estimate, IntervalKind


def prediction_interval(x: ArrayLike, level: float = 0.95) -> Estimate:
    """Central prediction interval of one future run: mean +- t s sqrt(1 + 1/n).

    Exact for normal values. For skewed ones (maxima, delays at high load) use
    :func:`prediction_quantiles`.

    Args:
        x: The result of each of n replications, shape (n,), n >= 1.
        level: Probability that one more run falls inside.

    Raises:
        StatsError: No values, one not finite, or a level outside (0, 1).
    """
    check_level(level)
    values = sample(x, "x")
    n, mean = values.size, float(values.mean())
    if n == 1:
        return Estimate(mean, -math.inf, math.inf, level, 1, IntervalKind.PREDICTION)
    spread = float(values.std(ddof=1)) * math.sqrt(1.0 + 1.0 / n)
    reach = student_quantile((1.0 + level) / 2.0, n - 1) * spread
    return Estimate(mean, mean - reach, mean + reach, level, n, IntervalKind.PREDICTION)


def prediction_quantiles(x: ArrayLike, level: float = 0.95) -> Estimate:
    """Distribution-free prediction interval of one future run, by order statistics.

    One more run is equally likely to fall into each of the n + 1 gaps between n earlier ones (Hahn
    & Meeker chapter 5), so [X_(j), X_(n+1-j)] has level 1 - 2 j / (n + 1) whatever the law. Between
    two j the ends are interpolated linearly at ranks (n + 1)(1 -+ level)/2. With fewer than
    :func:`replications_for_prediction` runs the whole range is returned and ``level`` is its actual
    level, (n - 1)/(n + 1).

    Args:
        x: As for :func:`prediction_interval`.
        level: Probability wanted that one more run falls inside.

    Returns:
        Estimate with the median as value and the level attained.

    Raises:
        StatsError: As :func:`prediction_interval`.
    """
    check_level(level)
    values = np.sort(sample(x, "x"))
    n = values.size
    median = float(np.median(values))
    if n == 1:
        return Estimate(median, -math.inf, math.inf, level, 1, IntervalKind.PREDICTION)
    attainable = (n - 1) / (n + 1)
    attained = level if n >= replications_for_prediction(level) else attainable
    rank = (n + 1) * (1.0 - attained) / 2.0
    low, high = np.interp([rank, n + 1 - rank], np.arange(1, n + 1), values)
    return Estimate(median, float(low), float(high), attained, n, IntervalKind.PREDICTION)


def replications_for_prediction(level: float = 0.95) -> int:
    """Fewest replications whose range is a prediction interval of this level: 39 for 0.95.

    Args:
        level: Probability in (0, 1).

    Raises:
        StatsError: The level is out of range.
    """
    check_level(level)
    # The small tolerance prevents a result of 40 for 0.95, which is not a binary fraction.
    return math.ceil(2.0 / (1.0 - level) - 1.0 - 1e-9)
