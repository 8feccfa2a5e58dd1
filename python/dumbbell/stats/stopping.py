"""When are there enough replications? Decided so that threads cannot change the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats.errors import Floats, StatsError, check_level
from dumbbell.stats.estimate import Estimate
from dumbbell.stats.intervals import student_interval


@dataclass(frozen=True, slots=True)
class StoppingPoint:
    """After how many replications to stop, and why.

    Attributes:
        n: Replications to use, the first n in order; later ones are to be ignored.
        reason: A sentence for the report.
        precise: Whether the precision asked for was reached.
    """

    n: int
    reason: str
    precise: bool


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """ "Until this precise, at least a, at most b replications".

    The precision is looked at only at fixed numbers of replications (``at_least``, then every
    ``batch`` more, last ``at_most``) and over the first ones in replication order, whatever
    order they finished in: the result depends on neither threads nor machine. Stopping when an
    interval happens to be short makes it cover a little less than its level (Law & Kelton
    section 9.4.1; Chow & Robbins, Ann. Math. Stat. 36, 1965); looking seldom and not before
    ``at_least`` keeps that small.

    Attributes:
        at_least: Replications before the first look, at least 2 with a precision, else 1.
        at_most: Replications after which to stop in any case.
        batch: Replications between looks.
        relative_half_width: Stop when half-width / |mean| is at most this (0.01 is 1 %).
        half_width: Stop when the half-width is at most this, in the unit of the values.
        level: Level of the interval looked at.

    With neither width the rule stops at ``at_least``; with both, both must hold.
    """

    at_least: int
    at_most: int
    batch: int = 1
    relative_half_width: float | None = None
    half_width: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        """Refuse a rule that cannot be followed.

        Raises:
            StatsError: Counts out of order or a precision that is not positive.
        """
        check_level(self.level)
        least = 2 if self._has_precision else 1
        if self.at_least < least and self.at_most > 1:
            raise StatsError(f"at_least is {self.at_least}; {least} or more are needed here")
        if self.at_least < 1:
            raise StatsError(f"at_least is {self.at_least}; at least 1 replication is run")
        if self.at_most < self.at_least:
            raise StatsError(f"at_most is {self.at_most}, below at_least = {self.at_least}")
        if self.batch < 1:
            raise StatsError(f"batch is {self.batch}; at least 1 replication between looks")
        for name in ("relative_half_width", "half_width"):
            width = getattr(self, name)
            if width is not None and not width > 0.0:
                raise StatsError(f"{name} is {width}; it must be positive")

    @property
    def _has_precision(self) -> bool:
        return self.relative_half_width is not None or self.half_width is not None

    def looks(self) -> Iterator[int]:
        """The numbers of replications at which the rule looks, in order."""
        yield from range(self.at_least, self.at_most, self.batch)
        yield self.at_most

    def next_look(self, n: int) -> int | None:
        """The first look after ``n`` replications, or None when there is none."""
        return next((look for look in self.looks() if look > n), None)

    def decide(self, values: ArrayLike | Mapping[str, ArrayLike]) -> str | None:
        """Why to stop, or None to go on. See :meth:`stopping_point`."""
        point = self.stopping_point(values)
        return None if point is None else point.reason

    def stopping_point(self, values: ArrayLike | Mapping[str, ArrayLike]) -> StoppingPoint | None:
        """The first look at which to stop, from the replications finished so far.

        Args:
            values: One value per replication, in replication order and without gaps, shape
                (n,); or several quantities by name, all of which must be precise. More values
                than the look needs do not change the answer.

        Returns:
            Where and why to stop, or None when more replications are needed.

        Raises:
            StatsError: No quantity, or quantities of different lengths.
        """
        series = _series(values)
        finished = min(each.size for each in series.values())
        for look in self.looks():
            if look > finished:
                return None
            point = self._look({name: each[:look] for name, each in series.items()}, look)
            if point is not None:
                return point
        return None

    def _look(self, series: Mapping[str, Floats], n: int) -> StoppingPoint | None:
        if not self._has_precision:
            return StoppingPoint(n, f"{n} replication{'s' if n > 1 else ''}, as asked", True)
        wanting = [name for name, each in series.items() if not self._precise(each)]
        if not wanting:
            return StoppingPoint(n, f"precise enough after {n} replications: {self._asked}", True)
        if n < self.at_most:
            return None
        which = ", ".join(name for name in wanting if name)
        return StoppingPoint(
            n,
            f"stopped at {n} replications, the most allowed, before reaching {self._asked}"
            + (f" for {which}" if which else ""),
            False,
        )

    def _precise(self, values: Floats) -> bool:
        # A run without the quantity (no packet arrived) has no mean, so no precision either.
        if values.size < 2 or not np.isfinite(values).all():
            return False
        estimate: Estimate = student_interval(values, self.level)
        relative, absolute = self.relative_half_width, self.half_width
        return (relative is None or estimate.relative_half_width <= relative) and (
            absolute is None or estimate.half_width <= absolute
        )

    @property
    def _asked(self) -> str:
        parts = []
        if self.relative_half_width is not None:
            parts.append(f"±{100 * self.relative_half_width:g} %")
        if self.half_width is not None:
            parts.append(f"±{self.half_width:g}")
        return f"{' and '.join(parts)} at level {100 * self.level:g} %"


def _series(values: ArrayLike | Mapping[str, ArrayLike]) -> dict[str, Floats]:
    named = values if isinstance(values, Mapping) else {"": values}
    series = {name: np.asarray(each, dtype=np.float64) for name, each in named.items()}
    if not series:
        raise StatsError("values: no quantity to judge the precision of")
    if any(each.ndim != 1 for each in series.values()):
        raise StatsError("values: one row of numbers per quantity, one number per replication")
    if len({each.size for each in series.values()}) > 1:
        raise StatsError("values: every quantity has one value per replication; lengths differ")
    return series
