"""A number of a log, with an interval or the samples behind it, and what it is of over time."""

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
"""Fewest samples of a batch."""


@dataclass(frozen=True, slots=True)
class LogNumber:
    """One number.

    Attributes:
        of: Of which flow, queue or connection; empty of the whole.
        name: What it is, with its unit at the end: ``rtt_mean_ms``. Two numbers of a name have one
            definition, whatever program they are from.
        title: As one says it: ``round trip, mean``.
        unit: ``ms``, ``Mbit/s``, ``%``, ...
        value: NaN where it is not defined.
        interval: 95 %, of a mean whose samples are enough and, in batches, hardly correlated.
        samples: Behind it; None where it is a count, or the program did not say.
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
    """Something over time.

    Attributes:
        of: As of a number.
        name: As of a number, without ``_mean``.
        title: As one says it.
        unit: Of the values.
        t_s: Seconds from the first of the file, or numbers of samples where no time is known.
        values: As long as ``t_s``.
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
    """The 95 % interval of the mean of samples in their order, by batch means.

    Returns:
        None where there are fewer than ten batches of four, or the means of the batches are
        correlated (by more than chance lets independent ones be): then no honest interval can be
        had from the one log.
    """
    x = np.asarray(samples, dtype=np.float64)
    batches = min(MOST_BATCHES, len(x) // _BATCH)
    if batches < FEWEST_BATCHES or not np.isfinite(x).all() or np.ptp(x) == 0:
        return None
    try:
        if lag_one(x, batches) > 2 / math.sqrt(batches):
            return None
        found = batch_means(x, batches)
    except StatsError:  # the batches are all alike: what differs is before the first
        return None
    # The batches leave out the first few samples: where those shift the mean, it is not steady.
    return found if found.low <= x.mean() <= found.high else None


def mean_number(of: str, name: str, title: str, unit: str, samples: Floats) -> LogNumber:
    """The mean of samples in their order."""
    value = float(samples.mean()) if len(samples) else float("nan")
    return LogNumber(of, name, title, unit, value, mean_interval(samples), len(samples))


def share_number(of: str, name: str, title: str, hits: Floats) -> LogNumber:
    """The share of ones among zeros and ones in their order, per cent."""
    return mean_number(of, name, title, "%", hits * 100.0)


def percentile_numbers(
    of: str, name: str, title: str, unit: str, samples: Floats
) -> list[LogNumber]:
    """Minimum, percentiles as far as the samples reach them (R's type 7), and maximum."""
    if not len(samples):
        return []
    n = len(samples)
    found = [LogNumber(of, f"{name}_min_{unit}", f"{title}, least", unit, float(samples.min()))]
    for each in PERCENTILES:
        # Of fewer samples it is the maximum by another name.
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
    """Whole numbers that are known, times ``scale``."""
    found: Floats = values[values >= 0].astype(np.float64) * scale
    return found
