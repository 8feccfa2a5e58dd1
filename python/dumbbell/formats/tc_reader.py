"""Reading ``tc -s qdisc show``, as text or JSON, once or many times, as an imported `Run`.

Many times is what Flent's ``tc_iterate`` and loops like it write: blocks of output, each with a
line ``Time: SECONDS`` (Flent) or ``timestamp:SECONDS``, parted by ``---``. Numbers are as exact as
the file: text rounds a backlog above 1 kB to whole kilobytes, JSON does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.formats.bounded import read_bounded
from dumbbell.formats.errors import FormatError
from dumbbell.tables import SCHEMA, Run

LARGEST_FILE_BYTES = 256 << 20
_UNKNOWN = -1
_UNITS = {"": 1, "b": 1, "Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30}
_NS_PER = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}

_QDISC = re.compile(
    r"qdisc (?P<kind>\w{1,32}) (?P<handle>[0-9a-f]{1,4}:)(?: dev (?P<dev>\S{1,32}))?"
    r" (?P<place>root|parent \S{1,16})\b"
)
_SENT = re.compile(
    r"\s*Sent (?P<bytes>\d{1,19}) bytes (?P<pkts>\d{1,19}) pkt \(dropped (?P<dropped>\d{1,19}),"
)
_BACKLOG = re.compile(r"\s*backlog (?P<size>\d{1,19})(?P<unit>[KMG]?b) (?P<pkts>\d{1,19})p\b")
_PROB = re.compile(r"\bprob (?P<prob>[0-9.e+-]{1,24})")
_DELAY = re.compile(r"\b(?:delay|ldelay) (?P<delay>\d{1,12}(?:\.\d{1,9})?)(?P<unit>s|ms|us|ns)\b")
_MARKED = re.compile(r"\becn_mark (?P<marked>\d{1,19})")
_TIME = re.compile(r"(?:Time: |timestamp:)\s*(?P<time>\d{1,12}(?:\.\d{1,9})?)\s*")


@dataclass(slots=True)
class _Reading:
    """One discipline at one instant."""

    name: str
    sent_bytes: int = _UNKNOWN
    sent_pkts: int = 0
    dropped: int = 0
    backlog_bytes: int = 0
    backlog_pkts: int = 0
    marked: int = _UNKNOWN
    probability: float = float("nan")
    delay_ns: int = _UNKNOWN


@dataclass(slots=True)
class _Block:
    """What one call of tc printed."""

    readings: list[_Reading] = field(default_factory=list)
    epoch_ns: int | None = None


def read_tc(source: str | Path) -> Run:
    """Read what ``tc -s qdisc show`` printed, with or without ``-j``, once or many times.

    Args:
        source: Path of the file.

    Returns:
        An imported run with the table ``queue_samples``: a queue for each discipline with a line
        ``Sent``, named by its device if the file says it, its kind and its handle
        (``eth0 tbf 1:``). Times count from the first ``Time:``, which is ``meta["t0_epoch_ns"]``;
        without such lines all are 0 if there is one block. What tc does not say is -1, NaN for
        numbers that are not whole; ``system_pkts`` is what the discipline holds.

    Raises:
        FormatError: It is not tc's output, is too large, or has several blocks without times.
    """
    path = Path(source)
    text = read_bounded(path, LARGEST_FILE_BYTES).decode("utf-8", errors="replace")
    blocks = [block for block in _blocks(text, str(path)) if block.readings]
    if not blocks:
        raise FormatError(str(path), text[:40], "the output of tc -s qdisc show is expected")
    times = [block.epoch_ns for block in blocks]
    known = [each for each in times if each is not None]
    if len(blocks) > 1 and len(known) != len(blocks):
        raise FormatError(str(path), f"{len(blocks)} blocks", "a line 'Time: SECONDS' in each")
    t0 = known[0] if known else 0
    names = list(dict.fromkeys(each.name for block in blocks for each in block.readings))
    rows = [
        ((block.epoch_ns or t0) - t0, names.index(reading.name), reading)
        for block in blocks
        for reading in block.readings
    ]
    meta: dict[str, object] = {"queue_names": names, "source": path.name}
    if known:
        meta["t0_epoch_ns"] = t0
    return _imported(rows, meta)


def _imported(rows: Sequence[tuple[int, int, _Reading]], meta: dict[str, object]) -> Run:
    readings = [reading for _, _, reading in rows]
    values: dict[str, list[Any]] = {
        "t_ns": [at for at, _, _ in rows],
        "queue": [queue for _, queue, _ in rows],
        "system_pkts": [each.backlog_pkts for each in readings],
        "backlog_pkts": [each.backlog_pkts for each in readings],
        "backlog_bytes": [each.backlog_bytes for each in readings],
        "departed_pkts": [each.sent_pkts for each in readings],
        "departed_bytes": [each.sent_bytes for each in readings],
        "dropped_pkts": [each.dropped for each in readings],
        "marked_pkts": [each.marked for each in readings],
        "drop_probability": [each.probability for each in readings],
        "delay_estimate_ns": [each.delay_ns for each in readings],
    }
    columns = {}
    for column in SCHEMA["queue_samples"]:
        whole = np.issubdtype(column.numpy, np.integer)
        unknown: float = _UNKNOWN if whole else float("nan")
        found = values.get(column.name, [unknown] * len(rows))
        columns[column.name] = np.array(found, dtype=column.numpy)
    return Run("imported", 0, None, {"queue_samples": columns}, meta)


def _blocks(text: str, where: str) -> Iterator[_Block]:
    """Parted by ``---``; where there is none, a block ends with its time."""
    parts = re.split(r"(?m)^---\s*$", text)
    for part in parts:
        yield _block(part, where)


def _block(text: str, where: str) -> _Block:
    block = _Block()
    rest = []
    for line in text.splitlines():
        if stamp := _TIME.fullmatch(line):
            block.epoch_ns = int(Decimal(stamp["time"]) * 10**9)
        else:
            rest.append(line)
    if (first := "\n".join(rest).strip()).startswith("["):
        block.readings.extend(_of_json(first, where))
    else:
        block.readings.extend(_of_text(rest))
    return block


def _of_text(lines: Sequence[str]) -> Iterator[_Reading]:
    reading: _Reading | None = None
    for line in lines:
        if head := _QDISC.match(line):
            if reading and reading.sent_bytes != _UNKNOWN:
                yield reading
            device = f"{head['dev']} " if head["dev"] else ""
            reading = _Reading(f"{device}{head['kind']} {head['handle']}")
        elif reading:
            _note(reading, line)
    if reading and reading.sent_bytes != _UNKNOWN:
        yield reading


def _note(reading: _Reading, line: str) -> None:
    """What a line says of its discipline; nothing, for a line that is not known."""
    if sent := _SENT.match(line):
        reading.sent_bytes, reading.sent_pkts = int(sent["bytes"]), int(sent["pkts"])
        reading.dropped = int(sent["dropped"])
        return
    if backlog := _BACKLOG.match(line):
        reading.backlog_bytes = int(backlog["size"]) * _UNITS[backlog["unit"]]
        reading.backlog_pkts = int(backlog["pkts"])
        return
    if probability := _PROB.search(line):
        reading.probability = float(probability["prob"])
    if delay := _DELAY.search(line):
        reading.delay_ns = int(Decimal(delay["delay"]) * _NS_PER[delay["unit"]])
    if marked := _MARKED.search(line):
        reading.marked = int(marked["marked"])


def _of_json(text: str, where: str) -> Iterator[_Reading]:
    try:
        disciplines = json.loads(text)
        for each in disciplines:
            device = f"{each['dev']} " if "dev" in each else ""
            name = f"{device}{each['kind']} {each['handle']}"
            if "bytes" not in each:
                continue
            delay_us = each.get("delay", each.get("ldelay"))
            yield _Reading(
                name,
                int(each["bytes"]),
                int(each["packets"]),
                int(each["drops"]),
                int(each["backlog"]),
                int(each["qlen"]),
                int(each.get("ecn_mark", _UNKNOWN)),
                float(each.get("prob", "nan")),
                _UNKNOWN if delay_us is None else int(delay_us) * 1000,
            )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FormatError(where, text[:40], f"JSON of tc -s -j qdisc show ({error})") from None
