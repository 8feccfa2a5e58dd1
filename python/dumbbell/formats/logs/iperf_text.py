"""Text output of ``iperf`` 2, of a client or a server, TCP or UDP, also with ``-e``.

The layout is that of iperf 2.0 and 2.1. The report of a whole test begins at 0 like its first
interval, and comes last. For UDP, a client then prints its server's report with the received data,
which is used as the result. If a server's log has several tests, the first is read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dumbbell.formats.logs.iperf import INTERVALS, IperfLog
from dumbbell.formats.logs.iperf_line import DATAGRAMS, IperfLine, iperf_line
from dumbbell.formats.logs.model import LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number, real

Row = dict[str, int | float | str]

_IPERF3_DECIMALS = 2
_CONNECTED = re.compile(r"\[ *\*?\d{1,6}\] local \S{1,120} port \d{1,5} connected with .{1,400}")
_REPORT = re.compile(r"\[ *\d{1,6}\] Server Report:?.{0,60}")
_WRITES = re.compile(
    r" +\d{1,15}/\d{1,15} +(?P<again>\d{1,15}) +(?:-?\d{1,9}|NA)[KMG]?(?:/.{0,200})?"
)
_ELSE = re.compile(
    r"\s*|-{20,}|\[ ID\] +Interval .{0,200}|(?:Client connecting to|Server listening on|Binding to"
    r"|TCP window size|UDP buffer size|Sending \d|Receiving \d|Read buffer size|Write buffer size"
    r"|TOS |TCP congestion|Event based|multicast|iperf version|WARNING:).{0,300}"
    r"|\[ *(?:\d{1,6}|SUM)\] +(?:Sent \d|WARNING:|datagrams received out-of-order|\d[-\d. ]{3,40} "
    r"sec +\d{1,9} datagrams received out-of-order|local |UDP |Clear-to-send|Sending |Bidir|final)"
    r".{0,300}"
)


@dataclass(slots=True)
class _Read:
    """State of the parser."""

    rows: list[tuple[int, Row]] = field(default_factory=list)
    later: int = 0
    """Connections opened after the first rows: further tests."""


def is_iperf_text(text: LogText) -> bool:
    """Whether the text is from iperf 2: times without exactly two decimals."""
    return any(
        found.decimals != _IPERF3_DECIMALS and not found.role
        for line in text.first_lines
        if line.startswith("[") and (found := _line(line)) is not None
    )


def _line(line: str) -> IperfLine | None:
    try:
        return iperf_line(line)
    except ValueError:
        return None


def read_iperf_text(text: LogText) -> IperfLog:
    """Parse a log.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    read = _Read()
    noted.lines(text, lambda line: _take(line, read))
    if not read.rows:
        raise nothing_in(text, "iperf")
    last = {key: at for at, (key, _) in enumerate(read.rows)}
    whole = {at for at in last.values() if read.rows[at][1]["start_s"] == 0}
    # If the server's report is present, the client's total is not an interval.
    sent = {
        at
        for at, (key, row) in enumerate(read.rows)
        if at < last[key]
        and row["start_s"] == 0
        and any(other == key for other, _ in read.rows[:at])
    }
    problems = [] if len(whole) == len(last) else ["the end of a test is missing"]
    if read.later:
        problems.append(f"{read.later} further connections are in it; read is the first test")
    intervals = [row for at, (_, row) in enumerate(read.rows) if at not in whole | sent]
    return IperfLog(
        source=text.name,
        variant="iperf 2",
        tables={
            "intervals": LogTable.of(INTERVALS, intervals),
            "totals": LogTable.of(INTERVALS, [read.rows[at][1] for at in sorted(whole)]),
        },
        unknown=noted.unknown,
        problems=tuple(problems),
    )


def _take(line: str, read: _Read) -> bool:
    """Parse a line; returns whether it is known."""
    if found := iperf_line(line):
        row: Row = {
            "stream": found.stream,
            "start_s": found.start_s,
            "end_s": found.end_s,
            "bytes": found.size_bytes,
            "throughput_bps": found.rate_bps,
        }
        if datagrams := DATAGRAMS.fullmatch(found.rest):
            row |= {"pkts": number(datagrams["pkts"]), "jitter_ms": real(datagrams["jitter"])}
            row["lost_pkts"] = max(-1, number(datagrams["lost"]))
        elif again := _WRITES.fullmatch(found.rest):
            row["retransmitted_pkts"] = number(again["again"])
        if not read.later:
            read.rows.append((found.stream, row))
        return True
    if _CONNECTED.fullmatch(line):
        read.later += bool(read.rows)
        return True
    return bool(_REPORT.fullmatch(line) or _ELSE.fullmatch(line))
