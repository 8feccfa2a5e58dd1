"""Quantities with units, in the syntax of ``tc``.

| quantity | written as | number it stands for |
| --- | --- | --- |
| time | ``200ms``, ``1.5s``, ``10us`` | nanoseconds |
| rate of bits | ``1mbit`` (10**6 bit/s), ``1kbps`` (1000 bytes/s) | bit/s |
| size | ``512B``, ``10kb`` (10240 bytes), ``1mbit`` (131072 bytes) | bytes |
| rate of packets | ``110pps``, ``1.5kpps`` | packets/s |
| queue discipline | ``pfifo limit 100``, as typed to tc | its parameters |

A number without a unit is refused. The grammar of times, rates, sizes and disciplines is that of
Linux's ``tc``; this module calls its implementation in the Rust crate ``dumbbell-tc``. (Sources:
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
    shown_rate,
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
from dumbbell._engine import split_script as _split_script

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
    "shown_rate",
    "shown_size",
    "shown_time",
    "split_script",
]

_NS_PER_S = 10**9
_PACKETS_PER_S = {"pps": 1, "kpps": 10**3, "mpps": 10**6}
# No quantity needs more digits; converting longer ones would only take time.
_LONGEST = 400
_BARE = re.compile(r"\s*[0-9]{1,15}(\.[0-9]{1,15})?\s*")
_QUANTITY = re.compile(
    r"\s*(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?)\s*(?P<unit>[A-Za-z]+)\s*"
)


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning: a text was read by the rules of tc, and its author may have meant something else.

    Attributes:
        kind: ``bytes_per_second`` (of ``10Mbps``), ``microseconds`` (of a time without unit),
            ``packets_with_unit`` (of ``limit 100kb``, where packets are counted),
            ``matches_nothing`` (of a filter by the mark of a firewall), ``matches_no_flow``
            (of one that no flow of an experiment has packets for), ``one_queue`` (of ``mq`` and
            ``multiq``) or ``arriving`` (of what a script does to packets that arrive).
        value: The text as typed.
        means: The meaning in tc, written unambiguously.
        instead: The text for the other likely meaning.
        text: The warning as a sentence.
    """

    kind: str
    value: str
    means: str
    instead: str
    text: str


def rate_notices(text: str) -> list[Notice]:
    """Warnings about a rate that `parse_rate_bps` accepts."""
    return notices_of(_rate_notices(text))


def qdisc_notices(text: str) -> list[Notice]:
    """Warnings about a text that `parse_qdisc` accepts.

    Raises:
        QdiscError: `parse_qdisc` refuses the text.
    """
    return notices_of(_qdisc_notices(text))


def police_notices(text: str) -> list[Notice]:
    """Warnings about a text that `parse_police` accepts.

    Raises:
        QdiscError: `parse_police` refuses the text.
    """
    return notices_of(_police_notices(text))


def notices_of(text: str) -> list[Notice]:
    """Parse the warnings that the native module wrote as JSON."""
    return [Notice(**each) for each in json.loads(text)]


def parse_qdisc(text: str) -> dict[str, Any]:
    """The parameters of a discipline, every default filled in.

    Args:
        text: The text after ``tc qdisc add dev X root``, such as ``bfifo limit 50kb``.

    Returns:
        An object for the resolved description, such as
        ``{"kind": "bfifo", "limit_bytes": 51200}``.

    Raises:
        QdiscError: The text is not valid for tc, or the discipline is not implemented.
    """
    parsed: dict[str, Any] = json.loads(_parse_qdisc(text))
    return parsed


def split_script(text: str) -> Mapping[str, str | None] | None:
    """What a script says of one device, where it says more than that of its root.

    Args:
        text: Lines of ``tc``, with ``ingress``, ``clsact`` and an ``ifb`` among them.

    Returns:
        Texts for keys of a link: ``qdisc`` and ``police`` of what leaves, ``arriving_qdisc`` and
        ``arriving_police`` of what arrives, and the name of the ``ifb``; None for each of which it
        says nothing. None for a text that `parse_qdisc` reads alone.

    Raises:
        QdiscError: A line of what arrives is not modelled, or the script is of several devices.
    """
    script = _split_script(text)
    return None if script is None else json.loads(script)


def render_qdisc(qdisc: Mapping[str, Any]) -> str:
    """The text for tc of such an object; the inverse of `parse_qdisc`."""
    return _render_qdisc(json.dumps(dict(qdisc)))


def parse_police(text: str) -> dict[str, int]:
    """The parameters of a policer, every default filled in.

    Args:
        text: The text after ``action``, such as ``police rate 4mbit burst 10kb drop``.

    Returns:
        An object for the resolved description, such as ``{"rate_bps": 4000000,
        "burst_bytes": 10240, "mtu_bytes": 2040, "peakrate_bps": 0}``.

    Raises:
        QdiscError: The text is not valid for tc, or a word is not implemented.
    """
    parsed: dict[str, int] = json.loads(_parse_police(text))
    return parsed


