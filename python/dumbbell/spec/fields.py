"""Types of values in a description, each with its check and its unit.

Quantities are stored as the text in the file; the functions ``*_ns``, ``*_bps`` and ``*_bytes``
convert them. Texts are checked when an experiment is created, so the conversions cannot fail later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from dumbbell import units
from dumbbell.spec.conversions import Conversion, same
from dumbbell.spec.refusal import Refused, nearest, one_of

LONGEST_NS = 200 * 86_400 * 10**9
"""200 days: the engine's clock counts picoseconds in 64 bits and holds 213."""
FASTEST_BPS = 4 * 10**12
"""The fastest finite rate, bit/s: a byte takes two picoseconds."""
LARGEST_PACKET_BYTES = 65_535
LARGEST_OVERHEAD_BYTES = 1000
LARGEST_ECHO_PAYLOAD_BYTES = LARGEST_PACKET_BYTES - 28
IRTT_PAYLOAD_BYTES = 60
"""The least that irtt(1) sends, and what it sends when no length is asked for: its header with the
time stamps of both of the server's clocks."""
LONGEST_GRO_NS = 10**9
LARGEST_SEED = 2**64 - 1
MOST_IN_A_BURST = 100_000
MOST_TRANSFERS = 2**32 - 1

NO_POLICER = "none"
NO_GRO = "off"
INFINITE = "inf"
"""The rate of a link without a transmitter."""

OVERHEADS_BYTES = {"ethernet": 14, "wire": 38, "ppp": 2, "none": 0}
"""Link-layer overhead of a packet, bytes.

``ethernet`` is what Linux counts: the header of 14. ``wire`` is what occupies an Ethernet
cable: with it the frame check sequence (4), preamble and start delimiter (8) and the gap
between frames (12); IEEE 802.3 clause 3 and 4.4.2. ``ppp`` is the protocol field of RFC 1661.
"""

DSCPS = {
    "DF": 0,
    "BE": 0,
    "LE": 1,
    **{f"CS{c}": 8 * c for c in range(8)},
    **{f"AF{c}{d}": 8 * c + 2 * d for c in range(1, 5) for d in range(1, 4)},
    "EF": 46,
    "VA": 44,
}
"""Names of code points (RFC 2474, 2597, 3246, 5865, 8622); ``BE`` is a common name of ``DF``."""

# Bounds for values that tc accepts but no queue can have: minimum, maximum, and the message.
_QDISC_RANGES = {
    "limit_packets": (1, 2**32 - 1, "a limit of at least 1 packet"),
    "limit_bytes": (1, 2**32 - 1, "a limit of at least 1 byte"),
    "delay_ns": (0, LONGEST_NS, "a delay of at most 200 days"),
    "rate_bps": (0, FASTEST_BPS, "a rate of at most 4tbit"),
}
LONGEST_NAME = 63
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_TITLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,-]{0,99}")
_WITH_UNIT = r"^\s*([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*[A-Za-z]+\s*$"


def _text(value: object, allowed: str, unit: str = "") -> str:
    """Refuse values other than text; a bare number gets its unit as a hint."""
    if isinstance(value, str):
        return value
    hint = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        # No unit makes a quantity of what is not finite, or not above 0.
        hint = f"{value}{unit}" if unit and 0 < value < math.inf else None
    raise Refused(value, allowed, hint)


def quantity(
    value: object, parse: Callable[[str], int], bounds: tuple[int, int], allowed: str, unit: str
) -> str:
    """Check the text of a quantity: ``parse`` accepts it, and it is within the bounds.

    Raises:
        Refused: The text is invalid or out of bounds; a bare number gets ``unit`` in the hint.
    """
    text = _text(value, allowed, unit)
    try:
        number = parse(text)
    except units.UnitError as error:
        bare = re.fullmatch(r"[0-9]{1,15}(\.[0-9]{1,9})?", text)
        hint = error.hint or (f"{text}{unit}" if bare else None)
        raise Refused(error.value, error.allowed, hint) from None
    least, most = bounds
    if not least <= number <= most:
        raise Refused(text, allowed)
    return text


def _time(allowed: str, least: int) -> Callable[[object], str]:
    def check(value: object) -> str:
        return quantity(value, units.parse_time_ns, (least, LONGEST_NS), allowed, "s")

    return check


