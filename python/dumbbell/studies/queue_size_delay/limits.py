"""The queue's size as a time, and the theory for it."""

from __future__ import annotations

from dumbbell import theory
from dumbbell.studies.queue_size_delay import published

ALL_BYTES = {
    **published.LIMITS,
    published.LARGE: published.LARGE_BYTES,
    **published.IN_BITS,
}
"""Limit, as typed to tc, to bytes."""
PACKET_MS = 8e3 * published.MEAN_PAYLOAD_BYTES / published.RATE_BPS
"""Time in which a packet of mean size leaves: 0.63 ms."""


def largest_delay_ms(limit_bytes: float) -> float:
    """The source's T = m/mu, milliseconds: what a packet waits that just fits, and itself."""
    return 8e3 * limit_bytes / published.RATE_BPS


def law(limit: str, packets_per_second: float) -> theory.ByteLimited:
    """The stationary queue of the ideal source.

    Args:
        limit: As typed to tc.
        packets_per_second: Of the source.
    """
    return theory.ByteLimited(
        packets_per_second,
        published.MEAN_PAYLOAD_BYTES,
        published.RATE_BPS,
        ALL_BYTES[limit],
        published.BURST_BYTES,
    )


def mean_ping_peak_ms(limit: str) -> float:
    """Mean of the greatest of the ten pings, at the nominal load.

    Pings sent before the queue has filled (as a fluid) do not count: they are not near the peak.
    """
    queue = law(limit, published.PACKETS_PER_SECOND)
    n = published.PING_COUNT - queue.time_to_fill
    return 1e3 * queue.mean_peak_of_probes(n, published.ECHO_FRAME_BYTES)


def constant_loss(limit: str) -> float:
    """Share of the packets lost in the ten seconds when gaps and sizes are constant (D/D/1).

    The bucket's burst passes first: to a fluid it is room like the queue's own.
    """
    room = ALL_BYTES[limit] + published.BURST_BYTES
    mu = published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)
    queue = theory.DD1(published.PACKETS_PER_SECOND, mu, room / published.MEAN_PAYLOAD_BYTES)
    return queue.loss_over(published.DURATION_S)
