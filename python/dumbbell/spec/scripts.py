"""``tc`` scripts with ``ingress``, ``clsact`` or an ``ifb``, as keys of both directions of a link.

A script in ``forward`` configures the device at ``a``. Its discipline for departing packets stays
in ``forward``. What it applies to arriving packets (``police`` at ``ingress``, or a redirection to
an ``ifb`` with a queue) acts after the delay of ``reverse``; here it is written in ``reverse``, and
acts before that delay. The two are equivalent, up to the delay by which it acts earlier, if
``reverse`` has no rate, queue or loss of its own; otherwise it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dumbbell import units
from dumbbell.spec.fields import INFINITE, NO_POLICER
from dumbbell.spec.refusal import Refused

_SIDES = {"forward": "reverse", "reverse": "forward"}
_OWN: Mapping[str, tuple[object, ...]] = {
    "rate": (INFINITE,),
    "qdisc": (),
    "police": (NO_POLICER,),
    "loss": (0, 0.0),
    "loss_every": (0,),
    "changes": ([], ()),
    "trace": (),
}
"""Keys that affect packets at the other end, each with the values that have no effect."""


@dataclass(frozen=True, slots=True)
class SplitLink:
    """The table of a link after its scripts were split.

    Attributes:
        table: As a file would have it.
        notices: Notices by path, such as ``reverse.qdisc``: one for each key written for arriving
            packets.
    """

    table: Mapping[str, Any]
    notices: Mapping[str, units.Notice]


def split_link(table: Mapping[str, Any]) -> SplitLink:
    """Splits the scripts in a link's directions into keys of both directions.

    Raises:
        Refused: A script for arriving packets is not equivalent to keys of the other end, or the
            script is not in a direction.
    """
    if _script(table.get("qdisc"), "qdisc") is not None:
        allowed = "such a script in `forward` or `reverse`, for the device at its beginning"
        raise Refused("a script with ingress, clsact or an ifb", allowed, path="qdisc")
    found = dict(table)
    notices: dict[str, units.Notice] = {}
    for side, other in _SIDES.items():
        end = table.get(side)
        script = _script(end.get("qdisc"), f"{side}.qdisc") if isinstance(end, Mapping) else None
        if script is None:
            continue
        found[side] = _own(found[side], script, side)
        arriving = {
            key: script[f"arriving_{key}"]
            for key in ("qdisc", "police")
            if script[f"arriving_{key}"]
        }
        if not arriving:
            continue
        _refuse_own(table, other, side)
        found[other] = {**(table.get(other) or {}), **arriving}
        for key in arriving:
            notices[f"{other}.{key}"] = _notice(script["ifb"], side, other, key)
    return SplitLink(found, notices)


def _script(text: object, path: str) -> Mapping[str, Any] | None:
    if not isinstance(text, str):
        return None
    try:
        return units.split_script(text)
    except units.QdiscError as error:
        value, allowed, reason = error.value, error.allowed, error.reason
        raise Refused(value, allowed, error.hint, path, reason) from None


def _own(end: Mapping[str, Any], script: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """Returns the direction in which the device sends, with the script's own parts."""
    found = {key: value for key, value in end.items() if key != "qdisc"}
    if script["qdisc"]:
        found["qdisc"] = script["qdisc"]
    if script["police"]:
        if "police" in end:
            allowed = "either the key, or a policer at egress in the script"
            raise Refused(end["police"], allowed, path=f"{side}.police")
        found["police"] = script["police"]
    return found


def _refuse_own(table: Mapping[str, Any], other: str, side: str) -> None:
    end = table.get(other)
    own = end if isinstance(end, Mapping) else {}
    for key, nothing in _OWN.items():
        value = own.get(key, table.get(key))
        if value is not None and value not in nothing:
            raise Refused(
                value,
                f"no `{key}`, because the script in `{side}` polices or queues arriving packets: "
                "add a host between, with the ifb's lines as the `qdisc` of the link to it",
                path=f"{other}.{key}" if key in own else key,
            )


def _notice(ifb: str | None, side: str, other: str, key: str) -> units.Notice:
    value = ifb if ifb and key == "qdisc" else "ingress"
    means = f"the key `{key}` of `{other}`"
    instead = f'{other} = {{ {key} = "..." }}'
    text = (
        f'"{value}" is {means}: the script in `{side}` acts on arriving packets, here at the other '
        f"end of the link, before its delay; the same can be written as {instead}"
    )
    return units.Notice("arriving", value, means, instead, text)
