"""Evidence for a rule: numbers per replication, by type. The rules compute the intervals.

The rule that uses an interval computes it, so a confidence interval of a mean cannot be mistaken
for a prediction interval. Only if the interval is not over replications (batch means of one long
run) does a study pass a finished :class:`dumbbell.stats.Estimate`.

All arrays are copied and made read-only. A missing number is NaN; a claim about it is *not
testable*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.stats import Band, Estimate, IntervalKind

Floats = NDArray[np.float64]
Setting: TypeAlias = Mapping[str, float | str]
"""Name of a free parameter (with its unit) to its value."""


class Pairing(StrEnum):
    """Whether replication k of both sides used the same random numbers."""

    SHARED_STREAMS = "shared streams"
    INDEPENDENT = "independent"


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """One number per replication.

    Attributes:
        values: Shape (n,), n >= 1, in the rule's unit, ordered by replication.
    """

    values: Floats

    def __init__(self, values: ArrayLike) -> None:
        """Keep a copy.

        Raises:
            ValueError: There are no values.
        """
        object.__setattr__(self, "values", _kept(values, "runs"))

    @property
    def n(self) -> int:
        """Number of replications."""
        return int(self.values.size)

    @property
    def is_complete(self) -> bool:
        """Whether every replication gave a number."""
        return bool(np.isfinite(self.values).all())


@dataclass(frozen=True, slots=True, eq=False)
class Ratio:
    """Two numbers per replication; the ratio of their means is used, never the mean of ratios.

    Attributes:
        above: Numerator, shape (n,).
        below: Denominator of the same replications, shape (n,).
    """

    above: Floats
    below: Floats

    def __init__(self, above: ArrayLike, below: ArrayLike) -> None:
        """Keep copies.

        Raises:
            ValueError: Nothing there, or different numbers of replications.
        """
        object.__setattr__(self, "above", _kept(above, "above"))
        object.__setattr__(self, "below", _kept(below, "below"))
        _same_size(self.above, self.below, "a ratio")

    @property
    def n(self) -> int:
        """Number of replications."""
        return int(self.above.size)

    @property
    def is_complete(self) -> bool:
        """Whether every replication gave both numbers, and the denominator is not zero."""
        if not (np.isfinite(self.above).all() and np.isfinite(self.below).all()):
            return False
        total = float(self.below.sum())
        # The jackknife leaves out each replication in turn.
        left_out = total - self.below
        return total != 0.0 and (self.n < 2 or bool((left_out != 0.0).all()))


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The two sides of a comparison: backends, instruments or settings.

    Attributes:
        ours: One number per replication, shape (n,).
        other: The reference, shape (m,); a relative margin is a share of its mean.
        pairing: Whether the sides share their random streams; then n = m.
    """

    ours: Floats
    other: Floats
    pairing: Pairing

    def __init__(self, ours: ArrayLike, other: ArrayLike, pairing: Pairing) -> None:
        """Keep copies.

        Raises:
            ValueError: Nothing there, or pairs of which one is missing.
        """
        object.__setattr__(self, "ours", _kept(ours, "ours"))
        object.__setattr__(self, "other", _kept(other, "other"))
        object.__setattr__(self, "pairing", pairing)
        if pairing is Pairing.SHARED_STREAMS:
            _same_size(self.ours, self.other, "pairs")

    @property
    def n(self) -> int:
        """Number of replications of the smaller side."""
        return int(min(self.ours.size, self.other.size))

    @property
    def is_complete(self) -> bool:
        """Whether every replication gave a number."""
        return bool(np.isfinite(self.ours).all() and np.isfinite(self.other).all())


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """One curve per replication over a range, such as a difference of two CDFs.

    Attributes:
        rows: Shape (n, k): one row per replication, one column per point of the range.
    """

    rows: Floats

    def __init__(self, rows: ArrayLike) -> None:
        """Keep a copy.

        Raises:
            ValueError: Not a table with at least one row and one column.
        """
        table = np.array(rows, dtype=np.float64)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(f"curves have shape {table.shape}; (replications, points), both >= 1")
        table.setflags(write=False)
        object.__setattr__(self, "rows", table)

    @classmethod
    def of_steps(cls, columns: Sequence[ArrayLike]) -> Curves:
        """Steps from each column to the next: "the larger A, the larger B" claims all positive.

        Args:
            columns: One array per setting, in order, each with one number per replication.
        """
        return cls(np.diff(np.column_stack([np.asarray(column) for column in columns]), axis=1))

    @classmethod
    def of_all_pairs(cls, columns: Sequence[ArrayLike]) -> Curves:
        """Differences between every two settings, per replication.

        Args:
            columns: One array per setting, each with one number per replication.
        """
        table = np.column_stack([np.asarray(column, dtype=np.float64) for column in columns])
        first, second = np.triu_indices(table.shape[1], k=1)
        return cls(table[:, second] - table[:, first])

    @property
    def n(self) -> int:
        """Number of replications."""
        return int(self.rows.shape[0])

    @property
    def is_complete(self) -> bool:
        """Whether every replication has a number at every point."""
        return bool(np.isfinite(self.rows).all())


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """The value of a parameter that was fitted to printed numbers.

    Attributes:
        value: The parameter's value.
        low: Lower end of its interval, or None where it was picked from settings that were tried.
        high: Upper end.
        n: Number of replications.
        p_value: Goodness of fit, or None.
        is_at_edge: Whether the interval ends at the edge of the searched range.
        kind: Kind of interval.
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 1
    p_value: float | None = None
    is_at_edge: bool = False
    kind: IntervalKind = IntervalKind.PROFILE

    @property
    def is_complete(self) -> bool:
        """Whether there is a value."""
        return math.isfinite(self.value)


E = TypeVar("E")


@dataclass(frozen=True, slots=True, eq=False)
class GridPoint(Generic[E]):
    """One setting of the free parameters and the evidence there."""

    setting: Setting
    evidence: E


@dataclass(frozen=True, slots=True, eq=False)
class Grid(Generic[E]):
    """A grid of free parameters, fixed before the run; the first point is the nominal one.

    Attributes:
        points: All points; every point names the same parameters.
    """

    points: Sequence[GridPoint[E]]

    def __post_init__(self) -> None:
        """Refuse an empty grid, or points that name different parameters.

        Raises:
            ValueError: As said.
        """
        if not self.points:
            raise ValueError("the grid is empty")
        names = self.names
        if any(tuple(point.setting) != names for point in self.points):
            raise ValueError(f"every grid point must name {', '.join(names) or 'no parameter'}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters, in order."""
        return tuple(self.points[0].setting)

    @property
    def n(self) -> int:
        """The smallest number of replications of any point."""
        return min(size_of(point.evidence) for point in self.points)

    @property
    def is_complete(self) -> bool:
        """Whether any point gave numbers; a rule over a grid checks each point by itself."""
        return any(is_complete(point.evidence) for point in self.points)


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Members of a declared ensemble, for a scenario without random input.

    Attributes:
        values: The number measured in each member, shape (n,).
        settings: For each member, its values of the unpublished parameters (without the jitter).
    """

    values: Floats
    settings: Sequence[Setting] = field(default=())

    def __init__(self, values: ArrayLike, settings: Sequence[Setting] = ()) -> None:
        """Keep a copy.

        Raises:
            ValueError: There is no member, or the number of settings differs.
        """
        object.__setattr__(self, "values", _kept(values, "members"))
        object.__setattr__(self, "settings", tuple(settings))
        if settings and len(settings) != self.values.size:
            raise ValueError(f"{self.values.size} members, {len(settings)} settings")

    @property
    def n(self) -> int:
        """Number of members."""
        return int(self.values.size)

    @property
    def is_complete(self) -> bool:
        """Whether every member gave a number."""
        return bool(np.isfinite(self.values).all())


Levels: TypeAlias = Mapping[str, Runs]
"""Name of a printed level to its runs, all from one experiment at one setting."""

Parameter: TypeAlias = Runs | Ratio | Sides | Estimate
"""Evidence about one parameter: a mean, a ratio of means, or a difference of means."""


def is_complete(evidence: object) -> bool:
    """Whether every replication gave a number, so that a rule can be applied."""
    if isinstance(evidence, Estimate):
        return math.isfinite(evidence.value) and not (
            math.isnan(evidence.low) or math.isnan(evidence.high)
        )
    if isinstance(evidence, Band):
        return bool(np.isfinite(evidence.value).all())
    if isinstance(evidence, Mapping):
        return all(is_complete(each) for each in evidence.values())
    return bool(getattr(evidence, "is_complete", False))


def size_of(evidence: object) -> int:
    """Number of replications in the evidence."""
    if isinstance(evidence, Estimate):
        # Batches of one run are not independent runs.
        return 1 if evidence.kind is IntervalKind.BATCH_MEANS else evidence.n
    if isinstance(evidence, Mapping):
        return min((size_of(each) for each in evidence.values()), default=0)
    return int(getattr(evidence, "n", 0))


def _kept(values: ArrayLike, what: str) -> Floats:
    kept = np.array(values, dtype=np.float64).ravel()
    if not kept.size:
        raise ValueError(f"{what}: no value; at least one")
    kept.setflags(write=False)
    return kept


def _same_size(a: Floats, b: Floats, what: str) -> None:
    if a.size != b.size:
        raise ValueError(f"{what}: {a.size} and {b.size} replications; they come in equal numbers")
