"""Replications of several arms, with each run reduced to a result.

One replication is every arm run once with the same replication number, hence the same random
arrivals where flows have the same names (common random numbers). The number of replications is
decided at fixed counts and in replication order, so neither the number of threads nor which run
happens to end first changes the result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dumbbell.backends import Failure
from dumbbell.errors import DumbbellError
from dumbbell.stats import Estimate, difference_interval, ratio_interval, student_interval
from dumbbell.tables import Run

Floats = NDArray[np.float64]
A = TypeVar("A", bound=Hashable)
"""The key of an arm: a name, or a value with its settings."""
R = TypeVar("R")
"""The result of a run."""
Quantity: TypeAlias = str | Callable[[R], float] | None
"""A number of a result: the name of its attribute, or a function of it; None where the result is
a number itself."""


@dataclass(frozen=True)
class Replications(Generic[A, R]):
    """Results of replications 0 to ``n`` - 1 of every arm, without gaps.

    Attributes:
        results: Results of each arm, one per replication, in order.
        n: Replications of each arm.
        stopped_because: A sentence for the report.
        kept: The kept runs of each arm's first replications; an arm of `replicate` has one run a
            replication, one of `replicate_groups` those of its group.
        precise: Whether the requested precision was reached; True if none was requested.
        interrupted: Whether it was interrupted.
        failed: Replications without a result, with the reason; the results end before the first
            failed one.
    """

    results: Mapping[A, tuple[R, ...]]
    n: int
    stopped_because: str
    kept: Mapping[A, tuple[tuple[Run, ...], ...]] = field(default_factory=dict)
    precise: bool = True
    interrupted: bool = False
    failed: tuple[Failure, ...] = ()

    @property
    def arms(self) -> list[A]:
        """The arms, in the order given."""
        return list(self.results)

    def of(self, arm: A) -> tuple[R, ...]:
        """Results of an arm, in replication order."""
        return self.results[arm]

    def first(self, arm: A) -> R:
        """Result of replication 0 of an arm."""
        return self.results[arm][0]

    def run(self, arm: A, replication: int = 0) -> Run:
        """A kept run; for a group its first."""
        return self.kept[arm][replication][0]

    def values(self, arm: A, quantity: Quantity[R] = None) -> Floats:
        """A quantity of each replication of an arm, in order; shape (n,).

        Values of two arms with the same index are paired: they used the same random numbers.

        Args:
            arm: The arm.
            quantity: Attribute or function of a result. A function with k numbers gives shape (n,
                k).
        """
        return np.array([value_of(each, quantity) for each in self.of(arm)], dtype=np.float64)

    def across(self, arms: Sequence[A], quantity: Quantity[R] = None) -> Floats:
        """A quantity of replication 0 of several arms, such as the members of an ensemble."""
        firsts = [value_of(self.first(arm), quantity) for arm in arms]
        return np.array(firsts, dtype=np.float64)

    def estimate(self, arm: A, quantity: Quantity[R] = None, level: float = 0.95) -> Estimate:
        """Mean of a quantity with Student's interval over the replications."""
        return student_interval(self.values(arm, quantity), level)

    def difference(self, a: A, b: A, quantity: Quantity[R] = None, level: float = 0.95) -> Estimate:
        """Mean of A - B, paired by replication."""
        return difference_interval(self.values(a, quantity), self.values(b, quantity), level=level)

    def ratio(self, a: A, b: A, quantity: Quantity[R] = None, level: float = 0.95) -> Estimate:
        """Mean of A over mean of B, paired by replication."""
        return ratio_interval(self.values(a, quantity), self.values(b, quantity), level=level)


def value_of(result: R, quantity: Quantity[R]) -> float:
    """A quantity of one result.

    Raises:
        DumbbellError: The result has no attribute of that name.
    """
    if callable(quantity):
        return quantity(result)
    if quantity is None:
        return result  # type: ignore[return-value]  # by the caller's word a number
    if not hasattr(result, quantity):
        there = getattr(result, "__dataclass_fields__", ())
        known = f"; there are {', '.join(there)}" if there else ""
        raise DumbbellError(f"{quantity!r} is no quantity of a {type(result).__name__}{known}")
    return getattr(result, quantity)  # type: ignore[no-any-return]


def name_of(quantity: Quantity[R]) -> str:
    """The name of a quantity in a message."""
    if callable(quantity):
        return getattr(quantity, "__name__", "a quantity")
    return quantity or "it"
