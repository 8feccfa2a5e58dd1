"""The error of the statistics, and checks of arguments."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.errors import DumbbellError

Floats: TypeAlias = NDArray[np.float64]


class StatsError(DumbbellError, ValueError):
    """An argument for which the statistic is not defined."""


def sample(values: ArrayLike, name: str, at_least: int = 1) -> Floats:
    """The values as a one-dimensional array of finite floats, with a minimum length.

    Missing values are refused and never dropped, because the mean over the runs that have a value
    is a different quantity.

    Args:
        values: Values that numpy converts to a one-dimensional array.
        name: Name of the argument in the message.
        at_least: Minimum length.

    Raises:
        StatsError: Wrong shape, too few values, or one that is not finite.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise StatsError(f"{name} has shape {array.shape}; it must be one row of numbers")
    if array.size < at_least:
        raise StatsError(f"{name} has {array.size} values; at least {at_least} are needed")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise StatsError(
            f"{name}[{bad[0]}] is {array[bad[0]]}; every value must be finite "
            f"({bad.size} of {array.size} are not)"
        )
    return array


def check_level(level: float, name: str = "level") -> float:
    """A probability strictly between 0 and 1.

    Raises:
        StatsError: The level is not strictly between 0 and 1.
    """
    if not 0.0 < level < 1.0:
        raise StatsError(f"{name} is {level}; it must lie strictly between 0 and 1, such as 0.95")
    return float(level)


def check_quantiles(q: ArrayLike) -> Floats:
    """Quantile levels as an array, each in [0, 1].

    Raises:
        StatsError: A level is outside [0, 1].
    """
    levels = np.asarray(q, dtype=np.float64)
    if not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise StatsError(f"quantile levels {levels.tolist()} are not allowed; they lie in [0, 1]")
    return levels
