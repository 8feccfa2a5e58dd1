"""Queues at which every packet is seen, before it is queued and when the device takes it.

The guest looks at two devices with packet sockets: at the queue's own, where packets show when
they have left the queue, and at a ``dummy`` that gets a copy of whatever is about to be queued.

Sources: tc(8) on ``clsact``, tc-mirred(8), packet(7).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.spec.topology import Topology

_MEAN_BYTES = 700
"""Of data and acknowledgements together."""
_FASTEST_BPS = 10_000_000_000
"""Taken where no link has a rate."""
_MORE_THAN_MEAN = 1.2
"""What a flow of random gaps sends at most, over its mean."""
_PLAIN_FIFOS = ("pfifo", "bfifo")


def watched_queues(resolved: Mapping[str, Any], topology: Topology) -> set[int]:
    """Queues at which packets are seen: those to be captured, and where their instants there do
    not follow otherwise.

    They do (guest/src/paths.rs) where a schedule of ours sends (neither TCP nor irtt), one queue of
    the way holds packets back, and nothing is lost or changes on it.
    """
    ends = [link[key] for link in resolved["links"] for key in ("forward", "reverse")]
    ways: list[tuple[list[int], bool]] = []
    for sender in [*resolved["flows"], *resolved["probes"]]:
        is_unplanned = sender.get("transport") == "tcp" or sender.get("kind") == "irtt"
        ways.append((topology.route(sender["from"], sender["to"]) or [], is_unplanned))
        if is_unplanned or "transport" not in sender:
            ways.append((topology.route(sender["to"], sender["from"]) or [], is_unplanned))
    watched = {queue for queue, end in enumerate(ends) if end["capture"]}
    for queues, is_unplanned in ways:
        holding = [queue for queue in queues if _holds(ends[queue])]
        varies = any(_varies(ends[queue]) for queue in queues)
        if is_unplanned or varies or len(holding) > 1:
            watched.update(holding)
    return watched


def most_watched_packets(resolved: Mapping[str, Any], topology: Topology) -> int:
    """The most packets that watched queues can let pass in a run, all together.

    Of what waits for acknowledgements or answers, no queue sees more than the narrowest link lets
    through of each way that leads over it; ways with the same narrowest link share it. Of other
    flows a queue can see all that they send: what is too much is dropped behind it.
    """
    watched = watched_queues(resolved, topology)
    ends = [link[key] for link in resolved["links"] for key in ("forward", "reverse")]
    rates_bps = [_rate_bps(end) for end in ends]
    through: dict[int, set[int]] = {queue: set() for queue in watched}
    sent = 0.0
    for sender in [*resolved["flows"], *resolved["probes"]]:
        is_pressed = sender.get("transport", "tcp") != "tcp"
        there = topology.route(sender["from"], sender["to"]) or []
        back = topology.route(sender["to"], sender["from"]) or []
        if is_pressed:
            sent += len(watched.intersection(there)) * _most_sent_packets(sender, resolved)
        for way in (back,) if is_pressed else (there, back):
            narrow = min((queue for queue in way if rates_bps[queue]), default=None,
                         key=lambda queue: rates_bps[queue])  # fmt: skip
            for queue in watched.intersection(way):
                through[queue].add(queue if narrow is None else narrow)
    per_s = sum(
        min(rates_bps[queue] or _FASTEST_BPS, sum(rates_bps[n] or _FASTEST_BPS for n in narrow))
        for queue, narrow in through.items()
    ) / (8 * _MEAN_BYTES)  # fmt: skip
    return int(per_s * resolved["duration_ns"] / 1e9 + sent)


def _most_sent_packets(flow: Mapping[str, Any], resolved: Mapping[str, Any]) -> float:
    """Of a flow that nothing holds back: by its mean gap, else as a fast link would carry."""
    stop_ns = flow["stop_ns"] if flow["stop_ns"] is not None else resolved["duration_ns"]
    active_s: float = max(0, stop_ns - flow["start_ns"]) / 1e9
    gap = flow["source"].get("gap") or {}
    gap_s: float = gap.get("value", gap.get("mean", 0.0))
    per_s = 1.0 / gap_s if gap_s else _FASTEST_BPS / (8 * _MEAN_BYTES)
    return _MORE_THAN_MEAN * active_s * per_s


def _rate_bps(end: Mapping[str, Any]) -> int:
    """Of a link end or of what shapes it; the fastest it changes to; 0 for none."""
    changed = (change["rate_bps"] or 0 for change in end["changes"])
    return int(max(end["rate_bps"] or end["qdisc"].get("rate_bps") or 0, *changed, 0))


def copies_name(device: str) -> str:
    """The device that gets a copy of what comes to another's queue."""
    return f"see-{device}"


def copies_lines(device: str) -> list[str]:
    """What follows ``ip`` to make that device."""
    copies = copies_name(device)
    return [f"link add {copies} type dummy", f"link set dev {copies} up"]


def _varies(end: Mapping[str, Any]) -> bool:
    """Whether what happens at a link end follows from no schedule, or changes with time."""
    return bool(end["loss"] or end["changes"]) or end["police"] is not None


def _holds(end: Mapping[str, Any]) -> bool:
    """Whether a queue may hold packets back."""
    slow = bool(end["rate_bps"]) or end["police"] is not None
    return slow or end["qdisc"]["kind"] not in _PLAIN_FIFOS
