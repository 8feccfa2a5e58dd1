"""Published values, and parameters that the source does not give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

SOURCE = (
    "Open issues in router buffer sizing, Run My Experiment on GENI, WITest Lab blog, "
    "September 2017"
)
SOURCE_URL = "https://witestlab.poly.edu/blog/"
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
"""One-way delay of the link from each kind of node towards the sink."""
SMALL_PACKETS, LARGE_PACKETS = 18, 500
"""B_s (by the rule for many flows) and B_l (by the rule of thumb), as printed in the source."""
DURATION_S = 150.0
SOURCES = 18
"""Number of source nodes in the text."""
BINARY_TREE_SOURCES = 14
"""Number of source nodes in its picture of a binary tree: 2 + 4 + 8."""
LARGE_BYTES = 100_000
"""A flow with more bytes is large."""
RTT_GROUPS_MS = {"h1": 34, "h2": 234, "h3": 534}
"""Base round-trip time of each level, by the printed delays."""
ONE_WAY_RTT_GROUPS_MS = {"h1": 17, "h2": 117, "h3": 267}
"""The same if there is a netem at one end of each link only."""
SMALL_RTT_MS = 60
"""RTT for which 200 flows, 11 per node, give about 18 packets."""
SMALL_FLOWS = 200
LARGE_RTT_MS = 121
"""RTT for which the rule of thumb gives about 500 packets; no node of the tree has it."""
MANY_FLOWS = 772
"""N of 18 = 500 / sqrt(N), if both use the same T."""

Platform = Literal["testbed", "paper"]
PLATFORMS: Mapping[Platform, str] = MappingProxyType({"testbed": SOURCE, "paper": PAPER})
"""Platforms, and where their results are printed."""


@dataclass(frozen=True, slots=True)
class PersistentLevels:
    """The published levels of one experiment with persistent flows and mice; shares from 0 to 1.

    Attributes:
        large_better_with_large: (1) Large flows that get a higher throughput with B_l.
        small_better_with_small: (2) Small flows that do better with B_s.
        large_loss: (4) Loss of the persistent flows with B_l, "2 % to 4 %"; ours is the median.
        small_without_loss_small: (5) Small flows without any loss with B_s.
        small_without_loss_large: (5) The same with B_l.
    """

    large_better_with_large: float
    small_better_with_small: float
    large_loss: float
    small_without_loss_small: float
    small_without_loss_large: float


@dataclass(frozen=True, slots=True)
class ClosedLoopLevels:
    """The published levels of one experiment with users in closed loops; shares from 0 to 1.

    Attributes:
        large_better_with_large: (6) Large flows that get a higher throughput with B_l.
        small_better_with_large: (7) Small flows that do; None where only "most" is said.
        large_without_loss_large: (9) Large flows without any loss with B_l.
        large_greatest_loss_small: (9) What a large flow loses at most with B_s.
        small_greatest_loss_small: (9) What a small flow loses at most with B_s.
    """

    large_better_with_large: float
    small_better_with_large: float | None
    large_without_loss_large: float
    large_greatest_loss_small: float
    small_greatest_loss_small: float


Levels = PersistentLevels | ClosedLoopLevels
PERSISTENT: Mapping[Platform, PersistentLevels] = MappingProxyType(
    {
        "testbed": PersistentLevels(0.80, 0.40, 0.03, 0.25, 0.75),
        "paper": PersistentLevels(0.80, 0.50, 0.03, 0.40, 0.75),
    }
)
CLOSED_LOOP: Mapping[Platform, ClosedLoopLevels] = MappingProxyType(
    {
        "testbed": ClosedLoopLevels(0.775, 0.75, 0.15, 0.25, 0.90),
        "paper": ClosedLoopLevels(0.775, None, 0.15, 0.15, 0.25),
    }
)
