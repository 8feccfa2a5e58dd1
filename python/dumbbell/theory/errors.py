"""Errors of theory: an overloaded queue, parameters out of range."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.errors import DumbbellError

Floats: TypeAlias = NDArray[np.float64]
Complexes: TypeAlias = NDArray[np.complex128]


class TheoryError(DumbbellError, ValueError):
    """A parameter outside the range of validity of the formula."""


class UnstableError(TheoryError):
    """The offered load is 1 or more: the queue has no stationary state.

    Attributes:
        rho: Offered load, arrival rate times mean service time, at least 1.
    """

    def __init__(self, model: str, rho: float) -> None:
        """Name the model and the load."""
        self.rho = rho
        super().__init__(
            f"{model}: the load is rho = {rho:.6g}; with an unlimited buffer it must be below 1, "
            "or the queue grows without end and has no mean (for a limited buffer see MM1K, for "
            "the growth see DD1)"
        )


def positive(value: float, name: str, unit: str) -> float:
    """The value, finite and above 0.

    Raises:
        TheoryError: The value is not positive and finite.
    """
    if not (math.isfinite(value) and value > 0.0):
        raise TheoryError(f"{name} is {value} {unit}; it must be positive and finite")
    return float(value)


def not_negative(value: float, name: str, unit: str) -> float:
    """The value, finite and at least 0.

    Raises:
        TheoryError: The value is negative or not finite.
    """
    if not (math.isfinite(value) and value >= 0.0):
        raise TheoryError(f"{name} is {value} {unit}; it must be finite and at least 0")
    return float(value)


def stable(model: str, rho: float) -> float:
    """The load, below 1.

    Raises:
        UnstableError: The load is 1 or more.
    """
    if rho >= 1.0:
        raise UnstableError(model, rho)
    return rho


def probabilities(q: ArrayLike) -> Floats:
    """Quantile levels as an array, each in [0, 1).

    Raises:
        TheoryError: A level is outside [0, 1).
    """
    levels = np.asarray(q, dtype=np.float64)
    if not ((levels >= 0.0) & (levels < 1.0)).all():
        raise TheoryError(
            f"quantile levels {levels.tolist()} are not allowed; they lie in [0, 1): the largest "
            "possible delay is not finite"
        )
    return levels


def counts(n: ArrayLike) -> NDArray[np.int64]:
    """Numbers of packets as integers, each at least 0.

    Raises:
        TheoryError: A number is negative or not whole.
    """
    given = np.asarray(n, dtype=np.float64)
    if not (np.isfinite(given) & (given >= 0) & (given == np.floor(given))).all():
        raise TheoryError(f"n is {given.tolist()}; packets come in whole numbers from 0 on")
    return given.astype(np.int64)
