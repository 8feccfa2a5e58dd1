"""A number and its uncertainty, never one without the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dumbbell.stats._laws import student_quantile
from dumbbell.stats.errors import StatsError, check_level


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
        kind: What the interval is for: ``mean``, ``ratio``, ``difference``, ``quantile``,
            ``share``, ``batch means`` (all of a parameter), ``prediction`` (of one future run),
            ``band`` (simultaneous).
    """

    value: float
    low: float
    high: float
    level: float
    n: int
    kind: str

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
        return self.half_width / student_quantile((1.0 + self.level) / 2.0, self.n - 1)

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
        return Estimate(
            self.value * factor,
            self.low * factor,
            self.high * factor,
            self.level,
            self.n,
            self.kind,
        )

    def __str__(self) -> str:
        """Value, interval, level, kind and count in one line."""
        return (
            f"{self.value:.4g} [{self.low:.4g}, {self.high:.4g}] "
            f"({100 * self.level:.4g} % {self.kind}, n = {self.n})"
        )
