"""Detect runs that fall into two groups, such as runs in which a flow starves and others.

The mean of such runs, and its Student interval, describe neither state. The test is for five to
some dozens of runs, of which possibly a single one is in the other state. Hartigan's dip test
(Annals of Statistics 13, 1985) has no power there: the dip of a sample with one outlier is the
smallest possible. This test compares the largest gap between neighbouring values, relative to the
range, with that of samples from a normal distribution, which Student's interval assumes.

Values of a single group may be skewed to the right (then the largest gap is among the largest
values), or normal and close to zero (then their logarithms are skewed to the left). The gap must
therefore be the largest, and improbable, on the linear and on the logarithmic scale: `two_groups`
splits at most about 5 % of samples from normal, uniform, log-normal and exponential distributions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import Floats, sample

FEWEST = 4
"""Minimum number of values; with three, one gap is nearly always most of the range."""
DRAWS = 20_000
"""Number of simulated normal samples; their seed is fixed."""
SEED = 20261127
APART = 0.5
"""Minimum distance of the two group means, relative to the overall mean: a mean and its interval
describe closer groups well enough."""
ALONE, ON_BOTH = 0.05, (0.1, 0.025)
"""Largest p-values of a gap: on the linear scale if it is the only one (some value is not
positive); and on the linear and the logarithmic scale. The latter split at most 6 % of samples of 4
to 40 values from the four distributions. One scale alone would not suffice: the logarithmic scale
splits a quarter of normal samples with a standard deviation of 0.4 of the mean, the linear scale a
third of log-normal samples."""
MOST = 500
"""Maximum number of values; a larger sample should be plotted."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of neighbouring values.

    Attributes:
        n: Number of values.
        mean: Their mean.
        low: The smallest.
        high: The largest.
    """

    n: int
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Group:
        """The group of these values."""
        ends = float(values.min()), float(values.max())
        return cls(int(values.size), float(values.mean()), *ends)


@dataclass(frozen=True, slots=True)
class TwoGroups:
    """Runs that fall into two groups.

    Attributes:
        lower: The group of smaller values.
        upper: The group of larger values.
        p_value: Probability of a gap this large in a normal sample: on the logarithmic scale if all
            values are positive.
    """

    lower: Group
    upper: Group
    p_value: float

    @property
    def n(self) -> int:
        """Number of values in both groups."""
        return self.lower.n + self.upper.n


def two_groups(x: ArrayLike) -> TwoGroups | None:
    """Split the values into two groups, or return None if there is no evidence for two groups.

    The values are split at their largest gap.

    Args:
        x: One value per replication, shape (n,), finite.

    Raises:
        StatsError: No values, or one that is not finite.
    """
    values = np.sort(sample(x, "x"))
    n = values.size
    if not FEWEST <= n <= MOST or not values[-1] > values[0]:
        return None
    gap, place = _largest_gap(values)
    p_value = _p_value(gap, n)
    most = ALONE
    if values[0] > 0.0:
        of_logs, same_place = _largest_gap(np.log(values))
        if same_place != place or p_value > ON_BOTH[0]:
            return None
        p_value, most = _p_value(of_logs, n), ON_BOTH[1]
    lower, upper = Group.of(values[:place]), Group.of(values[place:])
    is_material = upper.mean - lower.mean > APART * abs(float(values.mean()))
    return TwoGroups(lower, upper, p_value) if p_value <= most and is_material else None


def _largest_gap(ordered: Floats) -> tuple[float, int]:
    """The largest gap of ordered values relative to their range, and the number of values below
    it."""
    gaps = np.diff(ordered)
    below = int(gaps.argmax()) + 1
    return float(gaps[below - 1] / (ordered[-1] - ordered[0])), below


def _p_value(gap: float, n: int) -> float:
    gaps = _gaps_of_normal(n)
    return float((1 + np.count_nonzero(gaps >= gap)) / (1 + gaps.size))


@lru_cache(maxsize=32)
def _gaps_of_normal(n: int) -> Floats:
    drawn = np.sort(np.random.default_rng(SEED).normal(size=(DRAWS, n)), axis=1)
    gaps: Floats = np.diff(drawn, axis=1).max(axis=1) / (drawn[:, -1] - drawn[:, 0])
    return gaps
