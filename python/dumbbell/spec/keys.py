"""Keys of the description, as the native module has them.

Each is described once, in a table of Rust (``spec/src``): its name, what stands there, its default
and its meaning. The models, the way back from a resolved description, the page of keys and the
kernel backend take their lists from here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema, create_model

from dumbbell import _engine, units
from dumbbell.spec.base import SpecModel
from dumbbell.spec.conversions import PLAIN, Conversion, conversion_of, same
from dumbbell.spec.fields import (
    NO_GRO,
    NO_POLICER,
    OVERHEADS_BYTES,
    SIZE_BYTES,
    Flag,
    Gro,
    Overhead,
    Police,
    Probability,
    Qdisc,
    Rate,
    Time,
    quantity,
    quantity_schema,
    whole,
    word,
)
from dumbbell.spec.refusal import Refused, nearest
from dumbbell.spec.traces import TraceOrFile

Kind = Literal[
    "flag",
    "flag-or",
    "words",
    "whole",
    "bytes",
    "time",
    "rate",
    "overhead",
    "probability",
    "police",
    "qdisc",
    "gro",
    "trace",
    "changes",
    "cwnd-changes",
    "own",
]
Presence = Literal["always", "or-null", "or-absent", "or-zero", "or-default", "by-profile"]


@dataclass(frozen=True)
class Key:
    """A key of a table of the description.

    Attributes:
        name: As a person writes it.
        resolved: As the resolved description has it; of a table within, its path there.
        kind: What stands there.
        bounds: Of that: the words or numbers that are allowed, with a unit and an example.
        presence: Whether it may be left out, and what the resolved description then has: null, no
            such key, 0, ``default``, or what the profile says.
        default: As resolved; of TCP that of the profile ``linux-6.1``.
        meaning: What it says.
        kernel: For what a kernel takes it: each flow, both hosts of one, the sending host, the way
            from one host to the other, or nothing: it has its default and no other.
    """

    name: str
    resolved: str
    kind: Kind
    bounds: Any
    presence: Presence
    default: Any
    meaning: str
    kernel: Literal["flow", "host", "sender", "way", "fixed"] = "flow"

    def number(self, value: Any) -> Any:
        """A value that was checked, as resolved."""
        return self.conversion.resolve(value)

    def written(self, value: Any) -> Any:
        """A resolved value as a person writes it; None for one that nobody writes."""
        if self.presence == "or-zero" and not value:
            return None
        return self.conversion.write(value)

    @cached_property
    def conversion(self) -> Conversion:
        """Of its values."""
        if self.kind == "trace":
            return Conversion(lambda trace: trace and trace.resolved(), same)
        if self.kind == "changes":
            return Conversion(lambda changes: [change.resolved() for change in changes], same)
        return PLAIN if self.kind in ("cwnd-changes", "own") else conversion_of(self.takes())

    @property
    def written_default(self) -> Any:
        """Its default as a person writes it."""
        if self.kind == "overhead":
            return next(word for word, size in OVERHEADS_BYTES.items() if size == self.default)
        if self.kind == "bytes":
            return f"{self.default}B"
        words = {"police": NO_POLICER, "gro": NO_GRO, "trace": None, "changes": ()}
        return words.get(self.kind) if self.kind in words else self.written(self.default)

    def takes(self) -> Any:
        """The type of its value in a model, with its check and its schema; not of ``own`` ones."""
        schema: dict[str, Any]
        match self.kind:
            case "flag-or":
                schema = {"anyOf": [{"type": "boolean"}, {"const": self.bounds}]}
                unit = f'true, false, `"{self.bounds}"`'
                check = BeforeValidator(_flag_or(self.bounds))
                return Annotated[bool | str, check, WithJsonSchema({**schema, "x-unit": unit})]
            case "words":
                schema = {"type": "string", "enum": list(self.bounds), "x-unit": "word"}
                return Annotated[str, BeforeValidator(word(*self.bounds)), WithJsonSchema(schema)]
            case "whole":
                least, most = self.bounds["least"], self.bounds["most"]
                schema = {"type": "integer", "minimum": least, "maximum": most}
                schema |= {"examples": [self.bounds["example"]], "x-unit": self.bounds["unit"]}
                return Annotated[int, BeforeValidator(whole(least, most)), WithJsonSchema(schema)]
            case "bytes":
                check = BeforeValidator(_size(self.bounds))
                schema_of = quantity_schema("size", *self.bounds["examples"])
                return Annotated[str, check, schema_of, SIZE_BYTES]
        return _TAKES[self.kind]


_TAKES: Mapping[Kind, Any] = {
    "flag": Flag,
    "time": Time,
    "rate": Rate,
    "overhead": Overhead,
    "probability": Probability,
    "police": Police,
    "qdisc": Qdisc,
    "gro": Gro,
    "trace": TraceOrFile,
}


def _flag_or(other: str) -> Callable[[object], bool | str]:
    def check(value: object) -> bool | str:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value == other:
            return value
        raise Refused(value, f'true, false or "{other}"', nearest(value, [other]))

    return check


def _size(bounds: Mapping[str, Any]) -> Callable[[object], str]:
    allowed = f'a size with its unit from {bounds["range"]}, such as "{bounds["examples"][0]}"'

    def check(value: object) -> str:
        within = (bounds["least"], bounds["most"])
        return quantity(value, units.parse_size_bytes, within, allowed, "B")

    return check


def key_of(given: Mapping[str, Any]) -> Key:
    """A key as the native module lists it."""
    value = given["value"]
    kind, bounds = next(iter(value.items())) if isinstance(value, dict) else (value, None)
    alike = ("name", "resolved", "presence", "default", "meaning")
    more = {"kernel": given["kernel"]} if "kernel" in given else {}
    return Key(kind=kind, bounds=bounds, **{each: given[each] for each in alike}, **more)


def _tables() -> Mapping[str, Mapping[str, Key]]:
    given = json.loads(_engine.description_tables())
    return {table: {key["name"]: key_of(key) for key in keys} for table, keys in given.items()}


_TABLES = _tables()
LINK: Mapping[str, Key] = MappingProxyType(_TABLES["link"])
"""Keys of one direction of a link (``spec/src/link.rs``), in the order of a file."""
CHANGE: Mapping[str, Key] = MappingProxyType(_TABLES["change"])
"""Of new values of a link."""


def key_model(name: str, module: str, fields: Mapping[str, tuple[Any, Any]]) -> type[SpecModel]:
    """A model of keys with their types and fields; a type checker reads them in a stub."""
    given: dict[str, Any] = dict(fields)
    doc = "Keys that the crate ``spec`` describes."
    return create_model(name, __base__=SpecModel, __doc__=doc, __module__=module, **given)
