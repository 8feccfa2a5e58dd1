"""Read captures as an imported `Run` with ``captured_flows`` and ``captured_intervals``.

The crate ``capture`` reads pcapng and pcap packet by packet, in memory independent of the file's
size. Unreadable parts are named in the run's metadata; the rest is kept.
"""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from dumbbell import _engine
from dumbbell.folders import disk_full_error, replaced_file
from dumbbell.formats.errors import FormatError, UnreadableError
from dumbbell.formats.unpacking import LARGEST_UNPACKED_BYTES, Packing, open_unpacked
from dumbbell.tables import SCHEMA, Run

MOST_FLOWS = 200_000
"""Most connections that are counted separately."""
MOST_VIEWS = 1024
"""Most interfaces, or capture points at queues, that are distinguished."""
SERIES = "series"
"""Key in ``meta``: for each view the interval in ns, the first instant, and the bytes per interval.
"""
NOT_KNOWN = -1
"""Value of columns that an import cannot fill."""
_NAMES = tuple(column.name for column in SCHEMA["captured_flows"])
_Columns: TypeAlias = dict[str, Any]


def read_capture(source: str | Path) -> Run:
    """Read the flows of a capture.

    Args:
        source: A pcapng or pcap file, possibly compressed by gzip, bzip2, xz or zstd.

    Returns:
        An imported run with two tables. ``captured_flows`` has one row for each direction of each
        connection and each interface (or capture point at a queue, if interfaces are named so);
        ``captured_intervals`` has the connections with the most bytes over time, at most 128. Times
        count from the first packet; ``meta["t0_epoch_ns"]`` is its Unix time. ``meta["read"]``
        states how much was read, ``meta["problems"]`` what was not, in words.

    Raises:
        FormatError: It is not a capture, or cannot be read at all.
        OSError: There is no such file.
    """
    path = Path(source)
    try:
        with open_unpacked(path, LARGEST_UNPACKED_BYTES) as file:
            # Reading in the native module is faster, and a pipe can be opened only once.
            is_plain = file.packing is Packing.NONE and not path.is_fifo()
            found = _engine.analyze_capture(str(path) if is_plain else io.BufferedReader(file))
    except _engine.CaptureError as error:
        is_text = 'begins with "' in str(error)
        hint = "; tshark's fields are read from a file named .csv" if is_text else ""
        raise UnreadableError(str(path), file.damage or f"{error}{hint}") from None
    if not found["pkts"]:
        none = file.damage or found["error"] or "the capture has no packet"
        raise UnreadableError(str(path), none)
    columns = dict(found["columns"])
    labels: list[str] = found["labels"]
    flow_of = {name: index for index, name in enumerate(dict.fromkeys(labels))}
    t0 = int(columns["first_ns"].min()) if labels else 0
    views = found["views"]
    view_names = [view["name"] or path.name for view in views]
    queues = list(dict.fromkeys(view_names))
    place_of = {name: index for index, name in enumerate(queues)}
    queue_of = np.array([place_of[name] for name in view_names], dtype=np.int64)
    places = np.array([view["place"] for view in views], dtype=np.int64)

    def placed(columns: dict[str, Any], labels: list[str], times: tuple[str, ...]) -> _Columns:
        which = columns.pop("view")
        return {
            **columns,
            "queue": queue_of[which],
            "place": places[which],
            "flow": np.array([flow_of[label] for label in labels], dtype=np.int64),
            **{name: columns[name] - t0 for name in times},
        }

    values = placed(columns, labels, ("first_ns", "last_ns"))
    values["probe"] = np.full(len(labels), NOT_KNOWN)
    intervals = placed(dict(found["interval_columns"]), found["interval_labels"], ("begin_ns",))
    series = [
        {
            "queue": queues[index],
            "place": view["place"],
            "width_ns": view["series_width_ns"],
            "begin_ns": view["series_begin_ns"] - t0,
            "bytes": view["series_bytes"].tolist(),
        }
        for index, view in zip(queue_of.tolist(), views, strict=True)
    ]
    read = {"format": found["format"], "pkts": found["pkts"], "bytes": found["bytes_read"]}
    return imported(
        path,
        values,
        queues=queues,
        flows=list(flow_of),
        t0_epoch_ns=t0,
        series=series,
        read=read,
        problems=[*filter(None, [file.damage]), *_problems(found)],
        intervals=intervals,
    )


