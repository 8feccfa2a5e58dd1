"""Read tshark's output for a capture as an imported `Run` with the table ``captured_flows``.

The command is ``tshark -T fields -E separator=,`` with these fields in this order, as in the data
of published experiments: ``frame.time_epoch ip.src ip.dst tcp.srcport tcp.dstport frame.len
tcp.analysis.retransmission``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dumbbell.formats.capture import MOST_FLOWS, NOT_KNOWN, imported
from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.unpacking import LARGEST_UNPACKED_BYTES, open_unpacked
from dumbbell.tables import Run

CSV_FIELDS = (
    "frame.time_epoch",
    "ip.src",
    "ip.dst",
    "tcp.srcport",
    "tcp.dstport",
    "frame.len",
    "tcp.analysis.retransmission",
)
"""Columns of the text, in order."""
LONGEST_LINE = 4096
_LARGEST_PREFACE = 1 << 20
"""Number of characters without a valid line after which reading stops."""
_Way: TypeAlias = tuple[str, str, int, int]
"""Addresses and ports of sender and receiver."""
_TCP = 6
_TIME = re.compile(r"(\d{1,10})(?:\.(\d{1,9}))?")
_PORT = re.compile(r"\d{1,5}")
_SIZE = re.compile(r"\d{1,7}")
_MOST_INTERVALS = 2048
_FIRST_WIDTH_NS = 1_000_000


@dataclass(slots=True)
class _Counted:
    """One direction of a flow in a CSV file."""

    first_ns: int
    last_ns: int
    pkts: int = 0
    size: int = 0
    retransmitted: int = 0


@dataclass(slots=True)
class _Series:
    """Bytes per interval; the interval is doubled if there would be too many."""

    begin_ns: int
    width_ns: int = _FIRST_WIDTH_NS
    counts: list[int] = field(default_factory=list)

    def add(self, at_ns: int, size: int) -> None:
        since = max(0, at_ns - self.begin_ns)
        while since // self.width_ns >= _MOST_INTERVALS:
            self.counts = [sum(self.counts[at : at + 2]) for at in range(0, len(self.counts), 2)]
            self.width_ns *= 2
        index = since // self.width_ns
        self.counts.extend([0] * (index + 1 - len(self.counts)))
        self.counts[index] += size


@dataclass(slots=True)
class _Gathered:
    """State of the parser."""

    flows: dict[_Way, _Counted] = field(default_factory=dict)
    first_way: dict[_Way, _Way] = field(default_factory=dict)
    """For each direction, the direction of the first packet of its connection."""
    series: _Series | None = None
    read: int = 0
    others: int = 0
    passed_over: int = 0
    wrong: int = 0
    first_wrong: str = ""
    endless: str = ""

    def line(self, fields: list[str], where: str, *, may_be_heading: bool) -> None:
        """Parse a line."""
        row = _csv_row(fields)
        if row is not None:
            self._add(*row)
        elif len(fields) == len(CSV_FIELDS) and _TIME.fullmatch(fields[0]):
            self.others += 1
        elif fields and not (may_be_heading and fields[0] == CSV_FIELDS[0]):
            self.wrong += 1
            self.first_wrong = self.first_wrong or where

    def _add(self, way: _Way, at_ns: int, size: int, is_flagged: bool) -> None:
        counted = self.flows.get(way)
        if counted is None:
            if len(self.flows) >= MOST_FLOWS:
                self.passed_over += 1
                return
            counted = self.flows[way] = _Counted(at_ns, at_ns)
            back = (way[1], way[0], way[3], way[2])
            self.first_way[way] = self.first_way.get(back, way)
        self.read += 1
        counted.first_ns = min(counted.first_ns, at_ns)
        counted.last_ns = max(counted.last_ns, at_ns)
        counted.pkts += 1
        counted.size += size
        counted.retransmitted += is_flagged
        if self.series is None:
            self.series = _Series(at_ns)
        self.series.add(at_ns, size)

    def problems(self) -> list[str]:
        """What was not counted, in words."""
        told = [
            (self.others, "packets that are not TCP over IPv4: in no flow"),
            (self.wrong, f"lines are of another form, the first is {self.first_wrong}"),
            (self.passed_over, f"packets of flows beyond the first {MOST_FLOWS}"),
        ]
        problems = [f"{count} {words}" for count, words in told if count]
        if self.endless:
            problems.append(f"{self.endless}: the line has no end, nothing behind it was read")
        return problems


def is_tshark_csv(lines: Iterable[str]) -> bool:
    """Whether a line has those fields, or is their heading."""
    return any(
        _csv_row(fields) is not None or tuple(fields) == CSV_FIELDS
        for fields in (line.split(",") for line in lines if len(line) < LONGEST_LINE)
    )


def read_tshark_csv(source: str | Path) -> Run:
    """Read tshark's output for a capture, with `CSV_FIELDS` in order.

    Args:
        source: Path of the file. It may begin with a heading (``-E header=y``).

    Returns:
        As `dumbbell.formats.read_capture`. Retransmissions are those that tshark flagged; numbers
        that do not follow from the fields are -1. Lines about other packets are counted in
        ``meta["problems"]``.

    Raises:
        FormatError: No line has that form.
        OSError: There is no such file.
    """
    path = Path(source)
    gathered = _gathered(path)
    series = gathered.series
    if series is None:
        raise UnreadableError(
            gathered.first_wrong or str(path),
            f"not a line of the fields that tshark was to print ({','.join(CSV_FIELDS)})",
        )
    t0 = min(each.first_ns for each in gathered.flows.values())
    names = list(dict.fromkeys(_name(way) for way in gathered.first_way.values()))
    over_time = {
        "queue": path.name,
        "place": NOT_KNOWN,
        "width_ns": series.width_ns,
        "begin_ns": series.begin_ns - t0,
        "bytes": series.counts,
    }
    return imported(
        path,
        _values(gathered, names, t0),
        queues=[path.name],
        flows=names,
        t0_epoch_ns=t0,
        series=[over_time],
        read={"format": "csv", "pkts": gathered.read, "bytes": path.stat().st_size},
        problems=gathered.problems(),
    )


def _gathered(path: Path) -> _Gathered:
    gathered = _Gathered()
    size = 0
    for number, text in enumerate(_csv_lines(path), start=1):
        if text is None:
            gathered.endless = f"{path}:{number - 1}"
            break
        size += len(text)
        if gathered.series is None and size > _LARGEST_PREFACE:
            break
        fields = next(csv.reader([text]), [])
        gathered.line(fields, f"{path}:{number}", may_be_heading=number == 1)
    return gathered


def _values(gathered: _Gathered, names: list[str], t0: int) -> dict[str, Any]:
    """Columns of ``captured_flows``, as far as the fields contain them."""
    place_of = {name: index for index, name in enumerate(names)}
    first_way = gathered.first_way
    rows = [
        (
            place_of[_name(first_way[way])],
            first_way[way] != way,
            way[2],
            way[3],
            each.first_ns - t0,
            each.last_ns - t0,
            each.pkts,
            each.size,
            each.retransmitted,
        )
        for way, each in gathered.flows.items()
    ]
    table = np.array(rows, dtype=np.int64)
    keys = (
        "flow",
        "is_reply",
        "source_port",
        "destination_port",
        "first_ns",
        "last_ns",
        "pkts",
        "bytes",
        "retransmission_pkts",
    )
    same = {"queue": 0, "connection": 1, "protocol": _TCP}
    constant = {key: np.full(len(rows), value) for key, value in same.items()}
    return constant | dict(zip(keys, table.T, strict=True))


def _csv_row(fields: list[str]) -> tuple[_Way, int, int, bool] | None:
    """(flow, time, frame bytes, whether flagged) of a line for a TCP segment."""
    if len(fields) != len(CSV_FIELDS):
        return None
    time, source, destination, *ports, length, flag = (each.strip() for each in fields)
    stamp = _TIME.fullmatch(time)
    if not stamp or not _SIZE.fullmatch(length) or not all(map(_PORT.fullmatch, ports)):
        return None
    if not _is_address(source) or not _is_address(destination):
        return None
    at_ns = int(stamp[1]) * 10**9 + int((stamp[2] or "").ljust(9, "0"))
    source_port, destination_port = (int(port) for port in ports)
    return (source, destination, source_port, destination_port), at_ns, int(length), bool(flag)


@lru_cache(maxsize=4096)
def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _name(way: _Way) -> str:
    source, destination, source_port, destination_port = way
    return f"{source}:{source_port} > {destination}:{destination_port}"


def _csv_lines(path: Path) -> Iterator[str | None]:
    """Lines without their ends; lines that are too long are truncated, which makes them invalid.

    A final None means that a line does not end within a mebibyte.
    """
    unpacked = io.BufferedReader(open_unpacked(path, LARGEST_UNPACKED_BYTES))
    with io.TextIOWrapper(unpacked, encoding="utf-8", errors="replace", newline="") as file:
        length = 0
        while part := file.readline(LONGEST_LINE):
            ends = part.endswith("\n")
            if not length:
                yield part.rstrip("\r\n") if ends or len(part) < LONGEST_LINE else part[:80]
            length = 0 if ends else length + len(part)
            if length > _LARGEST_PREFACE:
                yield None
                return
