"""Do a few runs fall into two groups, such as a flow that starves and one that does not?

A mean of such runs, and Student's interval of it, describe neither state. The question is asked of
five to some dozens of runs, of which perhaps one is in the other state. Hartigan's dip test
(Annals of Statistics 13, 1985) cannot answer it there: the dip of one value apart from any number
of others is as small as a sample's can be. What is looked at is the largest gap between neighbours,
over the range, beside that of samples of a normal law, which Student's interval takes for granted.

Numbers of one state may be skewed to the right (then the gap is between the greatest), or be normal
and come near zero (then their logarithms are skewed to the left). So the gap has to be the largest
on both scales, and improbable on both: `two_groups` parts no more than some 5 % of samples of
normal, uniform, log-normal and exponential laws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import Floats, sample

FEWEST = 4
"""Values; of three one gap is nearly always most of the range."""
DRAWS = 20_000
"""Normal samples that the gap is compared with; fixed, and so is their seed."""
SEED = 20261127
APART = 0.5
"""Of the mean of all, that the means of the two groups are apart at least: closer ones are told
well by a mean and its interval."""
ALONE, ON_BOTH = 0.05, (0.1, 0.025)
"""Greatest p-value of a gap: on the plain scale where there is no other (some value is zero or
less), and on the plain and on the logarithmic scale. Of samples of four laws, of 4 to 40 values,
the latter part 6 % at most. Neither scale would do alone: by their logarithms a quarter of normal
samples is parted whose standard deviation is 0.4 of the mean, without them a third of log-normal
ones."""
MOST = 500
"""Values looked at; more are their own picture."""


@dataclass(frozen=True, slots=True)
class Group:
    """Values that are near each other.

    Attributes:
        n: How many.
        mean: Of them.
        low: The least.
        high: The greatest.
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
        lower: The lesser values.
        upper: The greater ones.
        p_value: Chance of as large a gap in a sample of a normal law: of the logarithms where all
            values are positive.
    """

    lower: Group
    upper: Group
    p_value: float

    @property
    def n(self) -> int:
        """All values."""
        return self.lower.n + self.upper.n


def two_groups(x: ArrayLike) -> TwoGroups | None:
    """The two groups that values fall into, or None where one group is all that is shown.

    The values are parted at their largest gap.

    Args:
        x: One value a replication, shape (n,), finite.

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
    """Over the range, from 0 to 1, of ordered values; and how many of them are below it."""
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
