"""How the sources of traffic are written, as the native module has them.

Each is described once, in its own file of Rust (``spec/src/source``): its keys with their kinds of
values, what carries it, what sends it on a testbed. Models, the way back from a resolved
description, the page of keys and testbed lines take their lists from here.
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
        name: As a person writes it.
        resolved: As the resolved description has it.
        value: What stands there.
        presence: ``always``: it must be given or has a default; otherwise it may be left out, and
            the resolved description then has null, or no such key.
        meaning: What it says.
    """

    name: str
    resolved: str
    value: ValueKind
    presence: Presence
    meaning: str


@dataclass(frozen=True, slots=True)
class SourceForm:
    """A source as a person writes it.

    Attributes:
        kind: Its word in the description.
        summary: What it is.
        transports: What can carry it.
        sends: What it gives to that: packets of their own, a stream of bytes without an end, or
            transfers that end.
        keys: Beside ``kind``, in the order of a file.
        program: What sends it on a testbed: ``itgsend``, ``iperf3`` or ``nothing``.
        why_nothing: Why nothing does.
        example: One of them, in TOML.
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
        """Of its model: `ClosedLoop` for ``closed_loop``."""
        return "".join(word.capitalize() for word in self.kind.split("_"))

    def meaning(self, key: str) -> str:
        """What one of its keys says."""
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
"""By their words, in the engine's order."""

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
"""Of those that the engine does not know: each resolves to one that it does."""
