"""Cake's tins in the output of ``tc -s qdisc``, as text or JSON (iproute2, ``tc/q_cake.c``).

The text has a line of the tins' names, and then one line per quantity with a value for each tin.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dumbbell.formats.logs.model import LogColumn
from dumbbell.formats.logs.text import Members, number

Row = dict[str, int | float | str]

TINS = (
    LogColumn("call", "-", "Number of the call of tc in the file, from 1."),
    LogColumn("epoch_ns", "ns", "Unix time of the call, where a line says it."),
    LogColumn("queue", "-", "As of its queue.", "text"),
    LogColumn("tin", "-", "``Bulk``, ``Best Effort``, ``Video``, ``Voice``, ``Tin 0``.", "text"),
    LogColumn("arrived_pkts", "packets", "Came in since it was made, dropped ones too."),
    LogColumn("arrived_bytes", "bytes", "The same."),
    LogColumn("dropped_pkts", "packets", "Dropped since it was made."),
    LogColumn("marked_pkts", "packets", "Marked (ECN) since it was made."),
    LogColumn("ack_dropped_pkts", "packets", "Acknowledgements that its filter dropped."),
    LogColumn("backlog_bytes", "bytes", "Held at that instant."),
    LogColumn("delay_peak_ns", "ns", "What cake takes its peak delay for."),
    LogColumn("delay_mean_ns", "ns", "What cake takes its mean delay for."),
    LogColumn("delay_base_ns", "ns", "What cake takes the delay of sparse flows for."),
)
_NAME = r"(?:Bulk|Best Effort|Video|Voice|Tin \d)"
_NAMES = re.compile(rf" {{4,}}{_NAME}(?: {{1,16}}{_NAME}){{0,7}} *")
_LINE = re.compile(r" {2,4}(?P<key>[a-z_]{4,8})(?P<values>(?: {1,24}\d[\w.]{0,18}){1,8}) *")
_SIZES = {"b": 1, "Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_VALUE = re.compile(r"(?P<digits>\d{1,18}(?:\.\d{1,9})?)(?P<unit>[a-zA-Z]{0,2})")
_COUNTS: dict[str, int] = {"": 1}
_KEYS = {
    "pkts": ("arrived_pkts", _COUNTS),
    "bytes": ("arrived_bytes", _COUNTS),
    "drops": ("dropped_pkts", _COUNTS),
    "marks": ("marked_pkts", _COUNTS),
    "ack_drop": ("ack_dropped_pkts", _COUNTS),
    "backlog": ("backlog_bytes", _SIZES),
    "pk_delay": ("delay_peak_ns", _TIMES),
    "av_delay": ("delay_mean_ns", _TIMES),
    "sp_delay": ("delay_base_ns", _TIMES),
}
_OTHERS = frozenset(
    ("thresh", "target", "interval", "way_inds", "way_miss", "way_cols", "sp_flows", "bk_flows")
) | {"un_flows", "max_len", "quantum"}
_OF_JSON: dict[str, tuple[str, int]] = {
    "sent_packets": ("arrived_pkts", 1),
    "sent_bytes": ("arrived_bytes", 1),
    "drops": ("dropped_pkts", 1),
    "ecn_mark": ("marked_pkts", 1),
    "ack_drops": ("ack_dropped_pkts", 1),
    "backlog_bytes": ("backlog_bytes", 1),
    "peak_delay_us": ("delay_peak_ns", 1000),
    "avg_delay_us": ("delay_mean_ns", 1000),
    "base_delay_us": ("delay_base_ns", 1000),
}
_TINS = {3: ("Bulk", "Best Effort", "Voice"), 4: ("Bulk", "Best Effort", "Video", "Voice")}
"""Names by number of tins (``diffserv3``, ``diffserv4``); JSON does not contain them."""


def names_by_number(tins: int) -> list[str]:
    """Names that tc gives to this number of tins."""
    return list(_TINS.get(tins, [f"Tin {index}" for index in range(tins)]))


def names_of_tins(line: str) -> list[str]:
    """The tins named in a heading; None for another line."""
    return re.findall(_NAME, line) if _NAMES.fullmatch(line) else []


def take_tins(line: str, tins: list[Row]) -> bool:
    """Parse a line of values into the tins; returns whether it was one.

    Raises:
        ValueError: A number is malformed.
    """
    found = _LINE.fullmatch(line)
    if found is None or not tins:
        return False
    key, values = found["key"], found["values"].split()
    if len(values) != len(tins) or any(_KEYS.get(key, ("",))[0] in row for row in tins):
        return False
    if key not in _KEYS:
        return key in _OTHERS
    name, units = _KEYS[key]
    for row, value in zip(tins, values, strict=True):
        row[name] = _scaled(value, units)
    return True


def tins_of_json(queue: Members) -> Iterator[Row]:
    """The tins of a queue."""
    rows = list(queue.objects("tins"))
    names = names_by_number(len(rows))
    for name, each in zip(names, rows, strict=True):
        yield {
            "tin": name,
            **{column: each.whole(key, scale) for key, (column, scale) in _OF_JSON.items()},
        }


def marked_pkts(tins: list[Row]) -> int | None:
    """Marked packets of all tins together; None if unknown."""
    found = [row.get("marked_pkts", -1) for row in tins]
    counts = [each for each in found if isinstance(each, int) and each >= 0]
    return sum(counts) if counts and len(counts) == len(found) else None


def _scaled(value: str, units: dict[str, int]) -> int:
    found = _VALUE.fullmatch(value)
    if found is None or found["unit"] not in units:
        raise ValueError(value)
    return number(found["digits"], units[found["unit"]])
