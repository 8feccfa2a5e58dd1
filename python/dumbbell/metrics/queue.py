"""Queues: delay, length, utilization, loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.metrics.bins import Bins, Floats, quantile_of_bins
from dumbbell.metrics.path import capacity_bits
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

__all__ = [
    "arrival_rate_pps",
    "loss_ratio",
    "mark_ratio",
    "max_sojourn_s",
    "mean_backlog_bytes",
    "mean_backlog_pkts",
    "mean_sojourn_s",
    "mean_system_pkts",
    "mean_wait_s",
    "offered_load_bps",
    "queue_length_cdf",
    "queue_length_distribution",
    "queue_length_quantile_pkts",
    "sojourn_cdf",
    "sojourn_quantile_s",
    "throughput_bps",
    "utilization",
    "utilization_bits",
    "wait_quantile_s",
]

_SECTION = "Queues"
_NS_PER_S = 1e9


def _one(run: Run, queue: str | int, column: str) -> float:
    return float(run.column("queues", column, queue=queue)[0])


@metric("s", _SECTION)
def mean_sojourn_s(run: Run, queue: str | int | Sequence[str | int]) -> float:
    """Mean time in the system, T: from a packet's arrival to the end of its transmission.

    Over the packets that arrived in the measured window and left before its end, pings included;
    over the packets of all queues together if several are given (each packet has the same weight).
    NaN without packets.
    """
    queues = [queue] if isinstance(queue, str | int) else list(queue)
    counts = np.array([_one(run, each, "sojourn_count") for each in queues])
    means = np.array([_one(run, each, "sojourn_mean_s") for each in queues])
    present = counts > 0
    if not present.any():
        return float("nan")
    return float(np.average(means[present], weights=counts[present]))


@metric("s", _SECTION)
def mean_wait_s(run: Run, queue: str | int) -> float:
    """Mean waiting time, W: a packet's sojourn time less its own transmission. NaN without any."""
    return _one(run, queue, "wait_mean_s")


@metric("s", _SECTION)
def max_sojourn_s(run: Run, queue: str | int) -> float:
    """Maximum sojourn time of packets that arrived in the measured window; exact.

    NaN without packets.
    """
    return _greatest_s(run, queue, "sojourn_max_ns")


def _greatest_s(run: Run, queue: str | int, column: str) -> float:
    longest = _one(run, queue, column)
    return longest / _NS_PER_S if longest >= 0 else float("nan")


@metric("packets", _SECTION)
def mean_system_pkts(run: Run, queue: str | int) -> float:
    """Time average of the packets in queue and transmission, N; an exact integral."""
    return _one(run, queue, "system_mean_pkts")


@metric("packets", _SECTION)
def mean_backlog_pkts(run: Run, queue: str | int) -> float:
    """Time average of the packets in the discipline, N_q; an exact integral.

    ``netem`` with a rate also holds the packet in transmission: there it equals N.
    """
    return _one(run, queue, "backlog_mean_pkts")


@metric("bytes", _SECTION)
def mean_backlog_bytes(run: Run, queue: str | int) -> float:
    """Time average of the bytes in the discipline, the backlog of ``tc -s qdisc``."""
    return _one(run, queue, "backlog_mean_bytes")


@metric("1", _SECTION)
def utilization(run: Run, queue: str | int) -> float:
    """Share of time with a packet in the system: busy time over the measured window.

    At a constant rate, and with a work-conserving discipline, it equals `utilization_bits`.
    """
    return _one(run, queue, "busy_s") / _one(run, queue, "measured_s")


@metric("1", _SECTION)
def utilization_bits(run: Run, queue: str | int) -> float:
    """Bits sent on the wire over the bits the link could have sent in the measured window.

    Changes of the rate are integrated. Zero if the rate is not limited.
    """
    return 8 * _one(run, queue, "departed_bytes") / capacity_bits(run, queue)


@metric("packets/s", _SECTION)
def arrival_rate_pps(run: Run, queue: str | int) -> float:
    """Packets offered to the queue per second, lambda; fragments and dropped packets count."""
    return _one(run, queue, "arrived_pkts") / _one(run, queue, "measured_s")


@metric("bit/s", _SECTION)
def offered_load_bps(run: Run, queue: str | int) -> float:
    """Bits offered to the queue per second, on the wire: headers and link overhead included.

    NaN if the bytes of dropped packets are not known (on the kernel, at some queues).
    """
    arrived = _one(run, queue, "arrived_bytes")
    return 8 * arrived / _one(run, queue, "measured_s") if arrived >= 0 else float("nan")


