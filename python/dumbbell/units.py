"""Quantities as people write them, by the rules of ``tc``.

| quantity | written as | number it stands for |
| --- | --- | --- |
| time | ``200ms``, ``1.5s``, ``10us`` | nanoseconds |
| rate of bits | ``1mbit`` (10**6 bit/s), ``1kbps`` (1000 bytes/s) | bit/s |
| size | ``512B``, ``10kb`` (10240 bytes), ``1mbit`` (131072 bytes) | bytes |
| rate of packets | ``110pps``, ``1.5kpps`` | packets/s |
| queue discipline | ``pfifo limit 100``, as typed to tc | its parameters |

A number without its unit is refused. The grammar of the first three and of disciplines is
Linux's own, kept in one place, the Rust crate ``dumbbell-tc``; this module asks it. (Sources:
iproute2 ``tc/tc_util.c``, ``lib/utils_math.c``; tc(8) section UNITS.)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dumbbell._engine import (
    QdiscError,
    UnitError,
    format_rate,
    format_size,
    format_time,
    parse_rate_bps,
    parse_size_bytes,
    parse_time_ns,
    shown_size,
    shown_time,
)
from dumbbell._engine import parse_police as _parse_police
from dumbbell._engine import parse_qdisc as _parse_qdisc
from dumbbell._engine import police_notices as _police_notices
from dumbbell._engine import qdisc_lines as _qdisc_lines
from dumbbell._engine import qdisc_notices as _qdisc_notices
from dumbbell._engine import rate_notices as _rate_notices
from dumbbell._engine import render_police as _render_police
from dumbbell._engine import render_qdisc as _render_qdisc
from dumbbell._engine import shown_qdiscs as _shown_qdiscs

__all__ = [
    "Notice",
    "QdiscError",
    "ShownQdisc",
    "UnitError",
    "format_number",
    "format_packet_rate",
    "format_rate",
    "format_real_size",
    "format_real_time",
    "format_size",
    "format_time",
    "notices_of",
    "parse_packet_rate_pps",
    "parse_police",
    "parse_qdisc",
    "parse_rate_bps",
    "parse_real_size_bytes",
    "parse_real_time_s",
    "parse_size_bytes",
    "parse_time_ns",
    "police_notices",
    "qdisc_lines",
    "qdisc_notices",
    "rate_notices",
    "render_police",
    "render_qdisc",
    "shown_qdiscs",
    "shown_size",
    "shown_time",
]

_NS_PER_S = 10**9
_PACKETS_PER_S = {"pps": 1, "kpps": 10**3, "mpps": 10**6}
# No quantity needs more digits; a longer one would only cost time to convert.
_LONGEST = 400
_BARE = re.compile(r"\s*[0-9]{1,15}(\.[0-9]{1,15})?\s*")
_QUANTITY = re.compile(
    r"\s*(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*(?P<unit>[A-Za-z]+)\s*"
)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that was read as tc reads it, and that many mean otherwise.

    Attributes:
        kind: ``bytes_per_second`` (of ``10Mbps``), ``microseconds`` (of a time without unit),
            ``packets_with_unit`` (of ``limit 100kb``, where packets are counted),
            ``matches_nothing`` (of a filter by the mark of a firewall) or ``matches_no_flow``
            (of one that no flow of an experiment has packets for).
        value: As it was typed.
        means: What it is, as one would type it without surprise.
        instead: What is to be typed if the other was meant.
        text: The same as a sentence.
    """

    kind: str
    value: str
    means: str
    instead: str
    text: str


def rate_notices(text: str) -> list[Notice]:
    """What is to be known of a rate that `parse_rate_bps` reads."""
    return notices_of(_rate_notices(text))


def qdisc_notices(text: str) -> list[Notice]:
    """What is to be known of a text that `parse_qdisc` reads.

    Raises:
        QdiscError: It does not.
    """
    return notices_of(_qdisc_notices(text))


def police_notices(text: str) -> list[Notice]:
    """What is to be known of a text that `parse_police` reads.

    Raises:
        QdiscError: It does not.
    """
    return notices_of(_police_notices(text))


def notices_of(text: str) -> list[Notice]:
    """Those that the native module has written as JSON."""
    return [Notice(**each) for each in json.loads(text)]


def parse_qdisc(text: str) -> dict[str, Any]:
    """The parameters of a discipline, every default filled in.

    Args:
        text: What one types after ``tc qdisc add dev X root``, such as ``bfifo limit 50kb``.

    Returns:
        An object for the resolved description, such as
        ``{"kind": "bfifo", "limit_bytes": 51200}``.

    Raises:
        QdiscError: tc would not read it, or the discipline is not here.
    """
    parsed: dict[str, Any] = json.loads(_parse_qdisc(text))
    return parsed


def render_qdisc(qdisc: Mapping[str, Any]) -> str:
    """What one would type to tc for such an object; `parse_qdisc` gives the object back."""
    return _render_qdisc(json.dumps(dict(qdisc)))


def parse_police(text: str) -> dict[str, int]:
    """The parameters of a policer, every default filled in.

    Args:
        text: What one types after ``action``, such as ``police rate 4mbit burst 10kb drop``.

    Returns:
        An object for the resolved description, such as ``{"rate_bps": 4000000,
        "burst_bytes": 10240, "mtu_bytes": 2040, "peakrate_bps": 0}``.

    Raises:
        QdiscError: tc would not read it, or the word is not here.
    """
    parsed: dict[str, int] = json.loads(_parse_police(text))
    return parsed


