"""Reading a recorded packet trace to replay."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from dumbbell.spec.fields import LARGEST_PACKET_BYTES, LONGEST_NS
from dumbbell.spec.refusal import Refused

LARGEST_FILE_BYTES = 32 << 20
MOST_PACKETS = 1_000_000

_NS_PER_UNIT = {
    "time": 10**9,
    "time_s": 10**9,
    "time_ms": 10**6,
    "time_us": 10**3,
    "time_ns": 1,
}
_NUMBER = re.compile(r"[0-9]{1,20}(\.[0-9]{0,20})?")


@dataclass(frozen=True, slots=True)
class Trace:
    """Times and sizes of packets.

    Attributes:
        times_ns: From the flow's start, not decreasing.
        sizes_bytes: As many sizes, each from 1 to 65535.
    """

    times_ns: tuple[int, ...]
    sizes_bytes: tuple[int, ...]


def read_trace(name: str, folder: Path) -> Trace:
    """Reads a CSV file with a column ``time`` (seconds) and a column ``bytes``.

    The column name may give another unit: ``time_s``, ``time_ms``, ``time_us``, ``time_ns``. Other
    columns are ignored.

    Args:
        name: Path relative to ``folder``; an untrusted description must not read files elsewhere.
        folder: Folder of the description.

    Raises:
        Refused: The file is outside the folder, too large, or not such a table.
    """
    try:
        text = file_inside(name, folder, LARGEST_FILE_BYTES).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Refused(name, "a CSV file in UTF-8") from None
    except OSError as error:
        raise Refused(name, f"a CSV file that can be read ({error.strerror})") from None
    rows = csv.reader(io.StringIO(text))
    try:
        time_column, size_column, ns_per_unit = _columns(next(rows, []))
        return _trace(rows, time_column, size_column, ns_per_unit)
    except csv.Error as error:
        raise Refused(f"line {rows.line_num}", f"a CSV file ({error})") from None


def file_inside(name: str, folder: Path, largest_bytes: int) -> Path:
    """The file, if it is inside the folder, also after following links, and small enough.

    Raises:
        Refused: The file is outside the folder, or too large.
    """
    allowed = "a relative path to a file in the experiment's own folder or below it"
    if "\0" in name or Path(name).is_absolute():
        raise Refused(name, allowed)
    home = folder.resolve()
    path = (home / name).resolve()
    if not path.is_relative_to(home):
        raise Refused(name, allowed)
    if not path.is_file():
        raise Refused(name, f"{allowed}; there is no such file")
    if path.stat().st_size > largest_bytes:
        raise Refused(name, f"a file of at most {largest_bytes >> 20} MiB")
    return path


def _columns(header: list[str]) -> tuple[int, int, int]:
    """Indices of the columns of times and sizes, and the unit of times in nanoseconds."""
    names = [name.strip() for name in header]
    times = [name for name in names if name in _NS_PER_UNIT]
    if len(times) != 1 or names.count("bytes") != 1:
        allowed = "a first line with one column named time (seconds) and one named bytes"
        raise Refused(",".join(names), allowed)
    return names.index(times[0]), names.index("bytes"), _NS_PER_UNIT[times[0]]


def _trace(
    rows: Iterable[list[str]], time_column: int, size_column: int, ns_per_unit: int
) -> Trace:
    times_ns: list[int] = []
    sizes_bytes: list[int] = []
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) <= max(time_column, size_column):
            raise Refused(f"line {number}", "as many columns as the first line has")
        times_ns.append(_time_ns(row[time_column], ns_per_unit, number))
        sizes_bytes.append(_size_bytes(row[size_column], number))
        if len(times_ns) > MOST_PACKETS:
            raise Refused(f"line {number}", f"at most {MOST_PACKETS} packets")
        if len(times_ns) > 1 and times_ns[-1] < times_ns[-2]:
            raise Refused(f"line {number}: {row[time_column]}", "times that do not decrease")
    return Trace(tuple(times_ns), tuple(sizes_bytes))


def _time_ns(text: str, ns_per_unit: int, number: int) -> int:
    allowed = "a time of at least 0 and at most 200 days, in plain decimals"
    try:
        if not _NUMBER.fullmatch(text.strip()):
            raise InvalidOperation
        time_ns = round(Decimal(text.strip()) * ns_per_unit)
    except InvalidOperation:
        raise Refused(f"line {number}: {text}", allowed) from None
    if time_ns > LONGEST_NS:
        raise Refused(f"line {number}: {text}", allowed)
    return time_ns


def _size_bytes(text: str, number: int) -> int:
    digits = text.strip()
    plain = digits.isascii() and digits.isdigit() and len(digits) <= 5
    if not plain or not 1 <= int(digits) <= LARGEST_PACKET_BYTES:
        raise Refused(f"line {number}: {text}", "a whole number of bytes from 1 to 65535")
    return int(digits)
