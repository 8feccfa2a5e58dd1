"""Replications of several arms, each run reduced to whatever a study says about it.

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
"""What tells arms apart: a name, or a value that says what was set."""
R = TypeVar("R")
"""What a run is reduced to."""
Quantity: TypeAlias = str | Callable[[R], float] | None
"""A number of a result: the name of its attribute, or a function of it; None where the result is
a number itself."""


@dataclass(frozen=True)
class Replications(Generic[A, R]):
    """What replications gave: replications 0 to ``n`` - 1 of every arm, without gaps.

    Attributes:
        results: Arm to one result a replication, in order.
        n: Replications of each arm.
        stopped_because: A sentence for the report.
        kept: Arm to the runs of its first replications, as many as were asked for; an arm of
            `replicate` has one run a replication, one of `replicate_groups` those of its group.
        precise: Whether the precision asked for was reached; True when none was asked for.
        interrupted: Whether somebody stopped it early.
        failed: Replications that gave no result, with the reason; those from the first failed
            one on are left out of the results.
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
        """A run that was kept; of a group its first."""
        return self.kept[arm][replication][0]

    def values(self, arm: A, quantity: Quantity[R] = None) -> Floats:
        """A quantity of each replication of an arm, in order; shape (n,).

        Values of two arms at one place belong together: they saw the same random numbers.

        Args:
            arm: Which.
            quantity: Attribute or function of a result. A function that gives k numbers makes
                shape (n, k).
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
        """Mean of A less B, paired by replication."""
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
    """What to call a quantity in a sentence."""
    if callable(quantity):
        return getattr(quantity, "__name__", "a quantity")
    return quantity or "it"
