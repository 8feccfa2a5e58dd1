"""What the source says, and what it leaves out."""

from __future__ import annotations

SOURCE = (
    "Open issues in router buffer sizing, Run My Experiment on GENI, WITest Lab blog, "
    "September 2017"
)
PAPER = (
    'A. Dhamdhere and C. Dovrolis, "Open issues in router buffer sizing", SIGCOMM Computer '
    "Communication Review 36(1), 2006, figures by ns-2"
)
BOTH = f"{SOURCE}; {PAPER}"

BOTTLENECK_BPS = 50_000_000
LINK_BPS = 100_000_000
DELAYS_MS = {
    "sink": 2,
    "bottleneck": 5,
    "h1": 10,
    "h2": 100,
    "h3": 150,
}
"""One way, of the link from each kind of node towards the sink."""
SMALL_PACKETS, LARGE_PACKETS = 18, 500
"""B_s (by the rule for many flows) and B_l (by the rule of thumb), as the source has them."""
DURATION_S = 150
SOURCES = 18
"""Source nodes by the text; its picture of a binary tree has 2 + 4 + 8 = 14."""
LARGE_BYTES = 100_000
"""A large flow has more."""
RTT_GROUPS_MS = {"h1": 34, "h2": 234, "h3": 534}
"""Base round-trip time of each level, by the delays printed."""
LARGE_RTT_MS = 121
"""With which the rule of thumb gives about 500 packets; no node of the tree has it."""
MANY_FLOWS = 772
"""N of 18 = 500 / sqrt(N)."""
