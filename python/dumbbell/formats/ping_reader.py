"""Read ping's output, and the CSV made from it, as an imported `Run`.

The reader accepts variations of real files (``-D`` timestamps, address with or without a name,
``(DUP!)``, "no answer yet", unreachable hosts, a truncated file), and its input is bounded.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from dumbbell.formats.bounded import too_large
from dumbbell.formats.errors import FormatError
from dumbbell.formats.logs.ping import OTHER_LINES, unwrapped
from dumbbell.formats.logs.text import is_mostly_unknown
from dumbbell.formats.unpacking import open_unpacked
from dumbbell.tables import NO_INSTANT, SCHEMA, Run

LARGEST_FILE_BYTES = 256 << 20
LARGEST_LINE = 4096
_LARGEST_GAP = 1 << 24
_NS_PER_MS = 1_000_000

_REPLY = re.compile(
    r"(?:\[(?P<stamp>\d{1,12}\.\d{1,9})\] )?"
    r"\d{1,6} bytes from (?P<who>\S{1,255}(?: \(\S{1,64}\))?): "
    r"icmp_[rs]eq=(?P<seq>\d{1,9})(?: ident=\d{1,9})?(?: ttl=\d{1,3})? "
    r"time[=<](?P<ms>\d{1,12}(?:\.\d{1,9})?) ?ms(?P<rest>.*)"
)
_HEADER = re.compile(r"PING (?P<host>\S{1,255})\b")
_TOTALS = re.compile(r"(?P<sent>\d{1,9}) packets transmitted, ")


def read_ping(source: str | Path, *, interval_ns: int | None = None, name: str = "ping") -> Run:
    """Read the output of iputils' ping.

    Args:
        source: Path of the file.
        interval_ns: ping's ``-i``. If the file has no ``-D`` timestamps, requests are assumed to be
            sent at multiples of it; without it their times are unknown (-1).
        name: Name of the probe.

    Returns:
        An imported run with one probe and the table ``probes``. Requests without an answer have an
        RTT of -1, including those after the last answer if the trailer contains the number of
        requests. With ``-D`` timestamps, times count from the first request, and
        ``meta["t0_epoch_ns"]`` is its Unix time.

    Raises:
        FormatError: It is not ping's output, is too large, or contains too many unknown lines.
    """
    path = Path(source)
    unknown = 0
    rtt_ns: dict[int, int] = {}
    received_epoch: dict[int, int] = {}
    sent, last, host = 0, 0, ""
    for at, line in enumerate(_lines(path), start=1):
        if (header := _HEADER.match(line)) and not host:
            host = header["host"]
        elif totals := _TOTALS.match(line):
            sent = int(totals["sent"])
        elif (reply := _REPLY.fullmatch(line)) and not _ignored(reply["rest"]):
            last = unwrapped(int(reply["seq"]), last)
            rtt_ns[last] = int(Decimal(reply["ms"]) * _NS_PER_MS)
            if reply["stamp"]:
                received_epoch[last] = int(Decimal(reply["stamp"]) * 10**9)
        elif not reply and not OTHER_LINES.fullmatch(line):
            unknown += 1
            if is_mostly_unknown(unknown, at - unknown):
                raise FormatError(f"{path}:{at}", line[:40], "lines of iputils' ping")
    if not rtt_ns and not (host or sent):
        raise FormatError(str(path), "", "the output of iputils' ping is expected")
    # Request 0 exists if the 16 bits have wrapped in a file that begins later.
    first = min([1, *rtt_ns])
    numbers = range(first, max([sent, *rtt_ns], default=0) + 1)
    if len(numbers) > _LARGEST_GAP + len(rtt_ns):
        raise FormatError(str(path), len(numbers), "fewer requests than that in one file")
    stamped = bool(rtt_ns) and len(received_epoch) == len(rtt_ns)
    meta: dict[str, object] = {"probe_names": [name], "host": host, "source": path.name}
    if stamped:
        t0 = min(received_epoch[seq] - rtt_ns[seq] for seq in rtt_ns)
        meta["t0_epoch_ns"] = t0
        sent_ns = {seq: received_epoch[seq] - rtt_ns[seq] - t0 for seq in rtt_ns}
    elif interval_ns is not None:
        sent_ns = {seq: (seq - 1) * interval_ns for seq in numbers}
    else:
        sent_ns = {}
    rows = [(0, seq, sent_ns.get(seq, NO_INSTANT), rtt_ns.get(seq, NO_INSTANT)) for seq in numbers]
    return _imported(rows, meta)


def read_pingtimes_csv(
    sources: str | Path | Sequence[str | Path], *, interval_ns: int | None = None
) -> Run:
    """Read files of lines ``sender,kind,seq,rtt`` (milliseconds, no header).

    Args:
        sources: One or more paths; ``pingtimes-all.csv`` contains a whole experiment.
        interval_ns: ping's ``-i``, to compute send times; without it they are unknown (-1).

    Returns:
        An imported run with one probe for each pair, named ``KIND/SENDER`` such as ``SM/1``. It has
        answers only, because such a file does not contain the number of lost requests.

    Raises:
        FormatError: A line has another form, or the file is too large.
    """
    paths = [Path(each) for each in ([sources] if isinstance(sources, str | Path) else sources)]
    last: dict[str, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    for path in paths:
        for number, fields in enumerate(csv.reader(_lines(path)), start=1):
            if not fields:
                continue
            name, seq, rtt = _csv_row(fields, f"{path}:{number}")
            seq = last[name] = unwrapped(seq, last.get(name, 0))
            sent = NO_INSTANT if interval_ns is None else (seq - 1) * interval_ns
            rows.append((list(last).index(name), seq, sent, rtt))
    rows.sort(key=lambda row: row[:2])
    meta = {"probe_names": list(last), "source": ", ".join(path.name for path in paths)}
    return _imported(rows, meta)


def _csv_row(fields: list[str], where: str) -> tuple[str, int, int]:
    try:
        sender, kind, seq, rtt = (each.strip() for each in fields)
        if not re.fullmatch(r"\d{1,9}", seq) or not re.fullmatch(r"\d{1,12}(\.\d{1,9})?", rtt):
            raise ValueError
    except ValueError:
        raise FormatError(where, ",".join(fields)[:80], "sender,kind,seq,rtt is expected") from None
    return f"{kind}/{sender}", int(seq), int(Decimal(rtt) * _NS_PER_MS)


def _imported(rows: list[tuple[int, int, int, int]], meta: Mapping[str, object]) -> Run:
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    probe, seq, sent, rtt = table.T
    known = (sent != NO_INSTANT) & (rtt != NO_INSTANT)
    values = {
        "probe": probe,
        "seq": seq,
        "sent_ns": sent,
        "received_ns": np.where(known, sent + rtt, NO_INSTANT),
        "rtt_ns": rtt,
    }
    columns = {each.name: values[each.name].astype(each.numpy) for each in SCHEMA["probes"]}
    return Run("imported", 0, None, {"probes": columns}, meta)


def _lines(path: Path) -> Iterator[str]:
    left = LARGEST_FILE_BYTES
    unpacked = io.BufferedReader(open_unpacked(path, LARGEST_FILE_BYTES))
    with io.TextIOWrapper(unpacked, encoding="utf-8", errors="replace", newline="") as file:
        number = 0
        while line := file.readline(LARGEST_LINE):
            number += 1
            left -= len(line)
            if left < 0:
                raise too_large(path, LARGEST_FILE_BYTES)
            if len(line) == LARGEST_LINE:
                raise FormatError(
                    f"{path}:{number}", line[:40], "lines of a few hundred characters"
                )
            yield line.rstrip("\r\n")


def _ignored(rest: str) -> bool:
    """Whether to ignore a reply: duplicates and damaged ones are not round-trip times."""
    return "DUP!" in rest or "BAD CHECKSUM" in rest or "DIFFERENT ADDRESS" in rest
