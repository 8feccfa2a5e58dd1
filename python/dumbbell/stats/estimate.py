"""An estimate: a number with its uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from dumbbell.stats._laws import student_quantile
from dumbbell.stats.errors import StatsError, check_level


class IntervalKind(StrEnum):
    """What an interval covers; the value is the name in output and files."""

    MEAN = "mean"
    RATIO = "ratio"
    DIFFERENCE = "difference"
    QUANTILE = "quantile"
    SHARE = "share"
    BATCH_MEANS = "batch means"
    PREDICTION = "prediction"
    """Of one future run."""
    BAND = "band"
    """Simultaneous, over a whole range."""
    PROFILE = "profile"
    """Of a fitted parameter, from its profile likelihood."""
    EXTREMES = "extremes"
    """From the smallest to the largest value of all runs: no level is claimed for it."""
    GEOMETRIC_MEAN = "geometric mean"
    """Of positive, skewed values: symmetrical on a logarithmic scale."""
    GEOMETRIC_RATIO = "geometric ratio"
    """Of how many times as large one side of pairs is."""
    WHOLE_GRID = "whole grid"
    """From the lowest to the highest end of the intervals of all points of a grid."""


_OF_STUDENT = frozenset(
    {
        IntervalKind.MEAN,
        IntervalKind.RATIO,
        IntervalKind.DIFFERENCE,
        IntervalKind.QUANTILE,
        IntervalKind.SHARE,
        IntervalKind.BATCH_MEANS,
    }
)
"""Intervals of a parameter built from Student's t, which can be had at another level."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A point estimate with an interval.

    Attributes:
        value: Point estimate, in the unit of what was measured.
        low: Lower end, same unit; -inf when nothing bounds it (one replication).
        high: Upper end, same unit; +inf when nothing bounds it.
        level: Probability that the interval is for, such as 0.95. For intervals by order
            statistics it is the level attained, which few replications may keep below the one
            asked.
        n: Independent pieces behind it: replications, or batches of one run. The interval has
            n - 1 degrees of freedom.
        kind: What the interval is for.
        freedom: Degrees of freedom where they are not n - 1 (Welch), else None.
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    kind: IntervalKind
    freedom: float | None = None

    def __post_init__(self) -> None:
        """Refuse an interval that is not one."""
        check_level(self.level)
        if self.n < 0:
            raise StatsError(f"n is {self.n}; it counts replications or batches")
        if self.low > self.high:
            raise StatsError(f"low {self.low} lies above high {self.high}")

    @property
    def half_width(self) -> float:
        """Half the interval's length, in the unit of the value."""
        return (self.high - self.low) / 2.0

    @property
    def relative_half_width(self) -> float:
        """Half-width over the value's magnitude, a pure number (0.01 is one per cent)."""
        if self.half_width == 0.0:
            return 0.0
        return self.half_width / abs(self.value) if self.value else math.inf

    @property
    def standard_error(self) -> float:
        """Half-width over Student's quantile with n - 1 degrees of freedom; inf for n < 2.

        Meaningful for intervals of a parameter that are built from Student's t, as all of this
        package are except predictions and shares cut at 0 or 1.
        """
        if self.n < 2:
            return math.inf
        return self.half_width / student_quantile((1.0 + self.level) / 2.0, self.degrees_of_freedom)

    @property
    def degrees_of_freedom(self) -> float:
        """Of Student's t behind the interval of a parameter."""
        return float(self.n - 1) if self.freedom is None else self.freedom

    @property
    def is_of_a_parameter(self) -> bool:
        """Whether it is the interval of a mean, ratio, quantile and so on, or of a fit."""
        return self.kind in _OF_STUDENT or self.kind is IntervalKind.PROFILE

    def at_level(self, level: float) -> Estimate:
        """The same estimate with its interval at another level, by Student's quantiles.

        Args:
            level: Coverage wanted.

        Raises:
            StatsError: It is no interval of a parameter, such as a prediction or a band, and the
                level differs.
        """
        check_level(level)
        if math.isclose(level, self.level, rel_tol=0.0, abs_tol=1e-12):
            return self
        if self.kind not in _OF_STUDENT:
            raise StatsError(f"a {self.kind.value} interval at {self.level} has no other level")
        if self.n < 2:
            return replace(self, level=level)
        freedom = self.degrees_of_freedom
        factor = student_quantile((1.0 + level) / 2.0, freedom) / student_quantile(
            (1.0 + self.level) / 2.0, freedom
        )
        low = self.value - factor * (self.value - self.low)
        return replace(
            self, low=low, high=self.value + factor * (self.high - self.value), level=level
        )

    def contains(self, x: float) -> bool:
        """Whether the closed interval holds ``x``."""
        return self.low <= x <= self.high

    def scaled(self, factor: float) -> Estimate:
        """The same estimate in another unit, for example seconds to milliseconds by 1000.

        Args:
            factor: Positive multiplier.

        Raises:
            StatsError: The factor is not positive.
        """
        if not factor > 0.0:
            raise StatsError(f"factor is {factor}; a change of unit multiplies by a positive one")
        return replace(
            self, value=self.value * factor, low=self.low * factor, high=self.high * factor
        )

    def __str__(self) -> str:
        """Value, interval, level, kind and count in one line."""
        return (
            f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] "
            f"({100 * self.level:.4g} % {self.kind}, n = {self.n})"
        )
