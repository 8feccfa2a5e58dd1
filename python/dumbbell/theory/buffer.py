"""How large a router's buffer should be: the rule of thumb and the rule for many flows."""

from __future__ import annotations

import math

from dumbbell.theory.errors import positive


def bandwidth_delay_packets(rate_bps: float, rtt_s: float, packet_bytes: float) -> float:
    """The rule of thumb, packets: B = C T.

    Villamizar and Song, "High performance TCP in ANSNET", Computer Communication Review 24(5),
    1994: one flow that halves its window keeps the link busy from a buffer of a bandwidth-delay
    product.

    Args:
        rate_bps: C, of the bottleneck, bit/s, positive.
        rtt_s: T, round-trip time without queues, s, positive.
        packet_bytes: Of a full packet on the link, positive.

    Raises:
        TheoryError: A parameter is outside its range.
    """
    positive(rate_bps, "rate_bps", "bit/s")
    positive(rtt_s, "rtt_s", "s")
    positive(packet_bytes, "packet_bytes", "bytes")
    return rate_bps * rtt_s / (8 * packet_bytes)


def many_flows_packets(rate_bps: float, rtt_s: float, packet_bytes: float, flows: float) -> float:
    """The rule for many flows, packets: B = C T / sqrt(N).

    Appenzeller, Keslassy and McKeown, "Sizing router buffers", SIGCOMM 2004, section 3: the windows
    of N flows that are not in step add up to a sum whose swing shrinks with sqrt(N).

    Args:
        rate_bps: C, bit/s, positive.
        rtt_s: T, s, positive.
        packet_bytes: Of a full packet on the link, positive.
        flows: N, long flows at the link, positive.

    Raises:
        TheoryError: A parameter is outside its range.
    """
    positive(flows, "flows", "flows")
    return bandwidth_delay_packets(rate_bps, rtt_s, packet_bytes) / math.sqrt(flows)
