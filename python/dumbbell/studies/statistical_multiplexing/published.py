"""What the source prints, and what it leaves open.

F. Fund, "Reproducing 'one fast queue or many slow ones': statistical multiplexing gain in
queues", witestlab.poly.edu blog, February 2016: a GENI testbed, D-ITG traffic, `netem rate` at
the router, one run.
"""

from __future__ import annotations

from types import MappingProxyType

SOURCE = (
    "F. Fund, Statistical multiplexing gain in queues (one fast server or many slow servers), "
    "Run My Experiment on GENI, WITest Lab blog, February 2016"
)
TEXTBOOK = "Bertsekas and Gallager, Data Networks, 2nd ed., example 3.9"

PACKETS_PER_SECOND = 110.0
"""Asked of each ITGSend: ``-E 110``."""
MEAN_PAYLOAD_BYTES = 512.0
"""Asked of each ITGSend: ``-e 512``."""
STREAM_RATE_BPS = 500_000
"""The share of the router's rate that each stream has, in both arms."""
DURATION_S = 600
"""``-t 600000``."""
PING_INTERVAL_S = 0.2
"""``ping -i 0.2``."""
PING_COUNT = 1000
"""``ping -c 1000``: the first 200 s of the run."""
ECHO_FRAME_BYTES = 98
"""A ping on the wire: 56 bytes of payload, 8 ICMP, 20 IP, 14 Ethernet."""

ARMS = ("SM", "TDM")
"""Statistical multiplexing (one fast queue) and time division (one slow queue a stream)."""

RTT_QUANTILES = MappingProxyType({"p25": 0.25, "p50": 0.50, "p75": 0.75, "max": 1.0})
"""The row of ``quantile(rtt, probs=c(0.25, 0.5, 0.75, 1.0))``, both senders pooled."""

RTT_MS = MappingProxyType(
    {
        "SM": MappingProxyType({"p25": 2.520, "p50": 7.595, "p75": 15.600, "max": 110.0}),
        "TDM": MappingProxyType({"p25": 3.38, "p50": 13.90, "p75": 30.40, "max": 193.0}),
    }
)
"""Round-trip times as printed, milliseconds."""

MEAN_RATIO = 0.546
"""Mean delay of SM over that of TDM. The text says "0.546 %"; it is a ratio (the printed
quartiles have ratios of 0.75, 0.55 and 0.51)."""