@metric("bit/s", _SECTION)
def throughput_bps(run: Run, queue: str | int) -> float:
    """Bits sent by the queue's link per second, on the wire."""
    return 8 * _one(run, queue, "departed_bytes") / _one(run, queue, "measured_s")


@metric("1", _SECTION)
def loss_ratio(run: Run, queue: str | int) -> float:
    """Packets dropped at the queue over packets offered to it. NaN if none was offered.

    Counts drops by a limit, by active queue management and by a policer. Random losses of the link
    or of netem do not count.
    """
    arrived = _one(run, queue, "arrived_pkts")
    causes = ("dropped_overlimit_pkts", "dropped_aqm_pkts", "policed_pkts")
    dropped = sum(_one(run, queue, cause) for cause in causes)
    return dropped / arrived if arrived else float("nan")


@metric("1", _SECTION)
def mark_ratio(run: Run, queue: str | int) -> float:
    """Packets marked (ECN CE) at the queue over packets sent. NaN if none was sent."""
    sent = _one(run, queue, "departed_pkts")
    return _one(run, queue, "marked_pkts") / sent if sent else float("nan")


def delay_bins(run: Run, queue: str | int, quantity: str) -> Bins:
    """Edges (seconds) and weights (packets) of a delay's histogram: low, high, weight."""

    def column(name: str) -> Floats:
        values = run.column("distributions", name, queue=queue, quantity=quantity)
        return np.asarray(values, dtype=np.float64)

    return column("low") / _NS_PER_S, column("high") / _NS_PER_S, column("weight")


@metric("s", _SECTION)
def sojourn_quantile_s(run: Run, queue: str | int, q: ArrayLike) -> Floats:
    """Quantiles of packets' sojourn times.

    From bins of 1/128 relative width, linear inside a bin: within 0.8 % of the exact quantile, and
    at most the exact maximum.

    Args:
        run: The run.
        queue: Name or index.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN without packets.
    """
    return quantile_of_bins(delay_bins(run, queue, "sojourn"), q, max_sojourn_s(run, queue))


@metric("s", _SECTION)
def wait_quantile_s(run: Run, queue: str | int, q: ArrayLike) -> Floats:
    """Quantiles of packets' waiting times, from bins like `sojourn_quantile_s`."""
    bins = delay_bins(run, queue, "wait")
    return quantile_of_bins(bins, q, _greatest_s(run, queue, "wait_max_ns"))


@metric("s, 1", _SECTION)
def sojourn_cdf(run: Run, queue: str | int) -> tuple[Floats, Floats]:
    """CDF of packets' sojourn times.

    Returns:
        Upper edges of the bins in use (s), ascending, and the value of the CDF at each.
    """
    _, high, weight = delay_bins(run, queue, "sojourn")
    return high, np.cumsum(weight) / max(float(weight.sum()), 1.0)


@metric("packets, s", _SECTION)
def queue_length_distribution(run: Run, queue: str | int) -> tuple[Floats, Floats]:
    """Time spent at each number of packets in the system; an exact integral.

    Returns:
        Queue lengths that occurred, packets, ascending, and the time at each, seconds; the times
        sum to the measured window. Lengths above 65535 count as 65536.
    """
    packets = run.column("distributions", "low", queue=queue, quantity="system")
    seconds = run.column("distributions", "weight", queue=queue, quantity="system")
    return np.asarray(packets, np.float64), np.asarray(seconds, np.float64)


@metric("packets, 1", _SECTION)
def queue_length_cdf(run: Run, queue: str | int) -> tuple[Floats, Floats]:
    """CDF of the number of packets in the system, over time.

    Returns:
        Queue lengths that occurred, packets, ascending, and the value of the CDF at each.
    """
    packets, seconds = queue_length_distribution(run, queue)
    return packets, np.cumsum(seconds) / float(seconds.sum()) if len(seconds) else seconds


@metric("packets", _SECTION)
def queue_length_quantile_pkts(run: Run, queue: str | int, q: ArrayLike) -> Floats:
    """Quantiles of the number of packets in the system, over time.

    Args:
        run: The run.
        queue: Name or index.
        q: Levels in [0, 1], any shape.

    Returns:
        An array of the shape of ``q``; NaN if the queue's length is not known.
    """
    packets, share = queue_length_cdf(run, queue)
    if not len(packets):
        return np.full(np.shape(q), np.nan)
    # Rounding of the cumulative sum must not prevent level 1 from finding the last bin.
    place = np.searchsorted(share, np.asarray(q, dtype=np.float64) - 1e-12)
    found: Floats = packets[np.minimum(place, len(packets) - 1)]
    return found
