"""Codes in tables, and their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

NO_INSTANT = -1
"""Stands in ``_ns`` and index columns where there is no instant, delay, flow or probe."""

EVENT_NAMES: Mapping[int, str] = MappingProxyType(
    {0: "enqueue", 1: "dequeue", 2: "drop", 3: "mark", 4: "lost"}
)
"""Codes of ``packets.event``."""

REASON_NAMES: Mapping[int, str] = MappingProxyType(
    {
        0: "none",
        1: "overlimit",
        2: "link loss",
        3: "codel",
        4: "pie",
        5: "red early",
        6: "red forced",
        7: "netem loss",
        8: "policed",
        9: "fattest flow",
        10: "too large",
        11: "memory limit",
        12: "flow limit",
        13: "ce threshold",
        14: "blue",
        15: "pi2",
        16: "pi2 early",
        17: "choke match",
        18: "choke chosen",
        19: "no class",
        20: "ack filter",
        21: "sfb early",
        22: "sfb penalty",
        23: "sfb bin",
    }
)
"""Codes of ``packets.reason``: why a packet was dropped, marked or lost."""
REASONS_FROM_INSIDE = frozenset({3, 9, 11, 14, 15, 18, 20})
"""Codes of ``packets.reason`` of drops from inside the queue; others are dropped as they arrive."""

QUANTITY_NAMES: Mapping[int, str] = MappingProxyType({0: "sojourn", 1: "wait", 2: "system"})
"""Codes of ``distributions.quantity``."""

PLACE_NAMES: Mapping[int, str] = MappingProxyType({-1: "", 0: "before", 1: "after"})
"""Codes of ``place`` in what is captured."""


def place_code(place: str | int) -> int:
    """The code of a place, given by its name or as it is.

    Raises:
        ValueError: No place is called so.
    """
    if isinstance(place, int):
        return place
    for code, name in PLACE_NAMES.items():
        if name == place:
            return code
    names = ", ".join(repr(name) for name in PLACE_NAMES.values())
    raise ValueError(f"place is {place!r}; it is one of {names}")
