"""Exact means over successive intervals, from the cumulative counters in the samples."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dumbbell.errors import DumbbellError
from dumbbell.metrics.path import NS_PER_S, capacity_bits, resolved_of
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

__all__ = [
    "batch_means_series",
    "interval_means",
    "time_to_rate_s",
]

_SECTION = "Series"
Floats = NDArray[np.float64]
SeriesOf = Literal["system_pkts", "sojourn_s", "throughput_bps", "drop_rate_pps"]
# Numerator and denominator of each mean: columns of cumulative counters, or the time.
_PARTS: dict[SeriesOf, tuple[str, str, float]] = {
    "system_pkts": ("system_integral_pkt_s", "t_s", 1.0),
    "sojourn_s": ("sojourn_sum_s", "departed_pkts", 1.0),
    "throughput_bps": ("departed_bytes", "t_s", 8.0),
    "drop_rate_pps": ("dropped_pkts", "t_s", 1.0),
}


@metric("s, that of the quantity", _SECTION)
def interval_means(
    run: Run, queue: str | int, of: SeriesOf, *, from_start: bool = False
) -> tuple[Floats, Floats]:
    """Mean of a quantity in each sampling interval of a queue.

    ``system_pkts`` is the time average of packets in the system; ``sojourn_s`` the mean sojourn
    time of the packets that left in the interval (NaN when none did); ``throughput_bps`` bits sent
    on the wire and ``drop_rate_pps`` packets dropped per second.

    Args:
        run: A run with ``sample_interval``.
        queue: Name or index.
        of: The quantity.
        from_start: Whether to include the warm-up.

    Returns:
        Ends of the intervals (s from the run's start) and the means, both of shape (intervals,).

    Raises:
        DumbbellError: The run has no samples.
    """
    t_s, over, under = _totals(run, queue, of)
    if not from_start:
        warm_up_s = resolved_of(run).warm_up_ns / NS_PER_S
        keep = t_s >= warm_up_s
        t_s, over, under = t_s[keep], over[keep], under[keep]
    return t_s[1:], _ratio(np.diff(over), np.diff(under))


@metric("that of the quantity", _SECTION)
def batch_means_series(
    run: Run, queue: str | int, of: SeriesOf = "sojourn_s", *, n_batches: int = 32
) -> Floats:
    """Means over equal batches of the measured window, for `dumbbell.stats.batch_means`.

    Each batch is a whole number of sampling intervals; the remainder at the front is dropped.
    For ``sojourn_s`` a batch's mean is over the packets that left in it (NaN when none did).

    Args:
        run: A run with ``sample_interval``.
        queue: Name or index.
        of: The quantity, as `interval_means` defines it.
        n_batches: Number of batches.

    Returns:
        Shape (n_batches,).

    Raises:
        DumbbellError: There are fewer sampling intervals than batches.
    """
    t_s, over, under = _totals(run, queue, of)
    keep = t_s >= resolved_of(run).warm_up_ns / NS_PER_S
    over, under = over[keep], under[keep]
    width = (len(over) - 1) // n_batches
    if width < 1:
        raise DumbbellError(
            f"{len(over) - 1} sampling intervals after the warm-up do not make {n_batches} "
            "batches: sample more often (sample_interval) or run for longer"
        )
    marks = np.arange(n_batches + 1) * width + (len(over) - 1 - n_batches * width)
    return _ratio(np.diff(over[marks]), np.diff(under[marks]))


@metric("s", _SECTION)
def time_to_rate_s(run: Run, queue: str | int, share: float = 0.9) -> float:
    """Time at which a queue's link first carries a share of its rate, since the run's start.

    It is the end of the first sampling interval, warm-up included, in which the link carries that
    share; so it is late by at most one sampling interval. The rate is the capacity of the link in
    the measured window (`capacity_bits`) over its length.

    Args:
        run: A run with ``sample_interval``.
        queue: Name or index.
        share: Above 0, at most 1.

    Returns:
        NaN if the share is never reached, or the link has no rate.

    Raises:
        DumbbellError: The run has no samples.
        ValueError: The share is out of range.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share: {share}; above 0, at most 1")
    ends_s, throughput_bps = interval_means(run, queue, "throughput_bps", from_start=True)
    described = resolved_of(run)
    measured_s = (described.duration_ns - described.warm_up_ns) / NS_PER_S
    reached = throughput_bps >= share * capacity_bits(run, queue) / measured_s
    return float(ends_s[np.argmax(reached)]) if reached.any() else float("nan")


def _totals(run: Run, queue: str | int, of: SeriesOf) -> tuple[Floats, Floats, Floats]:
    """Sampling times and the two cumulative counters whose increments give the mean, from t = 0."""
    numerator, denominator, factor = _PARTS[of]

    def column(name: str) -> Floats:
        values = run.column("queue_samples", name, queue=queue)
        return np.concatenate(([0.0], values.astype(np.float64)))

    t_s = column("t_ns") / NS_PER_S
    if len(t_s) < 2:
        raise DumbbellError("this run has no samples: give it a sample_interval")
    under = t_s if denominator == "t_s" else column(denominator)
    return t_s, factor * column(numerator), under


def _ratio(over: Floats, under: Floats) -> Floats:
    out: Floats = np.full(over.shape, np.nan)
    np.divide(over, under, out=out, where=under > 0)
    return out