def render_police(police: Mapping[str, int]) -> str:
    """The text for tc of such an object; the inverse of `parse_police`."""
    return _render_police(json.dumps(dict(police)))


def qdisc_lines(
    qdisc: Mapping[str, Any],
    *,
    device: str,
    parent: str | None = None,
    handle: int = 1,
    options: str = "",
) -> list[str]:
    """The commands that attach a discipline and its children, each without the leading ``tc``.

    Args:
        qdisc: The discipline as `parse_qdisc` returns it.
        device: The network device.
        parent: The parent class, such as ``1:1``; None for the device's root.
        handle: The handle, 1 to 65535; its children get the following ones.
        options: Words before its name, such as ``stab overhead 10``.
    """
    text = json.dumps(dict(qdisc))
    return _qdisc_lines(text, device=device, parent=parent, handle=handle, options=options)


@dataclass(frozen=True, slots=True)
class ShownQdisc:
    """A discipline in its tree, as ``tc -d qdisc show`` prints it without counters.

    Attributes:
        kind: Its name in tc.
        handle: Its handle, such as ``1:``.
        parent: The parent class, such as ``1:1``; None for the root.
        has_every_packet: Whether all packets of the root pass through it.
        text: Its options as text.
        options: Its options as in ``tc -j``.
    """

    kind: str
    handle: str
    parent: str | None
    has_every_packet: bool
    text: str
    options: dict[str, Any]


def shown_qdiscs(qdisc: Mapping[str, Any], *, mtu_bytes: int) -> list[ShownQdisc]:
    """A discipline and its children, in the order and with the handles of `qdisc_lines`.

    Children that the kernel adds by default, such as the bands of a plain prio, are left out, as in
    tc.

    Args:
        qdisc: The discipline as `parse_qdisc` returns it.
        mtu_bytes: MTU of the device, from which the kernel derives some defaults.
    """
    shown = json.loads(_shown_qdiscs(json.dumps(dict(qdisc)), mtu_bytes=mtu_bytes))
    return [ShownQdisc(**each) for each in shown]


def parse_packet_rate_pps(text: str) -> float:
    """Packets per second of ``110pps``, ``1.5kpps`` or ``1Mpps``; more than 0 and finite.

    Raises:
        UnitError: The text is not a packet rate.
    """
    number, unit = _number_and_unit(text)
    scale = _PACKETS_PER_S.get(unit.lower(), 0)
    rate = _finite(number * scale)
    if rate is None or rate <= 0:
        hint = f"{text.strip()}pps" if _BARE.fullmatch(text) else None
        raise _unit_error(text, "packets per second, such as '110pps' (pps, kpps or Mpps)", hint)
    return rate


def format_packet_rate(rate_pps: float) -> str:
    """Format a packet rate; the exact inverse of `parse_packet_rate_pps`."""
    return f"{format_number(rate_pps)}pps"


def parse_real_time_s(text: str) -> float:
    """Parse a time in seconds that need not be whole nanoseconds, such as the mean of a
    distribution.

    Raises:
        UnitError: The text is not a time with a unit.
    """
    return _scaled(text, parse_time_ns, Fraction(1, _NS_PER_S))


def format_real_time(time_s: float) -> str:
    """Format a time in seconds; the exact inverse of `parse_real_time_s`."""
    return f"{format_number(time_s)}s"


def parse_real_size_bytes(text: str) -> float:
    """Parse a size in bytes that need not be whole, such as the mean of a distribution.

    Raises:
        UnitError: The text is not a size with a unit.
    """
    return _scaled(text, parse_size_bytes, Fraction(1))


def format_real_size(size_bytes: float) -> str:
    """Format a size in bytes; the exact inverse of `parse_real_size_bytes`."""
    return f"{format_number(size_bytes)}B"


def _scaled(text: str, parse_whole: Callable[[str], int], scale: Fraction) -> float:
    """The number times its unit, rounded once; ``parse_whole`` interprets the unit."""
    number, unit = _number_and_unit(text)
    # The parser of whole numbers reports what is wrong with any other form.
    exact = number * parse_whole(f"1{unit}") if unit else Fraction(parse_whole(text))
    value = _finite(exact * scale)
    if value is None:
        raise _unit_error(text, "a quantity that a floating-point number can hold")
    return value


def _number_and_unit(text: str) -> tuple[Fraction, str]:
    """Number and unit of a quantity; zero and no unit if it does not have that form."""
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
    """The shortest decimal without an exponent that converts back to the same number.

    Raises:
        ValueError: The number is infinite or NaN.
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} cannot be written as a quantity")
    text = format(Decimal(repr(float(value))), "f")
    return text.removesuffix(".0")


def _unit_error(value: str, allowed: str, hint: str | None = None) -> UnitError:
    """Build a `UnitError` like those of the native module."""
    error = UnitError(f"{value!r} is not allowed here; {allowed}")
    error.path, error.value, error.allowed, error.hint = "", value, allowed, hint
    error.reason = None
    return error