def render_police(police: Mapping[str, int]) -> str:
    """What one would type to tc for such an object; `parse_police` gives the object back."""
    return _render_police(json.dumps(dict(police)))


def qdisc_lines(
    qdisc: Mapping[str, Any],
    *,
    device: str,
    parent: str | None = None,
    handle: int = 1,
    options: str = "",
) -> list[str]:
    """The lines, each what follows ``tc``, that attach a discipline and what is inside it.

    Args:
        qdisc: As `parse_qdisc` gives it.
        device: The network device.
        parent: The class it is put into, such as ``1:1``; None for the device's root.
        handle: Its handle, 1 to 65535; those of its children count on from it.
        options: Words before its name, such as ``stab overhead 10``.
    """
    text = json.dumps(dict(qdisc))
    return _qdisc_lines(text, device=device, parent=parent, handle=handle, options=options)


@dataclass(frozen=True, slots=True)
class ShownQdisc:
    """A discipline in its tree, as ``tc -d qdisc show`` prints it without counters.

    Attributes:
        kind: What tc calls it.
        handle: Its own, such as ``1:``.
        parent: The class it is in, such as ``1:1``; None for the root.
        has_every_packet: Whether all that the root takes goes through it.
        text: Its options as text.
        options: The same as ``tc -j`` has them.
    """

    kind: str
    handle: str
    parent: str | None
    has_every_packet: bool
    text: str
    options: dict[str, Any]


def shown_qdiscs(qdisc: Mapping[str, Any], *, mtu_bytes: int) -> list[ShownQdisc]:
    """A discipline and those inside it, in the order and with the handles of `qdisc_lines`.

    Those that the kernel puts in by itself, such as the bands of a bare prio, tc does not show.

    Args:
        qdisc: As `parse_qdisc` gives it.
        mtu_bytes: Of the device, from which the kernel takes what the words leave out.
    """
    shown = json.loads(_shown_qdiscs(json.dumps(dict(qdisc)), mtu_bytes=mtu_bytes))
    return [ShownQdisc(**each) for each in shown]


def parse_packet_rate_pps(text: str) -> float:
    """Packets per second of ``110pps``, ``1.5kpps`` or ``1Mpps``; more than 0 and finite.

    Raises:
        UnitError: It is none of these.
    """
    number, unit = _number_and_unit(text)
    scale = _PACKETS_PER_S.get(unit.lower(), 0)
    rate = _finite(number * scale)
    if rate is None or rate <= 0:
        hint = f"{text.strip()}pps" if _BARE.fullmatch(text) else None
        raise _unit_error(text, "packets per second, such as '110pps' (pps, kpps or Mpps)", hint)
    return rate


def format_packet_rate(rate_pps: float) -> str:
    """A rate of packets; `parse_packet_rate_pps` gives it back exactly."""
    return f"{format_number(rate_pps)}pps"


def parse_real_time_s(text: str) -> float:
    """Seconds of a time that need not be whole nanoseconds, such as the mean of a law.

    Raises:
        UnitError: It is no time with its unit.
    """
    return _scaled(text, parse_time_ns, Fraction(1, _NS_PER_S))


def format_real_time(time_s: float) -> str:
    """A time in seconds; `parse_real_time_s` gives it back exactly."""
    return f"{format_number(time_s)}s"


def parse_real_size_bytes(text: str) -> float:
    """Bytes of a size that need not be whole, such as the mean of a law.

    Raises:
        UnitError: It is no size with its unit.
    """
    return _scaled(text, parse_size_bytes, Fraction(1))


def format_real_size(size_bytes: float) -> str:
    """A size in bytes; `parse_real_size_bytes` gives it back exactly."""
    return f"{format_number(size_bytes)}B"


def _scaled(text: str, parse_whole: Callable[[str], int], scale: Fraction) -> float:
    """The number times its unit, rounded once; the unit is what the whole parser takes it for."""
    number, unit = _number_and_unit(text)
    # Another form is for the parser to judge: it says what is wrong with it.
    exact = number * parse_whole(f"1{unit}") if unit else Fraction(parse_whole(text))
    value = _finite(exact * scale)
    if value is None:
        raise _unit_error(text, "a quantity that a floating-point number can hold")
    return value


def _number_and_unit(text: str) -> tuple[Fraction, str]:
    """Both parts of a quantity; zero and no unit when it has not that form."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return Fraction(0), ""
    return Fraction(match["number"]), match["unit"]


def _finite(value: Fraction) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def format_number(value: float) -> str:
    """The shortest decimal without exponent that gives the number back.

    Raises:
        ValueError: It is infinite or not a number.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a quantity")
    text = format(Decimal(repr(float(value))), "f")
    return text.removesuffix(".0")


def _unit_error(value: str, allowed: str, hint: str | None = None) -> UnitError:
    """A `UnitError` like those the native module raises."""
    error = UnitError(f"{value!r} is not allowed here; {allowed}")
    error.path, error.value, error.allowed, error.hint = "", value, allowed, hint
    error.reason = None
    return error
