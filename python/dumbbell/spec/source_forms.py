"""Forms of the traffic sources, from the native module.

Each source is described once, in its Rust file (``spec/src/source``): its keys with their types,
its transports, and the program that sends it on a testbed. Models, the conversion from a resolved
description, the page of keys and testbed commands use these lists.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from dumbbell import _engine

ValueKind = Literal[
    "gap-law",
    "size-law",
    "exponential-gap",
    "constant-gap",
    "size-at",
    "count",
    "size",
    "time",
    "times",
    "sizes",
]
Presence = Literal["always", "or-null", "or-absent"]
_TRANSPORTS = {"udp": ("udp",), "tcp": ("tcp",), "either": ("udp", "tcp")}


@dataclass(frozen=True, slots=True)
class SourceKey:
    """A key of a source.

    Attributes:
        name: Name in the experiment file.
        resolved: Name in the resolved description.
        value: Type of the value.
        presence: ``always`` if it must be given or has a default; otherwise it may be omitted, and
            the resolved description then has null, or no such key.
        meaning: Description of the key.
    """

    name: str
    resolved: str
    value: ValueKind
    presence: Presence
    meaning: str


@dataclass(frozen=True, slots=True)
class SourceForm:
    """The form of a source in an experiment file.

    Attributes:
        kind: Its ``kind`` in the description.
        summary: A short description.
        transports: Allowed transports.
        sends: What it hands to the transport: packets, an endless stream of bytes, or transfers
            that end.
        keys: Its keys besides ``kind``, in the order of a file.
        program: Program that sends it on a testbed: ``itgsend``, ``iperf3`` or ``nothing``.
        why_nothing: Why no program can send it.
        example: An example in TOML.
    """

    kind: str
    summary: str
    transports: tuple[str, ...]
    sends: Literal["packets", "bytes", "transfers"]
    keys: tuple[SourceKey, ...]
    program: Literal["itgsend", "iperf3", "nothing"]
    why_nothing: str
    example: str

    @property
    def class_name(self) -> str:
        """Name of its model: `ClosedLoop` for ``closed_loop``."""
        return "".join(word.capitalize() for word in self.kind.split("_"))

    def meaning(self, key: str) -> str:
        """Description of one of its keys."""
        return next(each.meaning for each in self.keys if each.name == key)


def _forms() -> Mapping[str, SourceForm]:
    found = {}
    for each in json.loads(_engine.sources()):
        found[each["kind"]] = SourceForm(
            kind=each["kind"],
            summary=each["summary"],
            transports=_TRANSPORTS[each["carrier"]],
            sends=each["sends"],
            keys=tuple(SourceKey(**key) for key in each["keys"]),
            program=each["testbed"]["program"],
            why_nothing=each["testbed"].get("why", ""),
            example=each["example"],
        )
    return MappingProxyType(found)


FORMS: Mapping[str, SourceForm] = _forms()
"""Forms by kind, in the engine's order."""

WRITTEN_ONLY: Mapping[str, SourceForm] = MappingProxyType(
    {
        "iperf3": SourceForm(
            kind="iperf3",
            summary="As much as TCP takes, begun as iperf3's client (3.12) begins: its cookie of "
            "37 bytes when the connection is made, and blocks of one size a round trip later, when "
            "the server has answered. It resolves to `greedy`, with the times of the flow's path.",
            transports=("tcp",),
            sends="bytes",
            keys=(
                SourceKey(
                    "write_size",
                    "write_size_bytes",
                    "size",
                    "always",
                    "What each write has, from 100 B to 256 KiB (iperf3's `-l`).",
                ),
            ),
            program="iperf3",
            why_nothing="",
            example='{ kind = "iperf3" }',
        )
    }
)
"""Forms of sources that resolve to another source, because the engine does not have them."""
