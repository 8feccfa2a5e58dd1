"""Output of ``tc -s qdisc show`` or ``tc -s class show``, as text or JSON, once or in a loop.

The layout is that of iproute2 4 to 6 (``tc/tc_qdisc.c``, ``tc/tc_class.c``). Text before version 6
rounds a backlog to whole kilobytes (``49Kb``). In a loop, separate lines with times precede each
call or, with Flent's ``tc_iterate``, follow it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.tc_cake import (
    TINS,
    marked_pkts,
    names_of_tins,
    take_tins,
    tins_of_json,
)
from dumbbell.formats.logs.tc_counters import (
    COUNTERS,
    counters_of_json,
    marked_pkts_of,
    take_counters,
)
from dumbbell.formats.logs.text import (
    LogText,
    Members,
    UnreadCounter,
    nothing_in,
    number,
    real,
    understood,
)
from dumbbell.formats.logs.times import epoch_ns

Row = dict[str, int | float | str]

QUEUES = (
    LogColumn("call", "-", "Number of the call of tc in the file, from 1."),
    LogColumn("epoch_ns", "ns", "Unix time of the call, where a line says it."),
    LogColumn("queue", "-", "Device if it is said, kind and handle: ``eth0 tbf 1:``.", "text"),
    LogColumn("kind", "-", "Of discipline; ``class htb`` and the like of a class.", "text"),
    LogColumn("parent", "-", "``root``, or the handle of what holds it.", "text"),
    LogColumn("sent_bytes", "bytes", "Dequeued since it was made."),
    LogColumn("sent_pkts", "packets", "Dequeued since it was made."),
    LogColumn("dropped_pkts", "packets", "Dropped since it was made."),
    LogColumn("overlimits_pkts", "packets", "Times it had to wait; of some that it dropped."),
    LogColumn("requeues_pkts", "packets", "Handed back by the device."),
    LogColumn("backlog_bytes", "bytes", "Held at that instant."),
    LogColumn("backlog_pkts", "packets", "Held at that instant."),
    LogColumn("marked_pkts", "packets", "Marked (ECN) since it was made; where it marks."),
    LogColumn("drop_probability", "1", "Of pie and its like, at that instant.", "real"),
    LogColumn("delay_ns", "ns", "What pie and codel take the delay for, at that instant."),
)
_SIZES = {"": 1, "b": 1, "Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30}
_TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_HEAD = re.compile(
    r"(?P<what>qdisc|class) (?P<kind>[a-z][a-z0-9_]{1,31}) (?P<handle>[0-9a-f]{0,4}:[0-9a-f]{0,4})"
    r"(?: \[[0-9A-F]{8}\])?(?: dev (?P<dev>\S{1,32}))?"
    r" (?P<place>root|ingress|parent [0-9a-f:]{1,10})(?: .{0,2000})?"
)
_SENT = re.compile(
    r"\s+Sent (?P<sent_bytes>\d{1,18}) bytes (?P<sent_pkts>\d{1,18}) pkts? "
    r"\(dropped (?P<dropped_pkts>\d{1,18}), overlimits (?P<overlimits_pkts>\d{1,18}) "
    r"requeues (?P<requeues_pkts>\d{1,18})\)\s*"
)
_NOT_SENT = re.compile(
    r"\s+\(dropped (?P<dropped_pkts>\d{1,18}), overlimits (?P<overlimits_pkts>\d{1,18}) "
    r"requeues (?P<requeues_pkts>\d{1,18})\)\s*"
)
"""Counters of classes that are flows of fq_codel, which do not count sent packets."""
_COUNTERS = ("sent_bytes", "sent_pkts", "dropped_pkts", "overlimits_pkts", "requeues_pkts")
_BACKLOG = re.compile(
    r"\s+(?:rate \S{1,24} \S{1,24} )?backlog (?P<size>\d{1,9})(?P<unit>[KMG]?b) "
    r"(?P<pkts>\d{1,9})p(?: requeues \d{1,18})?\s*"
)
_PROBABILITY = re.compile(r"\bprob (?P<value>\d{1,12}(?:\.\d{1,12})?(?:e-?\d{1,3})?)(?=\s|$)")
_DELAY = re.compile(
    r"\b(?:l?delay|delay_c) (?P<value>\d{1,12}(?:\.\d{1,9})?)(?P<unit>s|ms|us|ns)\b"
)
_MARKED = re.compile(r"\b(?:ecn_mark|marked) (?P<value>\d{1,18})\b")
_DETAIL = re.compile(
    r"\s+[(]?[a-zA-Z_][\w/-]{0,30}:? [-\d.e]{1,24}[\w%/]{0,10}[,)]?"
    r"(?:[ \t]+[(]?(?:[a-zA-Z_][\w/-]{0,30}:? )?[-\d.e]{1,24}[\w%/]{0,10}[,)]?){0,30}\s*"
)
"""An indented line of names and numbers: a discipline's own statistics."""
_CAKE = re.compile(
    r"\s+(?:Bulk|Best Effort|Video|Voice|Tin \d).{0,300}|\s*(?:capacity estimate|memory used"
    r"|min/max \w+|average network hdr offset).{0,120}"
)
_WORDS = re.compile(
    r"\s+period \d{1,18} (?:work \d{1,18} bytes )?(?:rtwork \d{1,18} bytes )?level \d{1,6}\s*"
    r"|\s+(?:deficit -?\d{1,18} )?count \d{1,18} lastcount \d{1,18} ldelay \S{1,20}"
    r"(?: dropping)?(?: drop_next -?\S{1,20})?\s*"
)
"""Lines of hfsc's classes, and of codel and flows of fq_codel."""
_DUALPI2 = re.compile(
    r"prob [\d.]{1,20} delay_c \d{1,12}us delay_l \d{1,12}us"
    r"|pkts_in_c \d{1,12} pkts_in_l \d{1,12} maxq \d{1,12}|ecn_mark \d{1,18} step_mark \d{1,18}"
    r"|credit -?\d{1,12} \([CL]-queue\)"
    r"|memory_used \d{1,12} \(max \d{1,12}\) of memory limit \d{1,12}"
)
"""Lines of dualpi2, which are not indented. The delay is that of the classic queue."""
_KEY = re.compile(r"[a-z_ -]{2,40}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TcLog(Log):
    """Calls of tc: the table ``queues``, ``tins`` if one is cake, and ``counters`` if one is sfb or
    sfq with RED.

    Attributes:
        calls: Number of calls.
        has_times: Whether all of them have a time.
    """

    format: ClassVar[LogFormat] = LogFormat.TC
    calls: int
    has_times: bool


@dataclass(slots=True)
class _Call:
    """The output of one call of tc."""

    rows: list[Row] = field(default_factory=list)
    epoch_ns: int = NOT_SAID
    names: set[str] = field(default_factory=set)
    tins: dict[str, list[Row]] = field(default_factory=dict)
    counters: dict[str, dict[str, float]] = field(default_factory=dict)

    def note_counters(self, row: Row, counters: dict[str, float]) -> None:
        """Counters of a queue, and its marks."""
        found = self.counters.setdefault(str(row["queue"]), {})
        found |= counters
        if (marked := marked_pkts_of(found)) is not None:
            row["marked_pkts"] = marked


def is_tc(text: LogText) -> bool:
    """Whether the text is from tc, with ``-s``."""
    lines = text.first_lines
    if any(_HEAD.fullmatch(line) for line in lines) and any(
        _SENT.fullmatch(line) for line in lines
    ):
        return True
    head = text.text[:20000]
    is_list = "[" in head and ('"kind"' in head or '"class"' in head)
    return is_list and '"handle"' in head and '"overlimits"' in head


def read_tc_log(text: LogText) -> TcLog:
    """Parse a log.

    Raises:
        UnreadableError: It has no discipline with statistics.
    """
    noted = UnreadCounter()
    calls = [call for call in _calls(text, noted) if call.rows]
    rows = [
        {**row, "call": index, "epoch_ns": call.epoch_ns}
        for index, call in enumerate(calls, start=1)
        for row in call.rows
        if "sent_bytes" in row or "dropped_pkts" in row
    ]
    tins: list[Row] = [
        {**row, "call": index, "epoch_ns": call.epoch_ns, "queue": queue}
        for index, call in enumerate(calls, start=1)
        for queue, rows_of in call.tins.items()
        for row in rows_of
    ]
    counters: list[Row] = [
        {"call": index, "epoch_ns": call.epoch_ns, "queue": queue, "counter": name, "value": value}
        for index, call in enumerate(calls, start=1)
        for queue, counters_of in call.counters.items()
        for name, value in counters_of.items()
    ]
    if not rows:
        raise nothing_in(text, "tc -s")
    return TcLog(
        source=text.name,
        variant="iproute2",
        tables={
            "queues": LogTable.of(QUEUES, rows),
            **({"tins": LogTable.of(TINS, tins)} if tins else {}),
            **({"counters": LogTable.of(COUNTERS, counters)} if counters else {}),
        },
        unknown=noted.unknown,
        problems=(),
        calls=len(calls),
        has_times=all(call.epoch_ns >= 0 for call in calls),
    )


def _calls(text: LogText, noted: UnreadCounter) -> Iterator[_Call]:
    """Calls in order, each with the time before it, or after it if the file is written that way."""
    call = _Call()
    is_before: bool | None = None
    lines = iter(enumerate(text.lines, start=1))
    for at, line in lines:
        stripped = line.strip()
        when = epoch_ns(stripped)
        if when is not None:
            if is_before is None:
                is_before = not call.rows
            if is_before:
                yield call
                call = _Call(epoch_ns=when)
            else:
                call.epoch_ns = when
                yield call
                call = _Call()
        elif stripped.startswith("---"):
            if is_before is not True:
                yield call
                call = _Call()
        elif stripped.startswith("["):
            # Without times, the calls of a loop are separated by their lists.
            if call.rows:
                yield call
                call = _Call(epoch_ns=call.epoch_ns if is_before else NOT_SAID)
            _list(at, line, lines, call, noted)
        elif stripped:
            is_understood = understood(line, partial(_take, call=call))
            noted.read(text, at, is_understood=is_understood)
            if call.rows and call.epoch_ns < 0:
                call.epoch_ns = text.time_ns(at)
        if call.rows and len(call.names) < len(call.rows):
            # The same queue again: a new call.
            again = call.rows.pop()
            yield call
            at_ns = call.epoch_ns if is_before else text.time_ns(at)
            call = _Call([again], at_ns, {str(again["queue"])})
    yield call


def _take(line: str, call: _Call) -> bool:
    """Parse a line; returns whether it is known."""
    if head := _HEAD.fullmatch(line):
        device = f"{head['dev']} " if head["dev"] else ""
        kind = head["kind"] if head["what"] == "qdisc" else f"class {head['kind']}"
        name = f"{device}{kind} {head['handle']}"
        call.rows.append(
            {"queue": name, "kind": kind, "parent": head["place"].removeprefix("parent ")}
        )
        call.names.add(name)
        return True
    if not call.rows:
        return False
    row = call.rows[-1]
    return _take_counters(line, row) or _take_details(line, row, call)


def _take_counters(line: str, row: Row) -> bool:
    if sent := _SENT.fullmatch(line):
        return _note(row, {name: number(sent[name]) for name in _COUNTERS})
    if alone := _NOT_SENT.fullmatch(line):
        return _note(row, {name: number(alone[name]) for name in _COUNTERS[2:]})
    if backlog := _BACKLOG.fullmatch(line):
        size = number(backlog["size"], _SIZES[backlog["unit"]])
        return _note(row, {"backlog_bytes": size, "backlog_pkts": number(backlog["pkts"])})
    return False


def _take_details(line: str, row: Row, call: _Call) -> bool:
    """Parse a line of a discipline's own statistics; returns whether it is one."""
    if row["kind"] == "cake" and _take_cake(line, row, call):
        return True
    if counters := take_counters(str(row["kind"]), line):
        call.note_counters(row, counters)
        return True
    is_detail = "dropped_pkts" in row and any(
        each.fullmatch(line) for each in (_DETAIL, _CAKE, _WORDS, _DUALPI2)
    )
    if is_detail:
        _details(row, line)
    return is_detail


def _take_cake(line: str, row: Row, call: _Call) -> bool:
    """Parse a line of the last queue's tins; returns whether it is one."""
    queue = str(row["queue"])
    if names := names_of_tins(line):
        call.tins[queue] = [{"tin": name} for name in names]
        return True
    tins = call.tins.get(queue, [])
    if not take_tins(line, tins):
        return False
    if (marked := marked_pkts(tins)) is not None:
        row["marked_pkts"] = marked
    return True


def _note(row: Row, values: dict[str, int]) -> bool:
    """Copy numbers to a row; returns whether they are new."""
    if row.keys() & values.keys():
        return False
    row |= values
    return True


def _details(row: Row, line: str) -> None:
    if found := _PROBABILITY.search(line):
        row["drop_probability"] = real(found["value"])
    if found := _DELAY.search(line):
        row["delay_ns"] = number(found["value"], _TIMES[found["unit"]])
    if found := _MARKED.search(line):
        row["marked_pkts"] = number(found["value"])


def _list(
    at: int, line: str, lines: Iterator[tuple[int, str]], call: _Call, noted: UnreadCounter
) -> None:
    """A JSON list, on one line or, with ``tc -j -p``, on several."""
    where = at
    text = [line]
    while True:
        # A list printed over several lines ends with a bracket at the end of a line.
        found = _json("\n".join(text)) if text[-1].rstrip().endswith("]") else None
        if found is not None:
            break
        following = next(lines, None)
        if following is None or following[1].lstrip().startswith("qdisc "):
            noted.line(where, line)
            return
        text.append(following[1])
        if len(text) > 20_000:
            noted.line(where, line)
            return
    for index, each in enumerate(found):
        members = Members(each, f"line {where}, [{index}]", noted)
        if row := _of_json(members):
            call.rows.append(row)
            call.names.add(str(row["queue"]))
            if tins := list(tins_of_json(members)):
                call.tins[str(row["queue"])] = tins
                row["marked_pkts"] = marked if (marked := marked_pkts(tins)) is not None else -1
            if counters := counters_of_json(str(row["kind"]), members):
                call.note_counters(row, counters)


def _json(text: str) -> list[Any] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) else None


