"""Types of values used only by programs."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from dumbbell import units
from dumbbell.spec.conversions import Conversion
from dumbbell.spec.fields import FASTEST_BPS, quantity, quantity_schema, whole
from dumbbell.spec.refusal import Refused

MOST_PARALLEL = 128
"""Limit of iperf3 (``MAX_STREAMS``)."""
MOST_PINGS = 10_000_000
MOST_SNAP = 262_144
MOST_PAGES = 1000
MOST_WORDS = 256
LONGEST_WORD = 4096
_FIELD = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z0-9_]+){0,8}")
_LONGEST_FIELD = 100
_PRINTABLE = re.compile(r"[\x20-\x7e]+")
_CONTROLLER = re.compile(r"[a-z][a-z0-9_]{0,14}")


def words_schema(*words: str) -> WithJsonSchema:
    """JSON schema of an enumeration."""
    return WithJsonSchema({"type": "string", "enum": list(words), "x-unit": "word"})


def _count_schema(most: int, example: int) -> WithJsonSchema:
    """JSON schema of a whole number from 1."""
    schema = {"type": "integer", "minimum": 1, "maximum": most, "examples": [example], "x-unit": ""}
    return WithJsonSchema(schema)


def _finite_rate(value: object) -> str:
    allowed = 'a rate with its unit, more than 0 and at most 4tbit, such as "1mbit"'
    return quantity(value, units.parse_rate_bps, (1, FASTEST_BPS), allowed, "bit")


def _controller(value: object) -> str:
    allowed = "a congestion controller of the kernel, such as cubic, reno or bbr"
    if not isinstance(value, str) or not _CONTROLLER.fullmatch(value):
        raise Refused(value, allowed)
    return value


def _display_filter(value: object) -> str:
    allowed = "a display filter of Wireshark of at most 500 printable characters, no '-' first"
    if not isinstance(value, str) or len(value) > 500 or not _PRINTABLE.fullmatch(value):
        raise Refused(value, allowed)
    if value.lstrip().startswith("-"):
        raise Refused(value, allowed)
    return value


def _field(value: object) -> str:
    allowed = "a field of Wireshark, such as tcp.analysis.retransmission"
    if not isinstance(value, str) or len(value) > _LONGEST_FIELD or not _FIELD.fullmatch(value):
        raise Refused(value, allowed)
    return value


def _word_of_command(value: object) -> str:
    allowed = f"text of at most {LONGEST_WORD} characters without control characters"
    if not isinstance(value, str) or len(value) > LONGEST_WORD or not value.isprintable():
        raise Refused(value, allowed)
    return value


FiniteRate = Annotated[
    str,
    BeforeValidator(_finite_rate),
    quantity_schema("rate", "1mbit"),
    Conversion(units.parse_rate_bps, units.format_rate, "bps"),
]
Controller = Annotated[
    str,
    BeforeValidator(_controller),
    WithJsonSchema(
        {"type": "string", "pattern": f"^{_CONTROLLER.pattern}$", "examples": ["cubic"]}
        | {"x-unit": "word"}
    ),
]
DisplayFilter = Annotated[
    str,
    BeforeValidator(_display_filter),
    WithJsonSchema(
        {"type": "string", "maxLength": 500, "examples": ["tcp.analysis.retransmission"]}
        | {"x-unit": "Wireshark filter"}
    ),
]
FieldName = Annotated[
    str,
    BeforeValidator(_field),
    WithJsonSchema({"type": "string", "pattern": f"^{_FIELD.pattern}$"}),
]
CommandWord = Annotated[
    str,
    BeforeValidator(_word_of_command),
    WithJsonSchema({"type": "string", "maxLength": LONGEST_WORD}),
]
Port = Annotated[int, BeforeValidator(whole(1, 65_535)), _count_schema(65_535, 80)]
Parallel = Annotated[int, BeforeValidator(whole(1, MOST_PARALLEL)), _count_schema(MOST_PARALLEL, 4)]
PingCount = Annotated[int, BeforeValidator(whole(1, MOST_PINGS)), _count_schema(MOST_PINGS, 1000)]
SnapLength = Annotated[int, BeforeValidator(whole(1, MOST_SNAP)), _count_schema(MOST_SNAP, 96)]
PageCount = Annotated[int, BeforeValidator(whole(1, MOST_PAGES)), _count_schema(MOST_PAGES, 10)]
