"""Keys of the description, from the native module.

Each key is described once, in a Rust table (``spec/src``): its name, type, default and meaning. The
models, the conversion from a resolved description, the page of keys and the kernel backend use
these lists.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model

from dumbbell import _engine, units
from dumbbell.spec.base import SpecModel
from dumbbell.spec.conversions import PLAIN, Conversion, conversion_of, same
from dumbbell.spec.fields import (
    NO_GRO,
    NO_POLICER,
    OVERHEADS_BYTES,
    RATE_BPS,
    SIZE_BYTES,
    TIME_NS,
    Dscp,
    Flag,
    Gro,
    KernelName,
    Name,
    Overhead,
    Police,
    PositiveTime,
    Probability,
    Qdisc,
    Rate,
    Seed,
    Share,
    Time,
    Title,
    numbers,
    quantity,
    quantity_schema,
    whole,
    word,
    word_list,
)
from dumbbell.spec.refusal import Refused, nearest
from dumbbell.spec.traces import TraceOrFile

Kind = Literal[
    "flag",
    "flag-or",
    "words",
    "word-list",
    "whole",
    "bytes",
    "rate-within",
    "time-within",
    "time",
    "positive-time",
    "end-time",
    "rate",
    "overhead",
    "probability",
    "share",
    "police",
    "qdisc",
    "gro",
    "trace",
    "changes",
    "cwnd-changes",
    "name",
    "title",
    "kernel-name",
    "queue-names",
    "seed",
    "code-point",
    "numbers",
    "own",
]
Presence = Literal[
    "always", "or-null", "or-absent", "or-zero", "or-default", "by-profile", "by-others"
]


@dataclass(frozen=True)
class Key:
    """A key of a table of the description.

    Attributes:
        name: Name in the experiment file.
        resolved: Name in the resolved description; for a nested table its path.
        kind: Type of the value.
        bounds: The allowed words or numbers, with a unit and an example.
        presence: Whether it may be omitted, and what the resolved description then has: null, no
            such key, 0, ``default``, the value of the profile, or a value derived from other keys.
        default: The resolved default; for TCP that of the profile ``linux-6.1``.
        meaning: Description of the key.
        kernel: Scope of the setting on the kernel: a flow, both hosts of a flow, the sending host,
            the path between two hosts, or nothing (only the default is possible).
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
        """A resolved value in the form of the experiment file; None if it cannot be written
        there."""
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
        return PLAIN if self.kind in _OF_OTHERS else conversion_of(self.takes())

    @property
    def attribute(self) -> str:
        """Of a model: Python cannot write ``from``."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    @property
    def is_left_out(self) -> bool:
        """Whether a description that does not say it has no default for it."""
        is_absent = self.presence == "or-absent" and self.kind == "whole" and self.default is None
        return is_absent or self.presence in ("or-null", "or-zero", "by-profile", "by-others")

    @property
    def written_default(self) -> Any:
        """Its default in the form of the experiment file."""
        if self.kind == "overhead":
            return next(word for word, size in OVERHEADS_BYTES.items() if size == self.default)
        if self.kind == "bytes":
            return f"{self.default}B"
        words = {"police": NO_POLICER, "gro": NO_GRO, "trace": None, "changes": ()}
        return words.get(self.kind) if self.kind in words else self.written(self.default)

    def takes(self) -> Any:
        """The type of its value in a model, with its check and its schema.

        Those that have types of their own (`_OF_OTHERS`) have none here.
        """
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
            case "bytes" | "rate-within" | "time-within":
                of = _WITHIN[self.kind]
                schema_of = quantity_schema(of.name, *self.bounds["examples"])
                check = BeforeValidator(of.check(self.bounds))
                return Annotated[str, check, schema_of, of.conversion]
            case "numbers":
                return numbers(self.bounds["allowed"], self.bounds["words"], self.bounds["unit"])
        return word_list(*self.bounds) if self.kind == "word-list" else _TAKES[self.kind]

    def field(self, takes: Any = None, default: Any = ..., meaning: str = "") -> tuple[Any, Any]:
        """Its type and its field in a model.

        Args:
            takes: The type, in place of `takes`.
            default: As a person writes it, in place of that of the table.
            meaning: In place of that of the table.
        """
        takes = self.takes() if takes is None else takes
        said: dict[str, Any] = {"description": meaning or self.meaning}
        if self.attribute != self.name:
            said["validation_alias"] = self.name
        if self.kind == "name" and self.bounds:
            said["examples"] = self.bounds
        if self.presence == "always":
            return takes, Field(**said)
        if self.is_left_out and default is ...:
            return takes | None, Field(default=None, **said)
        return takes, Field(default=self.written_default if default is ... else default, **said)


_OF_OTHERS = ("cwnd-changes", "own", "queue-names")
"""Kinds of keys whose types stand beside the model that has them."""
_TAKES: Mapping[Kind, Any] = {
    "flag": Flag,
    "time": Time,
    "positive-time": PositiveTime,
    "end-time": PositiveTime,
    "name": Name,
    "title": Title,
    "kernel-name": KernelName,
    "seed": Seed,
    "code-point": Dscp,
    "rate": Rate,
    "overhead": Overhead,
    "probability": Probability,
    "share": Share,
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


@dataclass(frozen=True)
class _Within:
    """A quantity within bounds.

    Attributes:
        name: What it is.
        parse: From text.
        unit: The unit that the hint for a bare number has; that of the key's example when empty.
        conversion: Of its values.
    """

    name: str
    parse: Callable[[str], int]
    unit: str
    conversion: Conversion

    def check(self, bounds: Mapping[str, Any]) -> Callable[[object], str]:
        within = f"from {bounds['range']}" if bounds["least"] else f"of {bounds['range']}"
        allowed = f'a {self.name} with its unit {within}, such as "{bounds["examples"][0]}"'
        both = (bounds["least"], bounds["most"])
        unit = self.unit or bounds["examples"][0].lstrip("0123456789.")
        return lambda value: quantity(value, self.parse, both, allowed, unit)


_WITHIN: Mapping[str, _Within] = {
    "bytes": _Within("size", units.parse_size_bytes, "B", SIZE_BYTES),
    "rate-within": _Within("rate", units.parse_rate_bps, "", RATE_BPS),
    "time-within": _Within("time", units.parse_time_ns, "", TIME_NS),
}


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
EXPERIMENT: Mapping[str, Key] = MappingProxyType(_TABLES["experiment"])
"""Of the top of a file, but hosts, links and what sends (``spec/src/lib.rs``)."""
FLOW: Mapping[str, Key] = MappingProxyType(_TABLES["flow"])
"""Of a table of equal flows (``spec/src/sender.rs``)."""
ONE_FLOW: Mapping[str, Key] = MappingProxyType(
    {name: key for name, key in FLOW.items() if name != "count"}
)
"""Of one of them, as resolved."""
PROBE: Mapping[str, Key] = MappingProxyType(_TABLES["probe"])
"""Of a probe."""
HOME: Mapping[str, Key] = MappingProxyType(_TABLES["home"])
"""Of a home access line (``spec/src/home.rs``), which resolves to links, flows and probes."""


def key_fields(
    keys: Mapping[str, Key], own: Mapping[str, tuple[Any, Any]] = MappingProxyType({})
) -> dict[str, tuple[Any, Any]]:
    """Types and fields of a model by its attributes.

    Args:
        keys: Of its table.
        own: Of those that have some of their own by their names: type, and default or ``...``.
    """
    return {key.attribute: key.field(*own.get(name, ())) for name, key in keys.items()}


def key_model(name: str, module: str, fields: Mapping[str, tuple[Any, Any]]) -> type[SpecModel]:
    """A model of keys with their types and fields; a type checker reads them in a stub."""
    given: dict[str, Any] = dict(fields)
    doc = "Keys that the crate ``spec`` describes."
    return create_model(name, __base__=SpecModel, __doc__=doc, __module__=module, **given)


def resolved_keys(model: SpecModel, keys: Mapping[str, Key]) -> dict[str, Any]:
    """The keys of a model as the resolved description has them, in the table's order.

    What follows from other keys, or has a type of its own, is None; its model fills it in.
    """
    found: dict[str, Any] = {}
    for key in keys.values():
        value = getattr(model, key.attribute)
        if key.presence == "or-absent" and value == _default(model, key):
            continue
        if key.presence == "by-others" or key.kind in _OF_OTHERS:
            found[key.resolved] = None
            continue
        left_out = 0 if key.presence == "or-zero" else None
        found[key.resolved] = left_out if value is None else key.number(value)
    return found


def _default(model: SpecModel, key: Key) -> Any:
    return type(model).model_fields[key.attribute].default