def _size(allowed: str, least: int, most: int) -> Callable[[object], str]:
    def check(value: object) -> str:
        return quantity(value, units.parse_size_bytes, (least, most), allowed, "B")

    return check


def _rate(value: object) -> str:
    allowed = 'a rate with its unit, more than 0 and at most 4tbit, such as "1mbit", or "inf"'
    if value == INFINITE:
        return INFINITE
    return quantity(value, units.parse_rate_bps, (1, FASTEST_BPS), allowed, "bit")


def _packet_rate(value: object) -> str:
    text = _text(value, 'packets per second, such as "110pps"', "pps")
    try:
        rate = units.parse_packet_rate_pps(text)
    except units.UnitError as error:
        raise Refused(error.value, error.allowed, error.hint) from None
    if not 1e-7 <= rate <= 1e9:
        raise Refused(text, "from 1e-7pps to 1000Mpps")
    return text


def _overhead(value: object) -> str:
    allowed = f"{one_of(list(OVERHEADS_BYTES))}, or a size of at most 1000 bytes"
    text = _text(value, allowed, "B")
    if text in OVERHEADS_BYTES:
        return text
    if not text[:1].isdigit():
        raise Refused(text, allowed, nearest(text, OVERHEADS_BYTES))
    return quantity(text, units.parse_size_bytes, (0, LARGEST_OVERHEAD_BYTES), allowed, "B")


def _qdisc(value: object) -> str:
    text = _text(value, 'what one types after "tc qdisc add dev X root", such as "pfifo limit 100"')
    try:
        qdisc = units.parse_qdisc(text)
    except (units.QdiscError, units.UnitError) as error:
        raise Refused(error.value, error.allowed, error.hint, reason=error.reason) from None
    for parameter, (least, most, allowed) in _QDISC_RANGES.items():
        if not least <= qdisc.get(parameter, least) <= most:
            raise Refused(text, allowed)
    return text


def _police(value: object) -> str:
    text = _text(value, f'{NO_POLICER}, or a policer such as "police rate 4mbit burst 10kb drop"')
    if text != NO_POLICER:
        try:
            units.parse_police(text)
        except (units.QdiscError, units.UnitError) as error:
            raise Refused(error.value, error.allowed, error.hint, reason=error.reason) from None
    return text


def _gro(value: object) -> str:
    allowed = f'{NO_GRO}, or for how long frames are gathered, at most 1s, such as "50us"'
    if value == NO_GRO:
        return NO_GRO
    return quantity(value, units.parse_time_ns, (0, LONGEST_GRO_NS), allowed, "s")


def _probability(value: object) -> float:
    allowed = "a probability from 0 to 1"
    if isinstance(value, str) and re.fullmatch(r"[0-9]+\.?[0-9]*%", value):
        raise Refused(value, f"{allowed}, not per cent", f"{float(value[:-1]) / 100:g}")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise Refused(value, allowed)
    return float(value) + 0.0  # no negative zero: one value, one text


def _share(value: object) -> float:
    allowed = "a share above 0 and at most 1, such as 0.9"
    if isinstance(value, str) and re.fullmatch(r"[0-9]+\.?[0-9]*%", value):
        raise Refused(value, f"{allowed}, not per cent", f"{float(value[:-1]) / 100:g}")
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
        raise Refused(value, allowed)
    return float(value)


