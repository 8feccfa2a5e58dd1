"""How well runs explain several printed numbers at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dumbbell.stats._laws import chi_square_upper_tail
from dumbbell.stats.errors import Floats, StatsError


class JointFit(NamedTuple):
    """Goodness of fit of several printed numbers.

    Attributes:
        statistic: Chi-square with `freedom` degrees of freedom if the numbers are of one more run;
            infinite where runs do not differ in a direction in which a printed number does.
        freedom: Number of printed numbers.
        p_value: Probability of a larger statistic.
    """

    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Together:
    """Numbers printed of one run, and replications of that run.

    Attributes:
        values: One row per replication, one column per number, shape (n, p), n > p; normal (or the
            logarithms of log-normal numbers).
        printed: The printed numbers, shape (p,).
        spread: Standard deviation of each printed number besides that of runs, shape (p,):
            rounding, jitter of the instrument.
    """

    values: Floats
    printed: Floats
    spread: Floats


def prediction_fit(group: Together) -> JointFit:
    """Test whether several numbers of one run are those of one more replication.

    Hotelling's T-squared of one more observation: with p numbers, mean m and covariance S of n
    runs, (x - m)' (S (1 + 1/n))^-1 (x - m) (n - p) / (p (n - 1)) has the F distribution with p and
    n - p degrees of freedom if runs are normal (Anderson, An Introduction to Multivariate
    Statistical Analysis, 3rd ed., section 5.2). Correlated numbers, such as the quantiles of one
    run, count as what they are. The statistic is the chi-square of the same p-value.

    Raises:
        StatsError: There are not more replications than numbers.
    """
    n, p = group.values.shape
    if n <= p:
        raise StatsError(f"{n} replications of {p} numbers; more replications than numbers")
    from scipy.special import chdtri, fdtrc

    covariance = np.atleast_2d(np.cov(group.values, rowvar=False)) * (1.0 + 1.0 / n)
    covariance += np.diag(group.spread**2)
    away = group.printed - group.values.mean(axis=0)
    scaled = np.linalg.pinv(covariance, hermitian=True) @ away
    tolerance = 1e-9 * max(1.0, float(abs(group.printed).max()))
    if not np.allclose(covariance @ scaled, away, atol=tolerance):
        # Along a direction in which runs do not differ at all.
        return JointFit(float("inf"), p, 0.0)
    distance = float(away @ scaled)
    p_value = float(fdtrc(p, n - p, distance * (n - p) / (p * (n - 1))))
    return JointFit(float(chdtri(p, p_value)), p, p_value)


def joint_fit(groups: Sequence[Together]) -> JointFit:
    """Test whether all printed numbers of several runs are those of one more replication of each.

    Each group of numbers from one run is tested by `prediction_fit`. The source measured the groups
    in separate runs, so their chi-squares add, and their degrees of freedom (Lancaster, "The
    combination of probability: an application of orthonormal functions", Australian Journal of
    Statistics 3, 1961).

    Raises:
        StatsError: There is no group, or one has not more replications than numbers.
    """
    if not groups:
        raise StatsError("no printed numbers")
    found = [prediction_fit(each) for each in groups]
    if len(found) == 1:
        return found[0]
    statistic, freedom = sum(each.statistic for each in found), sum(each.freedom for each in found)
    return JointFit(statistic, freedom, chi_square_upper_tail(statistic, freedom))
