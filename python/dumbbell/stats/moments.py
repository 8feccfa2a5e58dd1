"""Count, mean and variance, merged over parts without the values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import StatsError


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, mean and sum of squared deviations, as Welford's algorithm keeps them.

    Welford, "Note on a method for calculating corrected sums of squares and products",
    Technometrics 4, 1962.

    Attributes:
        count: Number of values.
        mean: Their mean; 0 without values.
        m2: Sum of squared deviations from the mean.
    """

    count: int = 0
    mean: float = 0.0
    m2: float = 0.0

    @classmethod
    def of(cls, values: ArrayLike) -> Moments:
        """Moments of an array of any shape, all finite.

        Raises:
            StatsError: A value is not finite.
        """
        array = np.asarray(values, dtype=np.float64).ravel()
        if not np.isfinite(array).all():
            raise StatsError("values: every one must be finite")
        if array.size == 0:
            return cls()
        mean = float(array.mean())
        return cls(int(array.size), mean, float(((array - mean) ** 2).sum()))

    @classmethod
    def from_sd(cls, count: int, mean: float, sd: float) -> Moments:
        """From a table's count, mean and sample standard deviation (divisor count - 1).

        A row without values (count 0, mean and sd NaN) gives empty moments, and one value
        (sd NaN) has no spread.
        """
        if count == 0:
            return cls()
        return cls(count, mean, 0.0 if count == 1 else sd * sd * (count - 1))

    def merge(self, other: Moments) -> Moments:
        """Moments of both parts together (Chan, Golub & LeVeque, 1979)."""
        count = self.count + other.count
        if count == 0:
            return self
        step = other.mean - self.mean
        mean = self.mean + step * other.count / count
        m2 = self.m2 + other.m2 + step * step * self.count * other.count / count
        return Moments(count, mean, m2)

    @property
    def variance(self) -> float:
        """Sample variance, divisor count - 1; NaN below two values."""
        return self.m2 / (self.count - 1) if self.count > 1 else math.nan

    @property
    def sd(self) -> float:
        """Sample standard deviation; NaN below two values."""
        return math.sqrt(self.variance) if self.count > 1 else math.nan


def merge_moments(*parts: Moments) -> Moments:
    """Moments of any number of parts together."""
    return reduce(Moments.merge, parts, Moments())
