"""Several tests at once, and one test over many fixed seeds."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats._laws import (
    chi_square_lower_tail,
    chi_square_upper_tail,
    normal_quantile,
    normal_upper_tail,
    student_upper_tail,
)
from dumbbell.stats.errors import Floats, StatsError, sample
from dumbbell.stats.estimate import Estimate


class ScoreTest(NamedTuple):
    """A test statistic and its p-value.

    Attributes:
        statistic: The statistic.
        p_value: Probability of a statistic at least this extreme under the hypothesis.
    """

    statistic: float
    p_value: float


def holm(pvalues: ArrayLike) -> Floats:
    """Holm's step-down adjusted p-values: reject those at most the familywise error.

    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6, 1979. Valid whatever the dependence between the tests.

    Args:
        pvalues: P-values in [0, 1], shape (m,); may be empty.

    Returns:
        Adjusted p-values in the order given, at most 1.

    Raises:
        StatsError: One is outside [0, 1] or not a number.
    """
    p = sample(pvalues, "pvalues", 0)
    if ((p < 0.0) | (p > 1.0)).any():
        raise StatsError("pvalues: each must lie in [0, 1]")
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, p[order] * np.arange(p.size, 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


def z_score(estimate: Estimate, target: float) -> float:
    """Distance of an estimate from a target, as a standard normal score.

    The t-ratio with n - 1 degrees of freedom is transformed to the normal distribution by its
    probability, so scores from ten replications and from a thousand can be combined.

    Args:
        estimate: A parameter's estimate with a Student interval, n >= 2.
        target: The value that theory gives, same unit.

    Raises:
        StatsError: No finite, positive standard error.
    """
    error = estimate.standard_error
    if not (math.isfinite(error) and error > 0.0):
        raise StatsError(f"{estimate}: no spread to measure a distance by (n >= 2 is needed)")
    t = (estimate.value - target) / error
    # In the upper tail 1 - p loses all digits: use the lower tail and restore the sign.
    tail = student_upper_tail(abs(t), estimate.n - 1)
    return math.copysign(-normal_quantile(max(tail, 1e-300)), t)


def combined_z(z: ArrayLike) -> ScoreTest:
    """Stouffer's test that the scores of many fixed seeds have mean zero.

    sqrt(n) mean(z) is standard normal if theory holds: an error too small for one seed accumulates,
    and no seed needs to be chosen (Stouffer et al., The American Soldier, 1949).

    Args:
        z: One standard score per seed, independent, shape (n,), n >= 1.

    Returns:
        sqrt(n) mean(z) and its two-sided p-value.

    Raises:
        StatsError: No scores, or one that is not finite.
    """
    scores = sample(z, "z")
    statistic = math.sqrt(scores.size) * float(scores.mean())
    return ScoreTest(statistic, min(1.0, 2.0 * normal_upper_tail(abs(statistic))))


def z_spread(z: ArrayLike) -> ScoreTest:
    """Chi-square test that the scores have unit variance about zero.

    sum(z^2) is chi-square with n degrees of freedom. A large value indicates errors of both signs
    or intervals that are too narrow, a small value intervals that are too wide.

    Args:
        z: One standard score per seed, independent, shape (n,), n >= 1.

    Returns:
        sum(z^2) and its two-sided p-value.

    Raises:
        StatsError: No scores, or one that is not finite.
    """
    scores = sample(z, "z")
    statistic = float(scores @ scores)
    upper = chi_square_upper_tail(statistic, scores.size)
    lower = chi_square_lower_tail(statistic, scores.size)
    return ScoreTest(statistic, min(1.0, 2.0 * min(upper, lower)))
