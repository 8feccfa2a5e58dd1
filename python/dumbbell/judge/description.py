"""Building blocks of the experiments: the line that most sections share, flows, and rules.

The line has 20 Mbit/s and a base round-trip time of 40 ms, hence a bandwidth-delay product (BDP) of
100 kB. Every flow starts at a random time in the first half second, so replications differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RATE = "20mbit"
RATE_BPS = 20e6
RTT_MS = 40
BDP_BYTES = 100_000
QUEUE = "router->receiver"
LINK = f"links[{QUEUE}]"
QDISC = f"{LINK}.forward.qdisc"
BUSY = f"queue[{QUEUE}].utilization"
DROPPED = f"queue[{QUEUE}].loss_ratio"
SOJOURN = f"queue[{QUEUE}].mean_sojourn_s"
SILENT: Mapping[str, Any] = {"kind": "sized", "size": "1B"}
"""Source of a flow that is disabled: one byte, sent long before measurements start."""


def fifo(bdps: float) -> str:
    """A drop-tail queue with its limit in bandwidth-delay products of the line."""
    return f"bfifo limit {round(bdps * BDP_BYTES)}"


def bdp_words(bdps: float) -> str:
    """Such as ``0.25 BDP``."""
    return f"{bdps:g} BDP"


def line(
    *, rate: str = RATE, qdisc: str | None = None, delay: str = "20ms", **forward: Any
) -> list[dict[str, Any]]:
    """Links from sender via router to receiver; the second link is the bottleneck."""
    there = {"rate": rate, "qdisc": qdisc or fifo(1), **forward}
    return [
        {"a": "sender", "b": "router"},
        {"a": "router", "b": "receiver", "delay": delay, "forward": there},
    ]


def greedy(name: str, controller: str, **keys: Any) -> dict[str, Any]:
    """A TCP flow that always has data to send."""
    return {
        "name": name,
        "from": "sender",
        "to": "receiver",
        "start_jitter": "500ms",
        "source": {"kind": "greedy"},
        "tcp": {"congestion_control": controller},
        **keys,
    }


def at_least(share: float) -> dict[str, Any]:
    """Rule: a share is at least this."""
    return {"kind": "share", "side": "at least", "value": share}


def at_most(share: float) -> dict[str, Any]:
    """Rule: a share is at most this."""
    return {"kind": "share", "side": "at most", "value": share}


def below(bound: Any, **keys: Any) -> dict[str, Any]:
    """Rule: a number is below a value, or below the same number in another cell."""
    return {"kind": "ordering", "below": bound, **keys}


def above(bound: Any, **keys: Any) -> dict[str, Any]:
    """Rule: a number is above a value, or above the same number in another cell."""
    return {"kind": "ordering", "above": bound, **keys}
