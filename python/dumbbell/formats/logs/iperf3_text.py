"""Text output of ``iperf3``, of a client or a server, TCP or UDP, any direction.

The layout is that of iperf 3.0 to 3.17 (``src/iperf_locale.c``), also with ``--timestamps``.
Numbers have three digits; ``-J`` prints all. If a server's log has several tests, the first is
read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dumbbell.formats.logs.iperf3 import INTERVALS, SUMS, Iperf3Log
from dumbbell.formats.logs.iperf_line import (
    ALL_STREAMS,
    DATAGRAMS,
    IperfLine,
    iperf_line,
    size_bytes,
)
from dumbbell.formats.logs.model import NOT_SAID, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number, real

Row = dict[str, int | float | str]

_DECIMALS = 2
_STAMP = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} ")
_CONNECTED = re.compile(
    r"\[ *\d{1,6}\](?:\[[TR]X-[CS]\])? local \S{1,120} port \d{1,5} connected (?:to|with) "
    r"\S{1,120} port \d{1,5}.{0,80}"
)
_HEADING = re.compile(r"\[ ID\](?:\[Role\])? Interval .{0,200}")
_HOST = re.compile(r"Connecting to host (?P<host>\S{1,255}), port \d{1,5}")
_ACCEPTED = re.compile(r"Accepted connection from \S{1,255}, port \d{1,5}")
_VERSION = re.compile(r"(?P<version>iperf 3\.[\w.+-]{1,40})(?: .{0,100})?")
_CONGESTION = re.compile(r"snd_tcp_congestion (?P<name>[\w-]{1,32})\s*")
_START = re.compile(
    r"Starting Test: protocol: \w{1,10}, .{0,120}?(?P<seconds>\d{1,9}) second test.{0,80}"
)
_ERROR = re.compile(
    r"(?:iperf3: )?(?P<said>(?:error|interrupt) - .{1,300}|the client has .{1,100})"
)
_ELSE = re.compile(
    r"\s*|- - [- ]{1,200}|-{20,}|iperf Done\.\s*|Server listening on .{1,80}|Reverse mode, .{1,300}"
    r"|Test Complete\. Summary Results:|CPU Utilization: .{1,200}|rcv_tcp_congestion .{1,40}"
    r"|Linux .{1,300}|Darwin .{1,300}|FreeBSD .{1,300}|Control connection MSS.{0,40}|Time: .{1,80}"
    r"|\s+(?:Cookie|TCP MSS|Target Bitrate|MSS|SNDBUF|RCVBUF|Zerocopy).{0,100}"
    r"|\[ *\d{1,6}\] Sent \d{1,15} datagrams|(?:Server|Client) output:|warning: .{1,200}"
    r"|\[ *(?:\d{1,6}|SUM)\](?:\[[TR]X-[CS]\])? +[\d.]{3,20}-[\d.]{3,20} +sec +\d{1,15} datagrams "
    r"received out-of-order|Setting UDP block size .{1,80}"
)
_REST = re.compile(
    r"(?: +(?P<again>\d{1,15}))?(?: +(?P<cwnd>\d{1,9}(?:\.\d{1,3})?) (?P<unit>[KMGT]?)Bytes)?"
    r"(?: +(?:\d{1,9}(?:/\d{1,9})?us|pending))?(?: +(?P<side>sender|receiver))?"
    r"(?: +(?P<omitted>\(omitted\)))?\s*"
)
_RECEIVED = re.compile(r" *(?P<side>sender|receiver)?(?: *(?P<omitted>\(omitted\)))?\s*")
_SIDES = {"sender": "sent", "receiver": "received"}


@dataclass(slots=True)
class _Read:
    """State of the parser."""

    intervals: list[Row] = field(default_factory=list)
    sums: list[Row] = field(default_factory=list)
    tests: int = 0
    headings: int = 0
    is_udp: bool = False
    counts_datagrams: bool = False
    is_reverse: bool = False
    is_server: bool = False
    said: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def is_iperf3_text(text: LogText) -> bool:
    """Whether the text is from iperf3: times with two decimals, or only an error message."""
    for line in text.first_lines:
        bare = _bare(line)
        try:
            found = iperf_line(bare) if bare.startswith("[") else None
        except ValueError:
            continue
        if (found is not None and found.decimals == _DECIMALS) or bare.startswith("iperf3: error"):
            return True
    return False


def read_iperf3_text(text: LogText) -> Iperf3Log:
    """Parse a log.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    read = _Read()
    noted.lines(text, lambda line: _take(_bare(line), read))
    if not read.intervals and not read.sums and not read.problems:
        raise nothing_in(text, "iperf3")
    if not read.sums and not read.problems:
        read.problems.append("the end of the test is missing")
    if read.tests > 1:
        read.problems.append(f"{read.tests} tests are in it; read is the first")
    seconds = read.said.get("seconds")
    return Iperf3Log(
        source=text.name,
        variant=read.said.get("version", "iperf3, text"),
        tables={
            "intervals": LogTable.of(INTERVALS, read.intervals),
            "sums": LogTable.of(SUMS, [*read.sums, *_of_one_stream(read.sums)]),
        },
        unknown=noted.unknown,
        problems=tuple(read.problems),
        protocol="UDP" if read.is_udp else "TCP",
        host=read.said.get("host", ""),
        congestion=read.said.get("congestion", ""),
        is_reverse=read.is_reverse,
        is_bidirectional=any(row["is_reverse"] == 1 for row in read.sums),
        started_epoch_s=NOT_SAID,
        duration_s=float("nan") if seconds is None else real(seconds),
    )


