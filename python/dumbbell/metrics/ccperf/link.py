"""Rows of the table of links: a directed link end and its queue."""

from __future__ import annotations

import numpy as np

from dumbbell.metrics.ccperf.row import FRACTION, row
from dumbbell.metrics.ccperf.series import mean, peak_rate_bps, policing_rate_bps
from dumbbell.metrics.queue import (
    loss_ratio,
    mark_ratio,
    max_sojourn_s,
    mean_sojourn_s,
    mean_system_pkts,
    throughput_bps,
)
from dumbbell.metrics.series import interval_means
from dumbbell.tables import Run

__all__ = [
    "loss_ratio_l2",
    "mark_ratio_l2",
    "max_qdisc_delay_l2",
    "max_qdisc_length_l2",
    "mean_packet_qdisc_delay_l2",
    "mean_qdisc_delay_l2",
    "mean_qdisc_length_l2",
    "mean_sending_rate_l1",
    "total_qdisc_drops_l2",
    "utilization_peak_l1",
    "utilization_policing_l1",
]


def _one(run: Run, queue: str | int, column: str) -> float:
    return float(run.column("queues", column, queue=queue)[0])


@row("ms", "link", "less", is_published=True)
def mean_qdisc_delay_l2(run: Run, queue: str | int) -> float:
    """Mean over sampling intervals of the mean sojourn time of packets that left in them.

    Intervals without departures are skipped, so packets in intervals with few departures have more
    weight. In `mean_packet_qdisc_delay_l2` all packets have the same weight.
    """
    return 1e3 * mean(interval_means(run, queue, "sojourn_s")[1])


@row("ms", "link", "less")
def mean_packet_qdisc_delay_l2(run: Run, queue: str | int) -> float:
    """Mean sojourn time of all packets that left; exact."""
    return 1e3 * mean_sojourn_s(run, queue)


@row("ms", "link", "less")
def max_qdisc_delay_l2(run: Run, queue: str | int) -> float:
    """Greatest sojourn time of any packet; exact."""
    return 1e3 * max_sojourn_s(run, queue)


@row("packets", "link", "less", is_published=True)
def mean_qdisc_length_l2(run: Run, queue: str | int) -> float:
    """Time average of the packets in the queue, the one in transmission included; exact."""
    return mean_system_pkts(run, queue)


@row("packets", "link", "less")
def max_qdisc_length_l2(run: Run, queue: str | int) -> float:
    """Most packets in the queue at any instant; exact. NaN where the queue is not observed."""
    most = _one(run, queue, "system_max_pkts")
    return most if most >= 0 else float("nan")


@row("Mbit/s", "link", "greater", is_published=True)
def mean_sending_rate_l1(run: Run, queue: str | int) -> float:
    """Bits sent per second, headers and the link's overhead included; exact."""
    return 1e-6 * throughput_bps(run, queue)


@row("packets", "link", "less", is_published=True)
def total_qdisc_drops_l2(run: Run, queue: str | int) -> float:
    """Packets dropped by the queue, for whatever reason, and by a policer before it."""
    causes = ("dropped_overlimit_pkts", "dropped_aqm_pkts", "policed_pkts")
    return float(np.sum([_one(run, queue, cause) for cause in causes]))


@row("1", "link", "less", bounds=FRACTION)
def loss_ratio_l2(run: Run, queue: str | int) -> float:
    """Packets dropped over packets offered."""
    return loss_ratio(run, queue)


@row("1", "link", bounds=FRACTION)
def mark_ratio_l2(run: Run, queue: str | int) -> float:
    """Packets marked (ECN CE) over packets sent."""
    return mark_ratio(run, queue)


@row("1", "link", "greater")
def utilization_peak_l1(run: Run, queue: str | int) -> float:
    """Bits sent over those that the peak rate allows."""
    return throughput_bps(run, queue) / peak_rate_bps(run, run.queue(queue))


@row("1", "link", "greater")
def utilization_policing_l1(run: Run, queue: str | int) -> float:
    """Bits sent over those that the policing rate allows.

    The initial burst of a full bucket can make it exceed one.
    """
    return throughput_bps(run, queue) / policing_rate_bps(run, run.queue(queue))
