"""Unpublished measurements on a real kernel with the same traffic.

Measured on Linux 6.18 with tc-tbf on veth, D-ITG 2.8.1 and iputils ping: two ``ITGSend -E 110 -e
512 -T UDP`` for 120 s and two ``ping -i 0.2`` of 570 requests, two runs. The shaper there was a
token bucket, not netem. Its burst passes at once, so a packet whose sojourn time without a bucket
would be S leaves after max(0, S - burst/rate).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DURATION_S = 120
PING_COUNT = 570
ROUNDING_MS = 0.005
"""Half a unit in the last digit of the means."""
OVERSLEEP_US = 200.0
"""Oversleep of ITGSend: asked for 110 packets/s, it sent 106.8 to 108.3, so gaps are longer by 0.2
ms."""


@dataclass(frozen=True, slots=True)
class Shaper:
    """A measured shaper.

    Attributes:
        name: Name in the measurement.
        burst_bytes: Depth of the limiting bucket.
        lines: The tc options, for the SM arm.
        mean_rtt_ms: Mean RTT of each run by arm, both senders pooled.
    """

    name: str
    burst_bytes: int
    lines: str
    mean_rtt_ms: dict[str, tuple[float, ...]]


SHAPERS = (
    Shaper(
        "tbf",
        2048,
        "tbf rate 1000kbit limit 10mb burst 2kb",
        {"SM": (85.36, 91.59), "TDM": (166.75, 180.25)},
    ),
    Shaper(
        "tbf with a peak rate",
        1599,
        "tbf rate 1mbit limit 200mb burst 32kB peakrate 1.0001mbit mtu 1600",
        {"SM": (88.37, 99.32), "TDM": (176.32, 179.78)},
    ),
)


def through_token_bucket(
    rtt_ms: NDArray[np.float64], burst_bytes: int, rate_bps: float
) -> NDArray[np.float64]:
    """Return round-trip times behind a token bucket, from those behind a FIFO of the same rate.

    Args:
        rtt_ms: Round-trip times whose base is zero, milliseconds.
        burst_bytes: Depth of the bucket.
        rate_bps: Its rate.
    """
    head_start_ms = 8e3 * burst_bytes / rate_bps
    return np.maximum(0.0, rtt_ms - head_start_ms)
