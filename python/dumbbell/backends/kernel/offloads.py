"""Super-packets in the guest: how its devices implement a description's offloads.

| of the description | in the guest |
| --- | --- |
| `tso` | the sending device of a veth pair, `ethtool -K DEV tso on` |
| `gro = "0s"` | the receiving device, `ethtool -K DEV gro on`: it polls when frames arrive |

A veth device has no interrupts to moderate, and passes frames to GRO only if the other end segments
(`veth_skb_is_eligible_for_gro`). It merges before a link's transmission, delay and loss, which are
on an `ifb` behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell import units
from dumbbell.errors import SpecError
from dumbbell.spec.fields import OVERHEADS_BYTES


def check_offloads(resolved: Mapping[str, Any]) -> None:
    """Refuse offloads that veth devices do not implement.

    Raises:
        SpecError: The kernel cannot run it.
    """
    ends = [
        (f"links[{index}].{direction}", link[direction])
        for index, link in enumerate(resolved["links"])
        for direction in ("forward", "reverse")
    ]
    for path, end in ends:
        _check_gro(path, end)
    if not any("gro_ns" in end or "tso" in end for _, end in ends):
        return
    for path, end in ends:
        if counts_once(end):
            raise SpecError(
                f"{path}.overhead",
                f"{end['overhead_bytes']}B",
                "ethernet (14B) on the kernel where links have tso or gro: tc counts another "
                "overhead once a super-packet",
            )


def counts_once(end: Mapping[str, Any]) -> bool:
    """Whether a discipline there counts a burst's overhead once instead of once per segment.

    tc's size table does so (`__qdisc_calculate_pkt_len`); it is used if the overhead is not
    Ethernet's. A shaper or a discipline that counts bytes would then exceed its rate, and packets
    would queue at the transmitter behind it, which sees segments and has no limit.

    Args:
        end: A direction of a link, resolved.
    """
    is_counted = end["rate_bps"] or end["qdisc"]["kind"] not in ("pfifo", "bfifo")
    return bool(is_counted) and end["overhead_bytes"] != OVERHEADS_BYTES["ethernet"]


def _check_gro(path: str, end: Mapping[str, Any]) -> None:
    gathered_ns = end.get("gro_ns")
    if gathered_ns is None:
        return
    if gathered_ns:
        value = units.format_time(gathered_ns)
        allowed = "0s on the kernel: its devices raise no interrupts that could wait"
        raise SpecError(f"{path}.gro", value, allowed)
    if end["rate_bps"]:
        allowed = (
            "off on the kernel where the link has a rate, since its transmitter (netem) stands "
            'behind the device that merges; or rate = "inf" and a qdisc with a rate'
        )
        raise SpecError(f"{path}.gro", "0s", allowed)
    if end.get("tso"):
        allowed = "false on the kernel where the other end merges: veth does not then"
        raise SpecError(f"{path}.tso", True, allowed)
    if end["loss"] or any(change["loss"] for change in end["changes"]):
        allowed = "0 on the kernel where frames are merged: it would lose them behind that"
        raise SpecError(f"{path}.loss", end["loss"], allowed)
