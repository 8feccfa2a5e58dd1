"""What ``tc -s qdisc`` prints of cake after its counters: sizes, memory and tins, as text and JSON.

The layout is that of iproute2 6.1, as its ``tc`` prints it for the kernel's cake
(``tests/kernel_backend/test_cake_tins.py`` compares them).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dumbbell import units
from dumbbell.formats.logs.tc_cake import names_by_number
from dumbbell.tables import Run

CakeRow = dict[str, int]
"""A row of ``cake_samples`` or of ``tin_samples``."""

_BITS_PER_BYTE = 8
_NS_PER_US = 1000


@dataclass(frozen=True, slots=True)
class CakeSample:
    """A queue's cake at a sampling time.

    Attributes:
        cake: Its row of ``cake_samples``.
        tins: Its rows of ``tin_samples``, that of the lowest priority first.
    """

    cake: CakeRow
    tins: list[CakeRow]

    def lines(self) -> list[str]:
        """The lines of text, with the empty ones around the table of tins."""
        cake = self.cake
        used, limit = _size(cake["most_memory_bytes"]), _size(cake["memory_limit_bytes"])
        least, most = cake["network_min_bytes"], cake["network_max_bytes"]
        adjusted_least, adjusted_most = cake["adjusted_min_bytes"], cake["adjusted_max_bytes"]
        return [
            f" memory used: {used} of {limit}",
            f" capacity estimate: {_rate(cake['capacity_bps'])}",
            f" min/max network layer size: {least:12} / {most:7}",
            f" min/max overhead-adjusted size: {adjusted_least:8} / {adjusted_most:7}",
            f" average network hdr offset: {cake['header_mean_bytes']:12}",
            "",
            _line("", names_by_number(len(self.tins))),
            *(
                _line(f"  {key}", [shown(tin[column]) for tin in self.tins])
                for key, column, shown in _LINES
            ),
            "",
        ]

    def numbers(self) -> dict[str, Any]:
        """The members of the queue's object in JSON."""
        cake = self.cake
        return {
            "memory_used": cake["most_memory_bytes"],
            "memory_limit": cake["memory_limit_bytes"],
            "capacity_estimate": cake["capacity_bps"] // _BITS_PER_BYTE,
            "min_network_size": cake["network_min_bytes"],
            "max_network_size": cake["network_max_bytes"],
            "min_adj_size": cake["adjusted_min_bytes"],
            "max_adj_size": cake["adjusted_max_bytes"],
            "avg_hdr_offset": cake["header_mean_bytes"],
            "tins": [
                {key: tin[column] // scale for key, column, scale in _MEMBERS} for tin in self.tins
            ],
        }


def cake_samples(run: Run, queue: int) -> dict[int, CakeSample]:
    """The samples of a queue's cake, by time in nanoseconds; empty if it has none."""
    if "cake_samples" not in run.tables:
        return {}
    found = {
        row["t_ns"]: CakeSample(row, [])
        for row in rows(run, "cake_samples")
        if row["queue"] == queue
    }
    for row in rows(run, "tin_samples"):
        if row["queue"] == queue:
            found[row["t_ns"]].tins.append(row)
    return found


def rows(run: Run, table: str) -> list[dict[str, Any]]:
    """The rows of a table, by column."""
    columns = run.tables[table]
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, values, strict=True)) for values in zip(*lists, strict=True)]


def _line(head: str, values: list[str]) -> str:
    return f"{head:10}" + "".join(f"{value:>13}" for value in values)


def _size(size_bytes: int) -> str:
    return units.shown_size(size_bytes)


def _rate(rate_bps: int) -> str:
    return units.shown_rate(rate_bps // _BITS_PER_BYTE)


def _time(time_ns: int) -> str:
    """The kernel passes whole microseconds."""
    return units.shown_time(time_ns // _NS_PER_US * _NS_PER_US)


_LINES: tuple[tuple[str, str, Callable[[int], str]], ...] = (
    ("thresh", "threshold_bps", _rate),
    ("target", "target_ns", _time),
    ("interval", "interval_ns", _time),
    ("pk_delay", "peak_delay_ns", _time),
    ("av_delay", "mean_delay_ns", _time),
    ("sp_delay", "base_delay_ns", _time),
    ("backlog", "backlog_bytes", _size),
    ("pkts", "arrived_pkts", str),
    ("bytes", "arrived_bytes", str),
    ("way_inds", "way_indirect_hits", str),
    ("way_miss", "way_misses", str),
    ("way_cols", "way_collisions", str),
    ("drops", "dropped_pkts", str),
    ("marks", "marked_pkts", str),
    ("ack_drop", "ack_dropped_pkts", str),
    ("sp_flows", "sparse_flows", str),
    ("bk_flows", "bulk_flows", str),
    ("un_flows", "unresponsive_flows", str),
    ("max_len", "largest_bytes", str),
    ("quantum", "quantum_bytes", str),
)
"""Word of a line, column of ``tin_samples``, and how tc shows the value."""

_MEMBERS: tuple[tuple[str, str, int], ...] = (
    ("threshold_rate", "threshold_bps", _BITS_PER_BYTE),
    ("sent_bytes", "arrived_bytes", 1),
    ("backlog_bytes", "backlog_bytes", 1),
    ("target_us", "target_ns", _NS_PER_US),
    ("interval_us", "interval_ns", _NS_PER_US),
    ("peak_delay_us", "peak_delay_ns", _NS_PER_US),
    ("avg_delay_us", "mean_delay_ns", _NS_PER_US),
    ("base_delay_us", "base_delay_ns", _NS_PER_US),
    ("sent_packets", "arrived_pkts", 1),
    ("way_indirect_hits", "way_indirect_hits", 1),
    ("way_misses", "way_misses", 1),
    ("way_collisions", "way_collisions", 1),
    ("drops", "dropped_pkts", 1),
    ("ecn_mark", "marked_pkts", 1),
    ("ack_drops", "ack_dropped_pkts", 1),
    ("sparse_flows", "sparse_flows", 1),
    ("bulk_flows", "bulk_flows", 1),
    ("unresponsive_flows", "unresponsive_flows", 1),
    ("max_pkt_len", "largest_bytes", 1),
    ("flow_quantum", "quantum_bytes", 1),
)
"""Key in JSON, column of ``tin_samples``, and what the column's value is divided by."""
