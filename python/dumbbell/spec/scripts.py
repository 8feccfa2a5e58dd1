"""Scripts of ``tc`` that say what is done to packets that arrive: keys of both directions.

A script in ``forward`` is of the device at ``a``. What it does to packets that leave stands in
``forward``; what it does to those that arrive (``police`` of ``ingress``, or a redirection to an
``ifb`` with a queue) is done behind the link, to packets of ``reverse``. Where that direction has
no rate, queue or loss of its own, packets pass it at once but for its delay, and what is done to
them at its end is the same as at its beginning: a delay earlier by the queue's clock, and to those
who receive at the same time. So it is written there.
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
"""Keys by which something happens to packets at the other end, and their values by which nothing
does."""


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A table of a link without scripts.

    Attributes:
        table: As a file would have it.
        notices: By the direction and key under which something was written that a script says of
            packets that arrive.
    """

    table: Mapping[str, Any]
    notices: Mapping[str, units.Notice]


def take_apart(table: Mapping[str, Any]) -> TakenApart:
    """Writes what scripts of a link's directions say under the keys of both.

    Raises:
        Refused: A script says something of packets that arrive where that is not the same as at
            the other end, or stands where it is of no one device.
    """
    if _script(table.get("qdisc"), "qdisc") is not None:
        allowed = "such a script in `forward` or `reverse`, of whose device it is"
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
    return TakenApart(found, notices)


def _script(text: object, path: str) -> Mapping[str, Any] | None:
    if not isinstance(text, str):
        return None
    try:
        return units.split_script(text)
    except units.QdiscError as error:
        value, allowed, reason = error.value, error.allowed, error.reason
        raise Refused(value, allowed, error.hint, path, reason) from None


def _own(end: Mapping[str, Any], script: Mapping[str, Any], side: str) -> Mapping[str, Any]:
    """The direction that the device sends in."""
    found = {key: value for key, value in end.items() if key != "qdisc"}
    if script["qdisc"]:
        found["qdisc"] = script["qdisc"]
    if script["police"]:
        if "police" in end:
            allowed = "either the key, or a policer of egress in the script"
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
                f"no `{key}` where the script in `{side}` says what is done to what arrives: "
                "queues in a row are links in a row, so give what shapes there a host of its own, "
                "with the ifb's lines as the `qdisc` of the link to it",
                path=f"{other}.{key}" if key in own else key,
            )


def _notice(ifb: str | None, side: str, other: str, key: str) -> units.Notice:
    value = ifb if ifb and key == "qdisc" else "ingress"
    means = f"the key `{key}` of `{other}`"
    instead = f'{other} = {{ {key} = "..." }}'
    text = (
        f'"{value}" is {means}: what the script in `{side}` does to packets that arrive is done at '
        f"the other end of the link, before its delay; the same can be written as {instead}"
    )
    return units.Notice("arriving", value, means, instead, text)
