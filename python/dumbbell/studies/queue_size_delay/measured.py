"""Measurements on a real kernel with the same commands.

Measured on Linux 6.18, `tbf` on veth, D-ITG 2.8.1, iputils ping; three runs of ten pings at each
limit, base round-trip time about 0.05 ms.
"""

from __future__ import annotations

import math
from types import MappingProxyType

SOURCE = (
    "Measured on Linux 6.18 with D-ITG 2.8.1: tbf rate 6.55mbit limit {limit} burst 10kb, "
    "ITGSend -E 2000 -e 512, ping -c 10"
)
OVERSLEEP_US = 85.0
"""Oversleep of ITGSend, measured as 80 to 100 microseconds: each gap is longer by it. Asked for
2000 packets/s, ITGSend sent 1655 to 1750 (1711 on average)."""

PING_PEAKS_MS = MappingProxyType(
    {
        "5kb": (5.79, 5.57, 5.81),
        "10kb": (12.0, 11.2, 11.4),
        "20kb": (23.8, 24.3, 23.2),
        "40kb": (48.6, 48.6, 46.0),
        "80kb": (99.0, 99.9, 98.2),
        "120kb": (149.0, 148.0, 149.0),
        "160kb": (197.0, 199.0, 199.0),
        "200kb": (249.0, 249.0, 249.0),
    }
)
"""The largest of ten round-trip times of each run, as ping printed it, by limit."""
LARGE_PEAKS_MS = (1636.0, 1232.0, 1250.0)
"""The same behind 2 mb."""
LARGE_SENT_PPS = (1729.58, 1696.28, 1685.87)
"""Packets/s in the sender's log of those runs."""
STALLED_MS = MappingProxyType({"40kb": 77.1})
"""Maximum one-way delay in the receiver's log, if far more than the queue can hold: the machine
stalled, including the sender."""
HOST_JITTER_MS = 0.1
"""Standard error of a printed round-trip time besides the traffic: base RTT and host jitter."""
IN_BITS_MS = MappingProxyType({"5kbit": 0.105, "50kbit": 7.63, "200kbit": 30.1})
"""Ping peaks with the limit in kbit, one run each."""


def rounding_ms(printed: float) -> float:
    """Return half a unit in the last digit: ping prints three significant digits from 1 ms on."""
    if printed < 1:
        return 0.0005
    return 0.5 * 10.0 ** (math.floor(math.log10(printed)) - 2)
