"""``dualpi2`` on kernels that have it: what is refused, and who sets it up.

The guest sets it up over netlink (``guest/src/dualpi2.rs``), since the host's ``tc`` may not know
it, and kernels of the L4S team number its options otherwise than Linux.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dumbbell.backends.kernel.capabilities import Dualpi2Options
from dumbbell.errors import SpecError
from dumbbell.spec.fields import OVERHEADS_BYTES
from dumbbell.spec.queue_lines import SHAPER_HANDLE

KIND: Final = "dualpi2"
_LEAST_OF_STEP_PKTS = 2
"""Before Linux had it, the step marked a packet only if it came to an L queue that held two
(net/sched/sch_dualpi2.c of the L4S team, in their trees of 2020 and 2022).
"""
_TC_H_ROOT = 0xFFFF_FFFF


def disciplines(qdisc: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The discipline and all disciplines inside it."""
    yield qdisc
    inside = [qdisc.get("child"), *qdisc.get("children", ())]
    inside += [each["child"] for each in qdisc.get("classes", ())]
    for child in inside:
        if child:
            yield from disciplines(child)


def check_dualpi2(path: str, end: Mapping[str, Any], options: Dualpi2Options | None) -> None:
    """Refuse a link end's ``dualpi2`` if the kernel has none, or not with these options.

    Args:
        path: Path of the link's end.
        end: The link's end.
        options: Those that the kernel's ``dualpi2`` has; None if it has none.

    Raises:
        SpecError: The kernel cannot run it.
    """
    for qdisc in disciplines(end["qdisc"]):
        if qdisc["kind"] != KIND:
            continue
        if options is None:
            raise SpecError(
                f"{path}.qdisc",
                KIND,
                "a discipline that the kernel has (dualpi2 came with Linux 6.17: docs/kernels.md);"
                " the simulator has it",
            )
        if qdisc is not end["qdisc"]:
            raise SpecError(f"{path}.qdisc", KIND, "dualpi2 by itself on the kernel")
        if not end["rate_bps"] and end["overhead_bytes"] != OVERHEADS_BYTES["ethernet"]:
            found = f"{end['overhead_bytes']}B"
            raise SpecError(f"{path}.overhead", found, "ethernet (14B) with dualpi2 and rate inf")
        if options is Dualpi2Options.BEFORE_LINUX:
            _check_before_linux(f"{path}.qdisc", qdisc)


def _check_before_linux(path: str, qdisc: Mapping[str, Any]) -> None:
    this = "on this kernel, whose dualpi2 is older than Linux's"
    least = qdisc["min_qlen_step_packets"]
    if least != _LEAST_OF_STEP_PKTS:
        allowed = f"min_qlen_step {_LEAST_OF_STEP_PKTS} {this} and has no other"
        raise SpecError(path, f"dualpi2 min_qlen_step {least}", allowed)
    if qdisc["memlimit_bytes"] is not None:
        found = f"dualpi2 memlimit {qdisc['memlimit_bytes']}"
        raise SpecError(path, found, f"no memlimit {this}")
    if qdisc["step_thresh_packets"] is not None:
        found = f"dualpi2 step_thresh {qdisc['step_thresh_packets']}p"
        raise SpecError(path, found, f"a step_thresh that is a time {this}")


def set_up_below(end: Mapping[str, Any]) -> dict[str, int]:
    """The class below which the guest sets up a link end's queue; empty if ``tc`` does."""
    if end["qdisc"]["kind"] != KIND:
        return {}
    shaper_class = SHAPER_HANDLE << 16 | 1
    return {"set_up_below": shaper_class if end["rate_bps"] else _TC_H_ROOT}
