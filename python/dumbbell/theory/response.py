"""Mean window and rate of TCP under loss at a constant round-trip time.

With one loss every 1/p packets the window is periodic: it grows from its value after a reduction
until the next loss. Its mean follows in closed form. There is no queue and no other limit.
`pftk_rate_pps` includes timeouts.
"""

from __future__ import annotations

import math

from dumbbell.theory.errors import TheoryError, positive

CUBIC_C = 0.4
"""Growth of CUBIC, segments/s^3 (RFC 9438 section 5, C)."""
CUBIC_BETA = 0.7
"""Multiplicative decrease factor of CUBIC (RFC 9438 section 4.6)."""


def reno_mean_window(p: float, *, packets_per_ack: int = 1) -> float:
    """Mean window of Reno, packets: sqrt(3 / (2 b p)).

    That is 1.22/sqrt(p) when every packet is acknowledged and 0.87/sqrt(p) with delayed
    acknowledgements, for a sender that increases its window per acknowledgement and not per byte.
    Mathis, Semke, Mahdavi and Ott, "The macroscopic behavior of the TCP congestion avoidance
    algorithm", Computer Communication Review 27(3), 1997, section 2 (their table 1: periodic loss).

    Args:
        p: Losses per packet, above 0 and below 1.
        packets_per_ack: b, packets per acknowledgement; positive.

    Raises:
        TheoryError: A parameter is outside its range.
    """
    _loss_ratio(p)
    positive(packets_per_ack, "packets_per_ack", "packets")
    return math.sqrt(1.5 / (packets_per_ack * p))


def cubic_mean_window(
    p: float, rtt_s: float, *, c: float = CUBIC_C, beta: float = CUBIC_BETA
) -> float:
    """Mean window of CUBIC, packets, by RFC 9438's response function.

    AVG_W_cubic = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT/p)^(3/4) (RFC 9438 section 5, equation
    5); with its parameters 1.054 (RTT/p)^(3/4). It is valid outside the Reno-friendly region, where
    the result exceeds Reno's.

    Args:
        p: Losses per packet, above 0 and below 1.
        rtt_s: Round-trip time, s, positive.
        c: Growth, segments/s^3, positive.
        beta: Multiplicative decrease factor, above 0 and below 1.

    Raises:
        TheoryError: A parameter is outside its range.
    """
    _loss_ratio(p)
    positive(rtt_s, "rtt_s", "s")
    positive(c, "c", "segments/s^3")
    if not 0.0 < beta < 1.0:
        raise TheoryError(f"beta is {beta}; it must lie between 0 and 1")
    scale = c * (3.0 + beta) / (4.0 * (1.0 - beta))
    return float(scale**0.25 * (rtt_s / p) ** 0.75)


def pftk_rate_pps(p: float, rtt_s: float, timeout_s: float, *, packets_per_ack: int = 1) -> float:
    """Rate of Reno, packets/s, by the formula with timeouts and without a window limit.

    1 / (RTT sqrt(2 b p / 3) + T0 min(1, 3 sqrt(3 b p / 8)) p (1 + 32 p^2)). Padhye, Firoiu, Towsley
    and Kurose, "Modeling TCP throughput: a simple model and its empirical validation", SIGCOMM
    1998, equation 30. It assumes that all packets after the first loss in a round trip are lost
    too.

    Args:
        p: Losses per packet, above 0 and below 1.
        rtt_s: Round-trip time, s, positive.
        timeout_s: T0, the first retransmission timeout, s, positive.
        packets_per_ack: b, packets per acknowledgement; positive.

    Raises:
        TheoryError: A parameter is outside its range.
    """
    _loss_ratio(p)
    positive(rtt_s, "rtt_s", "s")
    positive(timeout_s, "timeout_s", "s")
    positive(packets_per_ack, "packets_per_ack", "packets")
    fast = rtt_s * math.sqrt(2.0 * packets_per_ack * p / 3.0)
    times_out = min(1.0, 3.0 * math.sqrt(3.0 * packets_per_ack * p / 8.0))
    return 1.0 / (fast + timeout_s * times_out * p * (1.0 + 32.0 * p**2))


def _loss_ratio(p: float) -> None:
    if not 0.0 < p < 1.0:
        raise TheoryError(f"p is {p} losses per packet; it must lie between 0 and 1")
