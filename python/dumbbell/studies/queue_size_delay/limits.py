"""The queue's size as a time, with theory."""

from __future__ import annotations

from dumbbell import theory
from dumbbell.studies.queue_size_delay import published

ALL_BYTES = {
    **published.LIMITS,
    published.LARGE: published.LARGE_BYTES,
    **published.IN_BITS,
}
"""Limit in bytes, by limit in tc syntax."""
PACKET_MS = 8e3 * published.MEAN_PAYLOAD_BYTES / published.RATE_BPS
"""Transmission time of a packet of mean size: 0.63 ms."""


def largest_delay_ms(limit_bytes: float) -> float:
    """Return the source's T = m/mu, milliseconds: wait plus transmission of a packet that just
    fits.
    """
    return 8e3 * limit_bytes / published.RATE_BPS


def law(limit: str, packets_per_second: float) -> theory.ByteLimited:
    """Return the stationary queue of the ideal source.

    Args:
        limit: Limit in tc syntax.
        packets_per_second: Rate of the source.
    """
    return theory.ByteLimited(
        packets_per_second,
        published.MEAN_PAYLOAD_BYTES,
        published.RATE_BPS,
        ALL_BYTES[limit],
        published.BURST_BYTES,
    )


def mean_ping_peak_ms(limit: str) -> float:
    """Return the mean of the largest of the ten pings, at the nominal load.

    Pings sent before the fluid has filled the queue are excluded: they are not near the peak.
    """
    queue = law(limit, published.PACKETS_PER_SECOND)
    n = published.PING_COUNT - queue.time_to_fill
    return 1e3 * queue.mean_peak_of_probes(n, published.ECHO_FRAME_BYTES)


def constant_loss(limit: str) -> float:
    """Return the loss in ten seconds with constant gaps and sizes (D/D/1).

    The bucket's burst passes first: for the fluid it adds to the queue's capacity.
    """
    room = ALL_BYTES[limit] + published.BURST_BYTES
    mu = published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    queue = theory.DD1(published.PACKETS_PER_SECOND, mu, room / published.MEAN_PAYLOAD_BYTES)
    return queue.loss_over(published.DURATION_S)