def _of_one_stream(sums: list[Row]) -> list[Row]:
    """The totals if there is only one stream: iperf3 prints sums only for several."""
    of: dict[tuple[object, object], list[Row]] = {}
    for row in sums:
        of.setdefault((row["side"], row["is_reverse"]), []).append(row)
    return [{**rows[0], "socket": ALL_STREAMS} for rows in of.values() if len(rows) == 1]


def _bare(line: str) -> str:
    """Remove the time that ``--timestamps`` adds."""
    stamp = _STAMP.match(line)
    return line[stamp.end() :] if stamp else line


def _take(line: str, read: _Read) -> bool:
    """Parse a line; returns whether it is known."""
    if _CONNECTED.fullmatch(line):
        if read.headings or not read.tests:
            read.tests += 1
            read.headings = 0
        return True
    if _HEADING.fullmatch(line):
        read.headings += 1
        read.counts_datagrams = "Total Datagrams" in line and "Lost" not in line
        read.is_udp |= "Datagrams" in line
        return True
    if found := iperf_line(line):
        return _row(found, read)
    if error := _ERROR.fullmatch(line):
        read.problems.append(f"iperf3 says: {error['said']}")
        return True
    read.is_server |= bool(_ACCEPTED.fullmatch(line))
    read.is_reverse |= line.startswith("Reverse mode") and read.tests <= 1
    for pattern, names in (
        (_HOST, {"host": "host"}),
        (_VERSION, {"version": "version"}),
        (_CONGESTION, {"congestion": "name"}),
        (_START, {"seconds": "seconds"}),
    ):
        if said := pattern.fullmatch(line):
            read.said |= {key: said[group] for key, group in names.items()}
            return True
    return bool(_ACCEPTED.fullmatch(line) or _ELSE.fullmatch(line))


def _row(line: IperfLine, read: _Read) -> bool:
    """Parse an interval or a sum; returns whether all of it is known."""
    row: Row = {
        "socket": line.stream,
        "bytes": line.size_bytes,
        "throughput_bps": line.rate_bps,
    }
    is_sender = {"T": 1, "R": 0}.get(line.role[:1], NOT_SAID)
    rest = line.rest
    if datagrams := DATAGRAMS.fullmatch(rest):
        read.is_udp = True
        lost, pkts = number(datagrams["lost"]), number(datagrams["pkts"])
        row |= {"pkts": pkts, "lost_pkts": max(-1, lost), "jitter_ms": real(datagrams["jitter"])}
        found = _RECEIVED.fullmatch(datagrams["rest"])
        is_sender = 0 if is_sender == NOT_SAID else is_sender
    else:
        found = _REST.fullmatch(rest)
        if found and found["again"] and read.counts_datagrams:
            row["pkts"] = number(found["again"])
            is_sender = 1
        elif found and found["again"]:
            row["retransmitted_pkts"] = number(found["again"])
            is_sender = 1
        if found and found["cwnd"]:
            row["cwnd_bytes"] = size_bytes(found["cwnd"], found["unit"])
    if found is None:
        return False
    if read.tests > 1:
        return True
    if is_sender == NOT_SAID and (read.is_reverse or read.is_server):
        is_sender = 0
    if found["side"] or read.headings > 1:
        side = _SIDES.get(found["side"] or "", "both")
        is_reverse = int(line.role in ("RX-C", "TX-S"))
        read.sums.append(
            {**row, "side": side, "is_reverse": is_reverse, "seconds": line.end_s - line.start_s}
        )
    elif line.stream != ALL_STREAMS:
        row |= {"start_s": line.start_s, "end_s": line.end_s, "is_sender": is_sender}
        read.intervals.append({**row, "is_omitted": int(bool(found["omitted"]))})
    return True
