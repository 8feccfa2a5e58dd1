"""Values printed in the source, and parameters that it does not give.

F. Fund, "Reproducing 'one fast queue or many slow ones': statistical multiplexing gain in
queues", witestlab.poly.edu blog, February 2016: a GENI testbed, D-ITG traffic, `netem rate` at
the router, one run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SOURCE = (
    "F. Fund, Statistical multiplexing gain in queues (one fast server or many slow servers), "
    "Run My Experiment on GENI, WITest Lab blog, February 2016"
)
SOURCE_URL = "https://witestlab.poly.edu/blog/"
TEXTBOOK = "Bertsekas and Gallager, Data Networks, 2nd ed., example 3.9"

PACKETS_PER_SECOND = 110.0
"""Requested of each ITGSend: ``-E 110``."""
MEAN_PAYLOAD_BYTES = 512.0
"""Requested of each ITGSend: ``-e 512``."""
STREAM_RATE_BPS = 500_000
"""Share of the router's rate of each stream, in both arms."""
DURATION_S = 600
"""``-t 600000``."""
PING_INTERVAL_S = 0.2
"""``ping -i 0.2``."""
PING_COUNT = 1000
"""``ping -c 1000``: the first 200 s of the run."""
ECHO_FRAME_BYTES = 98
"""A ping on the wire: 56 bytes of payload, 8 ICMP, 20 IP, 14 Ethernet."""

ARMS = ("SM", "TDM")
"""Statistical multiplexing (one fast queue) and time division (one slow queue per stream)."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number of ``quantile(rtt, probs=c(0.25, 0.5, 0.75, 1.0))``, both senders pooled.

    Attributes:
        arm: One of `ARMS`.
        name: R's column heading, such as ``p25``.
        level: Level of the quantile; 1 for the maximum.
        ms: As printed, milliseconds.
    """

    arm: str
    name: str
    level: float
    ms: float

    @property
    def rounding_ms(self) -> float:
        """Return half a unit in the last digit; ping prints three significant digits from 1 ms."""
        return 0.5 * 10.0 ** (math.floor(math.log10(self.ms)) - 2)

    @property
    def what(self) -> str:
        """Return a phrase that completes a sentence: ``maximum``, ``25th percentile``."""
        return "maximum" if self.level == 1.0 else f"{100 * self.level:g}th percentile"


RTT = tuple(
    Printed(arm, "max" if level == 1.0 else f"p{100 * level:g}", level, ms)
    for arm, row in (("SM", (2.520, 7.595, 15.600, 110.0)), ("TDM", (3.38, 13.90, 30.40, 193.0)))
    for level, ms in zip((0.25, 0.50, 0.75, 1.0), row, strict=True)
)
"""Every printed round-trip time."""
QUARTILES = tuple(each for each in RTT if each.level < 1.0)
"""The printed values that the load is fitted to."""

MEAN_RATIO = 0.546
"""Mean delay of SM over that of TDM. The text says "0.546 %"; it is a ratio (the printed
quartiles have ratios of 0.75, 0.55 and 0.51)."""
MEAN_RATIO_ROUNDING = 0.0005