def write_view(source: str | Path, target: str | Path, *, queue: str, place: int) -> int:
    """Write the packets of one view of a capture to a file, for tools that ignore interfaces.

    Args:
        source: A pcapng or pcap file.
        target: Path; ``.pcapng``, or ``.pcap`` for the classic format; nanoseconds in both.
            Replaced atomically.
        queue: Name of the queue or interface; empty if the file has none.
        place: 0 before the queue, 1 after it, -1 if unknown.

    Returns:
        The number of packets written.

    Raises:
        FormatError: The capture cannot be read to its end, or the target has another extension.
        OSError: A file cannot be read or written.
    """
    path, out = Path(source), Path(target)
    path.open("rb").close()  # the native module's error does not contain the file's name
    style = out.suffix.removeprefix(".")
    if style not in ("pcap", "pcapng"):
        raise FormatError(str(out), out.suffix, "a name that ends with .pcap or .pcapng")
    with replaced_file(out) as staging, _plain(path, staging.parent) as plain:
        try:
            return _engine.copy_capture(
                str(plain), str(staging), name=queue, place=place, format=style
            )
        except _engine.CaptureError as error:
            full = disk_full_error(staging.parent)
            if full is not None:
                raise full from error  # the error is not about the capture
            raise UnreadableError(str(path), str(error)) from None


@contextmanager
def _plain(path: Path, folder: Path) -> Iterator[Path]:
    """A capture that the native module can read: the file itself, or decompressed into
    the folder.
    """
    with open_unpacked(path, LARGEST_UNPACKED_BYTES) as file:
        if file.packing is Packing.NONE:
            yield path
            return
        with TemporaryDirectory(dir=folder, prefix=".unpacked-") as own:
            plain = Path(own) / "capture"
            with plain.open("wb") as target:
                shutil.copyfileobj(file, target, 1 << 20)
            yield plain


def _problems(found: dict[str, Any]) -> list[str]:
    """What was not read or not counted, in words."""
    problems = []
    if found["error"]:
        problems.append(f"{found['error']}; the packets before that were read")
    for words, pkts in found["undecoded_pkts"].items():
        problems.append(f"{pkts} packets {words}: in no flow")
    if found["untimed_pkts"]:
        problems.append(f"{found['untimed_pkts']} packets without a time: in no flow")
    if found["unviewed_pkts"]:
        unviewed = f"{found['unviewed_pkts']} packets of interfaces beyond the first {MOST_VIEWS}"
        problems.append(f"{unviewed}: in no flow")
    if found["passed_over_pkts"]:
        problems.append(
            f"{found['passed_over_pkts']} packets of connections beyond the first {MOST_FLOWS}"
        )
    if found["missed_pkts"]:
        problems.append(f"{found['missed_pkts']} packets were missed when it was captured")
    return problems


def imported(
    path: Path,
    values: Mapping[str, Any],
    *,
    queues: list[str],
    flows: list[str],
    t0_epoch_ns: int,
    series: list[dict[str, Any]],
    read: Mapping[str, Any],
    problems: list[str],
    intervals: _Columns | None = None,
) -> Run:
    """The run of a file: columns missing from ``values`` are unknown."""
    unknown = np.full(len(values["queue"]), NOT_KNOWN)
    found = {"captured_flows": {**dict.fromkeys(_NAMES, unknown), **values}}
    if intervals is not None:
        found["captured_intervals"] = intervals
    tables = {
        table: {
            each.name: np.asarray(columns[each.name]).astype(each.numpy) for each in SCHEMA[table]
        }
        for table, columns in found.items()
    }
    meta = {
        "queue_names": queues,
        "flow_names": flows,
        "source": path.name,
        "t0_epoch_ns": t0_epoch_ns,
        "read": read,
        "problems": problems,
        SERIES: series,
    }
    return Run("imported", 0, None, tables, meta)
