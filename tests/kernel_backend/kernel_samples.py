"""Small networks for the kernel."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dumbbell.spec import Experiment

EXPONENTIAL = {"kind": "poisson", "rate": "200pps", "size": "exponential 512B"}


def network(
    *,
    source: dict[str, Any] | None = None,
    link: dict[str, Any] | None = None,
    hops: list[dict[str, Any]] | None = None,
    **other: Any,
) -> Experiment:
    """Sender, router and receiver; the second link's way forward as asked, or both links."""
    names = ["sender", "router", "receiver"]
    links = hops or [{}, {"forward": link or {}}]
    flow = {"name": "stream", "from": "sender", "to": "receiver", "source": source}
    return Experiment.model_validate(
        {
            "duration": "20s",
            "links": [
                {"a": a, "b": b, **each}
                for a, b, each in zip(names, names[1:], links, strict=False)
            ],
            "flows": [flow] if source else [],
            **other,
        }
    )


def ping(**changes: Any) -> dict[str, Any]:
    return {"name": "ping", "from": "sender", "to": "receiver", "interval": "200ms", **changes}


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Type and body of each block; a reader of its own, so that no fault hides another."""
    content, at = path.read_bytes(), 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        yield kind, content[at + 8 : at + length - 4]
        at += length


def missed_in(capture: Path) -> list[int]:
    """By interface, the packets that a capture of the kernel says are not in it (isb_ifdrop)."""
    statistics = [body for kind, body in blocks(capture) if kind == 5]
    return [struct.unpack_from("<Q", body, 28)[0] for body in statistics]
