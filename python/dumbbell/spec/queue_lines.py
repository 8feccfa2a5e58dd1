"""The ``tc`` commands of a link end, for pages and for the kernel in virtual time.

| of the description | for `tc` |
| --- | --- |
| finite `rate` | `htb` without credit, with the qdisc as its leaf; `netem rate` at the far end |
| `rate = "inf"` | the queue discipline as root |
| `police` | the action of a filter at the `clsact` egress hook, before the queue |
| `delay`, `loss` | `netem` that never drops, after the queue: on an `ifb` at the far end |
| other `overhead` | `stab overhead`, what it differs from the 14 bytes that Linux counts |
| `changes` | `tc class change` and `tc qdisc change` |

A transmitter sends one packet after the other. A token bucket with a burst of one packet does not:
it lets several smaller packets pass at once. `htb` with a burst of one byte may be overdrawn by one
packet, so it starts each packet when the previous one has ended, whatever their sizes; `netem rate`
at the far end delays a packet by its own transmission time.

Sources: tc(8), tc-htb(8), tc-netem(8), tc-stab(8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell import units
from dumbbell.spec.fields import OVERHEADS_BYTES
from dumbbell.spec.host_links import DeviceUp, HostLink, NewDevice

NS_PER_US = 1000
"""Most versions of tc read netem's delay in whole microseconds, and no ``ns``."""
NEVER_DROPS = 1_000_000_000
"""Packets: a limit that a delay never reaches."""
SHAPER_HANDLE = 1
QUEUE_HANDLE = 0x10
"""Of the discipline of the description, wherever it is."""
DELAY_HANDLE = 1

_LARGEST_PACKET_BYTES = 65_535
_ETHERNET_BYTES = OVERHEADS_BYTES["ethernet"]

End = Mapping[str, Any]
"""A direction of a link, as the resolved description has it."""


def queue_lines(end: End, device: str, *, has_discipline: bool = True) -> list[str]:
    """Arguments of ``tc`` that set up the queue of an interface.

    Args:
        end: The direction of the link.
        device: Its interface.
        has_discipline: Whether the discipline is among them, and not the shaper around it alone.
    """
    stab = _size_table(end)
    if not end["rate_bps"]:
        if not has_discipline:
            return []
        return units.qdisc_lines(end["qdisc"], device=device, handle=QUEUE_HANDLE, options=stab)
    handle = f"{SHAPER_HANDLE:x}:"
    inside = []
    if has_discipline:
        inside = units.qdisc_lines(
            end["qdisc"], device=device, parent=f"{handle}1", handle=QUEUE_HANDLE
        )
    return [
        _words(f"qdisc add dev {device} root handle {handle}", stab, "htb default 1"),
        f"class add dev {device} parent {handle} classid {handle}1 {_htb(end)}",
        *inside,
    ]


def rate_change_lines(end: End, device: str) -> list[str]:
    """Arguments of ``tc`` that change the rate of an interface's shaper to that of ``end``."""
    handle = f"{SHAPER_HANDLE:x}:"
    return [f"class change dev {device} parent {handle} classid {handle}1 {_htb(end)}"]


def is_delayed(end: End) -> bool:
    """Whether there is a delay, a loss or a rate after the queue, now or after a change."""
    later = any(change["delay_ns"] or change["loss"] for change in end["changes"])
    return bool(end["rate_bps"] or end["delay_ns"] or end["loss"] or later)


def ifb_name(device: str) -> str:
    """Name of the ``ifb`` for the ingress of a device."""
    return f"ifb-{device}"


def ifb_links(device: str) -> list[HostLink]:
    """What creates the ``ifb``."""
    ifb = ifb_name(device)
    return [NewDevice(ifb, "ifb"), DeviceUp(ifb)]


def delay_lines(end: End, device: str) -> list[str]:
    """Arguments of ``tc`` for the far end's interface that delay packets from ``end``."""
    ifb = ifb_name(device)
    root = f"qdisc add dev {ifb} root handle {DELAY_HANDLE:x}:"
    return [
        _words(root, _size_table(end), _netem(end)),
        f"qdisc add dev {device} clsact",
        f"filter add dev {device} ingress matchall action mirred egress redirect dev {ifb}",
    ]


def delay_change_lines(end: End, device: str) -> list[str]:
    """Arguments of ``tc`` for the far end's interface after a change of ``end``."""
    return [f"qdisc change dev {ifb_name(device)} root handle {DELAY_HANDLE:x}: {_netem(end)}"]


def changed(end: End, change: Mapping[str, Any]) -> dict[str, Any]:
    """The link end after a change."""
    given = {key for key in change.keys() & end.keys() if change[key] is not None}
    return {**end, **{key: change[key] for key in given}}


def egress_lines(
    end: End, device: str, *, has_hook: bool, copies_to: str | None = None
) -> list[str]:
    """Arguments of ``tc`` for the actions before the queue: policer and copies.

    Both actions are in one filter, because a second filter is not evaluated after a match.

    Args:
        end: With or without a policer.
        device: Its interface.
        has_hook: Whether the interface's ``clsact`` is there already.
        copies_to: Device that gets a copy of every packet first; none if not given.
    """
    actions = []
    if copies_to is not None:
        actions.append(f"action mirred egress mirror dev {copies_to}")
    if end["police"] is not None:
        actions.append(f"action {units.render_police(end['police'])}")
    if not actions:
        return []
    hook = [] if has_hook else [f"qdisc add dev {device} clsact"]
    return [*hook, _words(f"filter add dev {device} egress matchall", *actions)]


def _words(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _htb(end: End) -> str:
    """A transmitter as `htb` without credit: a packet starts when the previous one has ended."""
    rate = units.format_rate(end["rate_bps"])
    return f"htb rate {rate} ceil {rate} burst 1b cburst 1b quantum {_LARGEST_PACKET_BYTES}"


def _size_table(end: End) -> str:
    """What a packet's size differs from what Linux counts, the IP packet and 14 bytes."""
    more = end["overhead_bytes"] - _ETHERNET_BYTES
    return f"stab overhead {more}" if more else ""


def _netem(end: End) -> str:
    """The `netem` after the queue: delay, loss, and the transmission time of a finite rate."""
    words = [f"netem limit {NEVER_DROPS}"]
    if end["delay_ns"] or end["changes"]:
        words.append(f"delay {units.format_time(end['delay_ns'] // NS_PER_US * NS_PER_US)}")
    if end["loss"]:
        words.append(f"loss {100 * end['loss']:.10g}%")
    if end["rate_bps"]:
        words.append(f"rate {units.format_rate(end['rate_bps'])}")
    return " ".join(words)
