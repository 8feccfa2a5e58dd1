"""Counters of ``tc -s qdisc`` before and after a measurement: where packets waited, and in what.

If packets waited on the device, its discipline is that of the direction; otherwise the queue is
elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dumbbell.errors import SpecError
from dumbbell.formats.logs import LogText, TcLog, log_of_text
from dumbbell.printable import printable
from dumbbell.twin.line import DisciplineClass
from dumbbell.twin.scene import Way

OPTIONS: Mapping[Way, str] = {Way.UP: "--tc-up", Way.DOWN: "--tc-down"}
MOST_FILES = 2
_CLASSES: Mapping[str, DisciplineClass] = {
    **dict.fromkeys(
        ("bfifo", "pfifo", "pfifo_fast", "pfifo_head_drop", "tbf", "htb", "hfsc"),
        DisciplineClass.FIFO,
    ),
    **dict.fromkeys(("codel", "pie", "red", "choke", "sfb"), DisciplineClass.AQM),
    **dict.fromkeys(("fq_codel", "fq_pie", "cake", "sfq", "fq"), DisciplineClass.FLOW_QUEUEING),
}
"""Class of the disciplines that hold packets. Shapers without a discipline of their own below them
hold packets in a FIFO."""

_MULTIPLE = ("mq", "multiq")


@dataclass(frozen=True, slots=True)
class QueueCounters:
    """Counters of a device's queue over a measurement.

    Attributes:
        way: Direction that the device sends in.
        queue: Printable device, kind and handle, as ``tc`` prints them.
        kind: Kind of the discipline that holds packets.
        sent_pkts: Packets sent between the first and the last call.
        dropped_pkts: Packets dropped in that time.
        backlog_pkts: Maximum backlog of all calls.
        overlimits_pkts: Times that a packet had to wait for a shaper in that time.
    """

    way: Way
    queue: str
    kind: str
    sent_pkts: int
    dropped_pkts: int
    backlog_pkts: int
    overlimits_pkts: int

    @property
    def is_bottleneck(self) -> bool:
        """Whether packets waited or were dropped here."""
        return max(self.dropped_pkts, self.backlog_pkts, self.overlimits_pkts) > 0

    @property
    def class_(self) -> DisciplineClass | None:
        """Return the class of the direction's discipline; None if it is elsewhere, or unknown."""
        return _CLASSES.get(self.kind) if self.is_bottleneck else None

    @property
    def sentence(self) -> str:
        """State what was counted, and what follows."""
        counted = (
            f"discipline {self.way.value}: {self.queue} sent {self.sent_pkts} packets and dropped "
            f"{self.dropped_pkts}"
        )
        if not self.is_bottleneck:
            return f"{counted}, and none waited: the queue is elsewhere"
        if self.class_ is None:
            return f"{counted}; {self.kind} is of no class that is tried"
        return f"{counted}: {self.class_.value}, as tc says"


def queue_counters(way: Way, files: Sequence[Path]) -> QueueCounters:
    """Read the calls of ``tc -s qdisc show dev DEVICE`` before and after a measurement.

    Args:
        way: Direction that the device sends in.
        files: One file with several calls, or one file before and one after.

    Raises:
        SpecError: They are not of one device, or there is only one call.
        FormatError: A file cannot be read.
        OSError: A file cannot be read.
    """
    option = OPTIONS[way]
    if len(files) > MOST_FILES:
        raise SpecError(option, f"{len(files)} files", "one file with several calls, or two files")
    calls: list[dict[str, _Row]] = []
    for path in files:
        calls += _calls(path, option)
    if len(calls) < 2:
        name = printable(files[0].name)
        raise SpecError(option, f"{name}, one call of tc", "the counters before and after the load")
    before, after = calls[0], calls[-1]
    holding = {name: row for name, row in after.items() if name in before and _holds(row, after)}
    if not holding:
        allowed = "the same device before and after"
        raise SpecError(option, "no queue that is in both calls", allowed)
    devices = {row.device for row in holding.values()}
    if len(devices) > 1:
        found = f"{len(devices)} devices: {', '.join(sorted(devices))[:80]}"
        raise SpecError(option, found, "one device: tc -s qdisc show dev DEVICE")
    if any(row.is_below(before[name]) for name, row in after.items() if name in before):
        allowed = (
            "counters that grow: the queue was not replaced in between, and the files in order"
        )
        raise SpecError(option, "counters that went back", allowed)
    name = max(holding, key=lambda each: (holding[each].sent_pkts - before[each].sent_pkts, each))
    return QueueCounters(
        way,
        name,
        holding[name].kind,
        sum(row.sent_pkts - before[each].sent_pkts for each, row in holding.items()),
        sum(row.dropped_pkts - before[each].dropped_pkts for each, row in holding.items()),
        max(row.backlog_pkts for call in calls for row in call.values()),
        sum(
            row.overlimits_pkts - before[each].overlimits_pkts
            for each, row in after.items()
            if each in before
        ),
    )


@dataclass(frozen=True, slots=True)
class _Row:
    """Counters of a queue in one call."""

    device: str
    kind: str
    handle: str
    parent: str
    sent_pkts: int
    dropped_pkts: int
    backlog_pkts: int
    overlimits_pkts: int

    def is_below(self, before: _Row) -> bool:
        """Whether a counter is smaller than before."""
        return self.sent_pkts < before.sent_pkts or self.dropped_pkts < before.dropped_pkts


def _calls(path: Path, option: str) -> list[dict[str, _Row]]:
    name = printable(path.name)
    if path.is_dir():
        raise SpecError(option, f"{name}, a folder", "the output of tc -s qdisc show")
    log = log_of_text(LogText.of_file(path))
    if not isinstance(log, TcLog):
        raise SpecError(
            option, f"{log.source}, of {log.format.value}", "the output of tc -s qdisc show"
        )
    table = log.tables["queues"]
    calls: dict[int, dict[str, _Row]] = {}
    names = ("call", "queue", "kind", "parent", "sent_pkts", "dropped_pkts", "backlog_pkts")
    columns = (table[each].tolist() for each in (*names, "overlimits_pkts"))
    for call, queue, kind, parent, *counters in zip(*columns, strict=True):
        words = queue.split()
        if kind.startswith("class") or kind in ("ingress", "clsact", "noqueue") or not words:
            continue
        device = printable(words[0]) if len(words) > 2 else ""
        sent, dropped, backlog, overlimits = (max(int(each), 0) for each in counters)
        row = _Row(device, kind, words[-1], parent, sent, dropped, backlog, overlimits)
        calls.setdefault(call, {})[printable(queue)] = row
    return _whole_devices(list(calls.values()))


def _whole_devices(calls: list[dict[str, _Row]]) -> list[dict[str, _Row]]:
    """Return the calls with one row for each device of several transmit queues.

    ``mq`` has the sums of its children, whose names are alike: their handles are ``0:``.
    """
    roots = [{n: row for n, row in call.items() if row.kind in _MULTIPLE} for call in calls]
    if not any(roots):
        return calls
    whole = []
    for call, found in zip(calls, roots, strict=True):
        kinds = [row.kind for row in call.values() if row.kind not in _MULTIPLE]
        if found and kinds:
            whole.append({name: replace(row, kind=kinds[0]) for name, row in found.items()})
    return whole


def _holds(row: _Row, call: Mapping[str, _Row]) -> bool:
    """Whether packets wait in this queue: no other of its device is below it."""
    major = row.handle.partition(":")[0]
    others = (each for each in call.values() if each is not row and each.device == row.device)
    return not any(each.parent.partition(":")[0] == major for each in others if ":" in each.parent)
