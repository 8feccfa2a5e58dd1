"""A number of a log with its interval or samples, and a time series of a log."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dumbbell.stats import Estimate, StatsError, batch_means, lag_one

Floats = NDArray[np.float64]

PERCENTILES = (50, 95, 99)
FEWEST_BATCHES, MOST_BATCHES = 10, 20
_BATCH = 4
"""Minimum samples in a batch."""


@dataclass(frozen=True, slots=True)
class LogNumber:
    """One number.

    Attributes:
        of: The flow, queue or connection; empty for the total.
        name: Name with its unit as suffix: ``rtt_mean_ms``. Numbers of the same name have the same
            definition, for any program.
        title: Title, such as ``round trip, mean``.
        unit: ``ms``, ``Mbit/s``, ``%``, ...
        value: Value; NaN if undefined.
        interval: 95 % interval, of a mean with enough samples and nearly uncorrelated batches.
        samples: Number of samples; None for a count, or if the program does not state it.
    """

    of: str
    name: str
    title: str
    unit: str
    value: float
    interval: Estimate | None = None
    samples: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LogSeries:
    """A time series.

    Attributes:
        of: As in `LogNumber`.
        name: As in `LogNumber`, without ``_mean``.
        title: Title.
        unit: Unit of the values.
        t_s: Seconds from the first time in the file, or sample numbers if times are unknown.
        values: Values, one for each of ``t_s``.
        is_timed: Whether ``t_s`` are seconds.
    """

    of: str
    name: str
    title: str
    unit: str
    t_s: Floats
    values: Floats
    is_timed: bool = True


def mean_interval(samples: ArrayLike) -> Estimate | None:
    """Return the 95 % interval of the mean of ordered samples, by batch means.

    Returns:
        The interval; None if there are fewer than ten batches of four, or if the batch means are
        significantly correlated: then a single log gives no valid interval.
    """
    x = np.asarray(samples, dtype=np.float64)
    batches = min(MOST_BATCHES, len(x) // _BATCH)
    if batches < FEWEST_BATCHES or not np.isfinite(x).all() or np.ptp(x) == 0:
        return None
    try:
        if lag_one(x, batches) > 2 / math.sqrt(batches):
            return None
        found = batch_means(x, batches)
    except StatsError:  # the batches are all equal: only the samples before the first batch differ
        return None
    # The batches leave out the first few samples: if those shift the mean, it is not stationary.
    return found if found.low <= x.mean() <= found.high else None


def mean_number(of: str, name: str, title: str, unit: str, samples: Floats) -> LogNumber:
    """Return the mean of ordered samples."""
    value = float(samples.mean()) if len(samples) else float("nan")
    return LogNumber(of, name, title, unit, value, mean_interval(samples), len(samples))


def share_number(of: str, name: str, title: str, hits: Floats) -> LogNumber:
    """Return the share of ones among ordered zeros and ones, per cent."""
    return mean_number(of, name, title, "%", hits * 100.0)


def percentile_numbers(
    of: str, name: str, title: str, unit: str, samples: Floats
) -> list[LogNumber]:
    """Return minimum, percentiles supported by the number of samples (R's type 7), and maximum."""
    if not len(samples):
        return []
    n = len(samples)
    found = [LogNumber(of, f"{name}_min_{unit}", f"{title}, least", unit, float(samples.min()))]
    for each in PERCENTILES:
        # With fewer samples it would equal the maximum.
        if n * (100 - each) >= 100:
            value = float(np.percentile(samples, each))
            found.append(LogNumber(of, f"{name}_p{each}_{unit}", f"{title}, {each} %", unit, value))
    found.append(
        LogNumber(of, f"{name}_max_{unit}", f"{title}, greatest", unit, float(samples.max()))
    )
    return [
        LogNumber(each.of, each.name, each.title, each.unit, each.value, samples=n)
        for each in found
    ]


def known(values: NDArray[np.int64], scale: float = 1.0) -> Floats:
    """Return the known integers, times ``scale``."""
    found: Floats = values[values >= 0].astype(np.float64) * scale
    return found