def _first(names: Sequence[str], members: Members) -> str:
    """The first of the names that is present; the first name if none is."""
    return next((name for name in names if name in members), names[0])


def _of_json(each: Members) -> Row | None:
    is_class = "class" in each
    stats = each.object("stats") if is_class and "stats" in each else each
    if ("kind" not in each and not is_class) or "overlimits" not in stats:
        return None
    handle, device = each.text("handle"), each.text("dev")
    kind = f"class {each.text('class')}" if is_class else each.text("kind")
    delay_us = stats.real(_first(("delay", "ldelay", "delay-c"), stats))
    return {
        "queue": f"{device} {kind} {handle}".strip(),
        "kind": kind,
        "parent": "root" if each.truth("root") else each.text("parent"),
        "sent_bytes": stats.whole("bytes"),
        "sent_pkts": stats.whole("packets"),
        "dropped_pkts": stats.whole("drops"),
        "overlimits_pkts": stats.whole("overlimits"),
        "requeues_pkts": stats.whole("requeues"),
        "backlog_bytes": stats.whole("backlog"),
        "backlog_pkts": stats.whole("qlen"),
        "marked_pkts": stats.whole(_first(("ecn_mark", "marked", "ecn-mark"), stats)),
        "drop_probability": stats.real("prob"),
        "delay_ns": round(delay_us * 1000) if abs(delay_us) < 1e12 else NOT_SAID,
    }
