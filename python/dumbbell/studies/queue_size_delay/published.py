"""Values printed in the source, and parameters that it does not give.

"Packet delay and loss in unstable queues", WITest Lab blog, February 2016: a GENI testbed, D-ITG
traffic, a token bucket at the router, peak of ten pings read off by hand. Its figure of three runs
shows no numbers; its listing for 2 mb does.
"""

from __future__ import annotations

from types import MappingProxyType

SOURCE = (
    "The effect of queue size on packet delay in an unstable queue, Run My Experiment on GENI, "
    "WITest Lab blog, February 2016"
)

SOURCE_URL = "https://witestlab.poly.edu/blog/"

PACKETS_PER_SECOND = 2000.0
"""``-E 2000``."""
MEAN_PAYLOAD_BYTES = 512.0
"""``-e 512``."""
RATE_BPS = 6_550_000
"""``tbf rate 6.55mbit``."""
BURST_BYTES = 10_240
"""``burst 10kb``."""
RHO = 1.25
"""8.192/6.55, as printed."""
DURATION_S = 10.0
"""ITGSend's default without ``-t``."""
PING_COUNT = 10
"""``ping -c 10``, one per second."""
ECHO_FRAME_BYTES = 98
"""A ping on the wire: 56 bytes of payload, 8 ICMP, 20 IP, 14 Ethernet."""
RUNS = 3
""" "Three experiments were performed"."""

LIMITS = MappingProxyType({f"{kb}kb": 1024 * kb for kb in (5, 10, 20, 40, 80, 120, 160, 200)})
"""Eight queue sizes "in the range of 5kbits to 200kbits", read as tc's kb: bytes."""
LARGE = "2mb"
LARGE_BYTES = 2 * 1024 * 1024
"""The size of the printed command and listing: "2mb is the queue size and is 2 megabytes"."""
IN_BITS = MappingProxyType({f"{kbit}kbit": 128 * kbit for kbit in (5, 50, 200)})
"""The alternative reading: tc's kbit, 128 bytes as a size."""

LISTING_MS = MappingProxyType(
    {
        2: 1.26,
        3: 26.4,
        4: 155.0,
        5: 239.0,
        6: 314.0,
        7: 350.0,
        8: 288.0,
        9: 414.0,
        10: 525.0,
        11: 590.0,
        12: 619.0,
    }
)
"""Milliseconds printed for 2 mb, by icmp_seq. ``-c 10`` would end at 10."""
