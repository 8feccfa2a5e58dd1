"""Keys of the description, as the native module has them.

Each is described once, in a table of Rust (``spec/src``): its name, what stands there, its default
and its meaning. The models, the way back from a resolved description, the page of keys and the
kernel backend take their lists from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, WithJsonSchema

from dumbbell import units
from dumbbell.spec.fields import (
    Flag,
    Time,
    quantity,
    quantity_schema,
    size_bytes,
    time_ns,
    whole,
    word,
)
from dumbbell.spec.refusal import Refused, nearest

Kind = Literal["flag", "flag-or", "words", "whole", "bytes", "time", "cwnd-changes", "own"]
Presence = Literal["or-zero", "or-default", "by-profile"]


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a table of the description.

    Attributes:
        name: As a person writes it.
        resolved: As the resolved description has it; of a table within, its path there.
        kind: What stands there.
        bounds: Of that: the words or numbers that are allowed, with a unit and an example.
        presence: What the resolved description has when it is left out: 0, ``default``, or what
            the profile says.
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
        conversions: Mapping[Kind, Callable[[Any], Any]] = {"time": time_ns, "bytes": size_bytes}
        return conversions.get(self.kind, lambda same: same)(value)

    def written(self, value: Any) -> Any:
        """A resolved value as a person writes it; None for one that nobody writes."""
        if self.kind == "bytes":
            return units.format_size(value) if value or self.presence != "or-zero" else None
        return units.format_time(value) if self.kind == "time" else value

    @property
    def written_default(self) -> Any:
        """Its default as a person writes it."""
        return f"{self.default}B" if self.kind == "bytes" else self.written(self.default)

    def takes(self) -> Any:
        """The type of its value in a model, with its check and its schema; not of ``own`` ones."""
        schema: dict[str, Any]
        match self.kind:
            case "flag":
                return Flag
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
                example = self.bounds["example"]
                check = BeforeValidator(_size(self.bounds))
                return Annotated[str, check, quantity_schema("size", example)]
            case "time":
                return Time
        raise AssertionError(f"{self.name} has a type of its own")


def _flag_or(other: str) -> Callable[[object], bool | str]:
    def check(value: object) -> bool | str:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value == other:
            return value
        raise Refused(value, f'true, false or "{other}"', nearest(value, [other]))

    return check


def _size(bounds: Mapping[str, Any]) -> Callable[[object], str]:
    allowed = f'a size with its unit from {bounds["range"]}, such as "{bounds["example"]}"'

    def check(value: object) -> str:
        within = (bounds["least"], bounds["most"])
        return quantity(value, units.parse_size_bytes, within, allowed, "B")

    return check


def key_of(given: Mapping[str, Any]) -> Key:
    """A key as the native module lists it."""
    value = given["value"]
    kind, bounds = next(iter(value.items())) if isinstance(value, dict) else (value, None)
    same = ("name", "resolved", "presence", "default", "meaning")
    more = {"kernel": given["kernel"]} if "kernel" in given else {}
    return Key(kind=kind, bounds=bounds, **{each: given[each] for each in same}, **more)