def word_list(*words: str) -> Any:
    """Return the type of a list of some words, each at most once."""
    check_word = word(*words)

    def check(value: object) -> tuple[str, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise Refused(value, f"a list of words: {one_of(words)}")
        found: list[str] = []
        for index, each in enumerate(value):
            try:
                found.append(check_word(each))
            except Refused as refused:
                refused.path = f"[{index}]"
                raise
            if each in found[:-1]:
                raise Refused(each, "each word once", path=f"[{index}]")
        return tuple(found)

    schema: dict[str, Any] = {"type": "array", "items": {"enum": list(words)}}
    schema |= {"uniqueItems": True, "examples": [list(words[:2])], "x-unit": "list of words"}
    return Annotated[tuple[str, ...], BeforeValidator(check), WithJsonSchema(schema)]


def whole(least: int, most: int) -> Callable[[object], int]:
    """Return a check for whole numbers from ``least`` to ``most``."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Refused(value, f"a whole number from {least} to {most}")
        return value

    return check


def word(*words: str) -> Callable[[object], str]:
    """Return a check for one of several words."""

    def check(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise Refused(value, one_of(words), nearest(value, words))
        return value

    return check


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise Refused(value, "true or false")
    return value


def _name(value: object) -> str:
    allowed = "up to 63 letters, digits, '.', '_' and '-', the first a letter or digit"
    text = _text(value, allowed)
    if not _NAME.fullmatch(text):
        raise Refused(text, allowed)
    return text


def _kernel_name(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        # 6.10 would be 6.1.
        raise Refused(value, f'text, in quotes: kernel = "{value}"')
    return _name(value)


def _title(value: object) -> str:
    allowed = "up to 100 letters, digits and '._=+,-' (it names files), the first a letter or digit"
    text = _text(value, allowed)
    if not _TITLE.fullmatch(text):
        raise Refused(text, allowed)
    return text


def _dscp(value: object) -> int | str:
    allowed = "a whole number from 0 to 63 or a name such as EF, CS5 or AF41"
    if isinstance(value, str):
        if value not in DSCPS:
            raise Refused(value, allowed, nearest(value, DSCPS))
        return value
    try:
        return whole(0, 63)(value)
    except Refused as refused:
        raise Refused(refused.value, allowed) from None


def time_ns(text: str) -> int:
    """Nanoseconds of a checked time."""
    return units.parse_time_ns(text)


def size_bytes(text: str) -> int:
    """Bytes of a checked size."""
    return units.parse_size_bytes(text)


def gro_ns(text: str) -> int | None:
    """Nanoseconds for which GRO collects frames; None for ``off``."""
    return None if text == NO_GRO else units.parse_time_ns(text)


def rate_bps(text: str) -> int:
    """Bit/s of a checked rate; 0 for ``inf``, as the resolved description writes it."""
    return 0 if text == INFINITE else units.parse_rate_bps(text)


def rate_text(bps: int) -> str:
    """The text of a resolved rate."""
    return INFINITE if bps == 0 else units.format_rate(bps)


def policer(text: str) -> dict[str, Any] | None:
    """A checked policer as resolved; None for ``none``."""
    return None if text == NO_POLICER else units.parse_police(text)


def overhead_bytes(text: str) -> int:
    """Bytes of a checked overhead."""
    return OVERHEADS_BYTES[text] if text in OVERHEADS_BYTES else units.parse_size_bytes(text)


def dscp_number(dscp: int | str) -> int:
    """The code point of a checked number or name."""
    return DSCPS[dscp] if isinstance(dscp, str) else dscp


def _schema(kind: str, unit: str, **more: Any) -> WithJsonSchema:
    """JSON schema of a value; ``unit`` is for people, and for the table of the documentation."""
    schema: dict[str, Any] = {"type": kind, **more, "x-unit": unit}
    return WithJsonSchema(schema)


def quantity_schema(unit: str, *examples: str, also: Mapping[str, Any] | None = None) -> Any:
    """JSON schema of a quantity; ``also`` is what else may stand there."""
    with_unit = {"type": "string", "pattern": _WITH_UNIT}
    choice: dict[str, Any] = {"anyOf": [with_unit, dict(also)]} if also else with_unit
    return WithJsonSchema({**choice, "examples": list(examples), "x-unit": unit})


RATE_BPS = Conversion(rate_bps, rate_text, "bps")
TIME_NS = Conversion(time_ns, units.format_time, "ns")
SIZE_BYTES = Conversion(size_bytes, units.format_size, "bytes")

_AT_MOST = "at most 200 days"
Time = Annotated[
    str,
    BeforeValidator(_time(f'a time with its unit, {_AT_MOST}, such as "200ms"', 0)),
    quantity_schema("time", "200ms", "1.5s"),
    TIME_NS,
]
PositiveTime = Annotated[
    str,
    BeforeValidator(_time(f'a time with its unit, more than 0 and {_AT_MOST}, such as "60s"', 1)),
    quantity_schema("time", "60s", "200ms"),
    TIME_NS,
]
Rate = Annotated[
    str,
    BeforeValidator(_rate),
    quantity_schema("rate", "1mbit", "inf", also={"const": INFINITE}),
    RATE_BPS,
]
PacketRate = Annotated[str, BeforeValidator(_packet_rate), quantity_schema("packets/s", "110pps")]
PacketSize = Annotated[
    str,
    BeforeValidator(
        _size('a size with its unit from 1 to 65535 bytes, such as "512B"', 1, LARGEST_PACKET_BYTES)
    ),
    quantity_schema("size", "512B"),
    SIZE_BYTES,
]
EchoPayload = Annotated[
    str,
    BeforeValidator(
        _size(
            'a size with its unit of at most 65507 bytes, such as "56B"',
            0,
            LARGEST_ECHO_PAYLOAD_BYTES,
        )
    ),
    quantity_schema("size", "56B"),
    SIZE_BYTES,
]
Overhead = Annotated[
    str,
    BeforeValidator(_overhead),
    quantity_schema("word or size", "ethernet", "22B", also={"enum": list(OVERHEADS_BYTES)}),
    Conversion(overhead_bytes, units.format_size, "bytes"),
]
Qdisc = Annotated[
    str,
    BeforeValidator(_qdisc),
    _schema("string", "tc text", examples=["pfifo limit 100", "netem rate 1mbit"]),
    Conversion(units.parse_qdisc, units.render_qdisc),
]
Police = Annotated[
    str,
    BeforeValidator(_police),
    _schema("string", "tc text", examples=["none", "police rate 4mbit burst 10kb drop"]),
    Conversion(policer, units.render_police),
]
Gro = Annotated[
    str,
    BeforeValidator(_gro),
    quantity_schema("time", "off", "0s", "50us", also={"const": NO_GRO}),
    Conversion(gro_ns, units.format_time, "ns"),
]
Probability = Annotated[
    float, BeforeValidator(_probability), _schema("number", "0 to 1", minimum=0, maximum=1)
]
Share = Annotated[
    float,
    BeforeValidator(_share),
    _schema("number", "share", exclusiveMinimum=0, maximum=1, examples=[0.9]),
]
Seed = Annotated[
    int,
    BeforeValidator(whole(0, LARGEST_SEED)),
    _schema("integer", "", minimum=0, maximum=LARGEST_SEED),
]
TransferCount = Annotated[
    int,
    BeforeValidator(whole(1, MOST_TRANSFERS)),
    _schema("integer", "", minimum=1, maximum=MOST_TRANSFERS, examples=[100]),
]


def numbers(allowed: Sequence[int], words: str, unit: str) -> Any:
    """The type of one of some numbers."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value not in allowed:
            raise Refused(value, words)
        return value

    return Annotated[int, BeforeValidator(check), _schema("integer", unit, enum=list(allowed))]


Flag = Annotated[bool, BeforeValidator(_flag), _schema("boolean", "")]
Name = Annotated[
    str,
    BeforeValidator(_name),
    _schema("string", "", pattern=f"^{_NAME.pattern}$", examples=["sender-1"]),
]
KernelName = Annotated[
    str,
    BeforeValidator(_kernel_name),
    _schema("string", "", pattern=f"^{_NAME.pattern}$", examples=["6.12"]),
]
Title = Annotated[
    str,
    BeforeValidator(_title),
    _schema("string", "", pattern=f"^{_TITLE.pattern}$", examples=["two-queues"]),
]
Dscp = Annotated[
    int | str,
    BeforeValidator(_dscp),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0, "maximum": 63},
                {"enum": sorted(DSCPS)},
            ],
            "examples": ["EF", 46],
            "x-unit": "code point",
        }
    ),
    Conversion(dscp_number, same),
]
TransferSize = Annotated[
    str,
    BeforeValidator(_size('a size with its unit from 1 byte to 1 PB, such as "1mb"', 1, 10**15)),
    quantity_schema("size", "1mb"),
    SIZE_BYTES,
]
BurstPackets = Annotated[
    int,
    BeforeValidator(whole(1, MOST_IN_A_BURST)),
    _schema("integer", "", minimum=1, maximum=MOST_IN_A_BURST, examples=[10]),
]
SizeAt = Annotated[
    str,
    BeforeValidator(word("wire", "payload")),
    _schema("string", "word", enum=["wire", "payload"]),
]
