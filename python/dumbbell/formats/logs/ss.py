"""Output of ``ss -tin``, once or in a loop: one row per connection and call.

The layout is that of iproute2 4 to 6 (``misc/ss.c``, ``tcp_stats_print``, ``tcp_show_info``): a
line for the socket and an indented one for the kernel's ``TCP_INFO``, or both on one (``-O``).
Before iproute2 6 rates are rounded (``10.9Mbps``), since then they are integers (``10994267bps``).
In a loop, separate lines with times, as ``date`` prints them, precede or follow each call. Without
them a call begins at a heading, or when a connection repeats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number
from dumbbell.formats.logs.times import epoch_ns
from dumbbell.spec.tcp import LINUX_CONTROLLERS

Row = dict[str, int | float | str]

SOCKETS = (
    LogColumn("call", "-", "Number of the call of ss in the file, from 1."),
    LogColumn("epoch_ns", "ns", "Unix time of the call, where a line says it."),
    LogColumn("local", "-", "Address and port of this side.", "text"),
    LogColumn("peer", "-", "Address and port of the other.", "text"),
    LogColumn("state", "-", "``ESTAB`` and the like; empty where ss was asked for one.", "text"),
    LogColumn("congestion", "-", "Congestion controller.", "text"),
    LogColumn("send_queue_bytes", "bytes", "Not acknowledged or not sent yet (Send-Q)."),
    LogColumn("cwnd_pkts", "packets", "Congestion window."),
    LogColumn("ssthresh_pkts", "packets", "Slow start threshold; -1 before the first."),
    LogColumn("rtt_ns", "ns", "Smoothed round-trip time."),
    LogColumn("rttvar_ns", "ns", "Its mean deviation."),
    LogColumn("min_rtt_ns", "ns", "Least round-trip time in the kernel's window of it."),
    LogColumn("rto_ns", "ns", "Retransmission timeout."),
    LogColumn("mss_bytes", "bytes", "Payload of a full segment."),
    LogColumn("unacked_pkts", "packets", "Sent and not acknowledged; 0 where ss leaves it out."),
    LogColumn("retrans_pkts", "packets", "Sent again and not acknowledged yet."),
    LogColumn("retrans_total_pkts", "packets", "Sent again, since the connection began."),
    LogColumn("lost_pkts", "packets", "Taken for lost."),
    LogColumn("sacked_pkts", "packets", "Acknowledged selectively."),
    LogColumn("bytes_sent", "bytes", "Payload sent, retransmissions too."),
    LogColumn("bytes_retrans", "bytes", "Of it those sent again."),
    LogColumn("bytes_acked", "bytes", "Acknowledged; one more than payload, the SYN's."),
    LogColumn("bytes_received", "bytes", "From the other side."),
    LogColumn("segs_out", "packets", "Sent, pure acknowledgements too."),
    LogColumn("data_segs_out", "packets", "Sent with payload."),
    LogColumn("delivered_pkts", "packets", "Known to have arrived."),
    LogColumn("notsent_bytes", "bytes", "Written by the program and not sent yet."),
    LogColumn("send_bps", "bit/s", "A window a round trip."),
    LogColumn("pacing_rate_bps", "bit/s", "What the sender paces with."),
    LogColumn("delivery_rate_bps", "bit/s", "Its last estimate of the rate of delivery."),
    LogColumn("busy_ns", "ns", "Time with something to send."),
)
_MS = 1_000_000
_KEYS: dict[str, tuple[str, int]] = {
    "cwnd": ("cwnd_pkts", 1),
    "ssthresh": ("ssthresh_pkts", 1),
    "minrtt": ("min_rtt_ns", _MS),
    "rto": ("rto_ns", _MS),
    "mss": ("mss_bytes", 1),
    "unacked": ("unacked_pkts", 1),
    "lost": ("lost_pkts", 1),
    "sacked": ("sacked_pkts", 1),
    "bytes_sent": ("bytes_sent", 1),
    "bytes_retrans": ("bytes_retrans", 1),
    "bytes_acked": ("bytes_acked", 1),
    "bytes_received": ("bytes_received", 1),
    "segs_out": ("segs_out", 1),
    "data_segs_out": ("data_segs_out", 1),
    "delivered": ("delivered_pkts", 1),
    "notsent": ("notsent_bytes", 1),
}
"""Column and scale for each ``key:value``."""
_RATES = {
    "send": "send_bps",
    "pacing_rate": "pacing_rate_bps",
    "delivery_rate": "delivery_rate_bps",
}
"""Words before a rate."""
_COUNTS = ("unacked_pkts", "retrans_pkts", "retrans_total_pkts", "lost_pkts", "sacked_pkts")
"""Values that ss prints only if they are not 0."""
_CONTROLLERS = frozenset(LINUX_CONTROLLERS) | {"bbr1", "bbr2", "bbr3", "prague"}
"""Controllers of Linux and of patched kernels."""
_STATES = (
    "ESTAB|SYN-SENT|SYN-RECV|FIN-WAIT-1|FIN-WAIT-2|TIME-WAIT|CLOSE-WAIT|LAST-ACK|LISTEN|CLOSING|"
    "CLOSED|UNCONN|UNKNOWN"
)
_ADDRESS = r"(?:\[[\w:.%]{1,64}\]|[^\s:\[\]]{1,80}|[0-9A-Fa-f:.]{2,64}):[\w*-]{1,32}"
_SOCKET = re.compile(
    rf"(?:tcp +)?(?:(?P<state>{_STATES})\s+)?(?P<recv>\d{{1,15}})\s+(?P<send>\d{{1,15}})\s+"
    rf"(?P<local>{_ADDRESS})\s+(?P<peer>{_ADDRESS})(?P<rest>(?:\s.*)?)"
)
_HEADING = re.compile(
    r"(?:Netid\s+)?(?:State\s+)?Recv-Q\s+Send-Q\s+Local Address:Port\s+Peer Address:Port\s*"
    r"(?:Process)?\s*"
)
_TOKEN = re.compile(r"(?P<key>[a-z_]{2,20}):(?P<value>\S{1,100})")
_DECIMAL = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_RATE = re.compile(r"(?P<value>\d{1,15}(?:\.\d{1,6})?)(?P<unit>[KMGT]?)bps")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_DURATION = re.compile(r"(?P<ms>\d{1,15}(?:\.\d{1,6})?)ms(?:\(.{0,20}\))?")
_ELSE = re.compile(r"|-{3,}|Total: \d.{0,100}|(?:TCP|Transport|RAW|UDP|INET|FRAG)\b.{0,100}")
_OF_SS = ("cwnd:", "rtt:", "rto:", "wscale:", "mss:")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SsLog(Log):
    """Calls of ss: the table ``sockets``.

    Attributes:
        calls: Number of calls.
        has_times: Whether all of them have a time.
    """

    format: ClassVar[LogFormat] = LogFormat.SS
    calls: int
    has_times: bool


@dataclass(slots=True)
class _Reading:
    """State of the parser."""

    rows: list[Row] = field(default_factory=list)
    call: int = 0
    epoch_ns: int = NOT_SAID
    seen: set[tuple[str, str]] = field(default_factory=set)
    is_pending: bool = True
    """Whether the next connection begins a call."""
    waits_for_info: bool = False
    is_time_before: bool | None = None
    """Whether times precede their calls; the same throughout a file."""

    def tell_time(self, at_ns: int) -> None:
        """Handle a line with only a time."""
        if self.is_time_before is None:
            self.is_time_before = not self.rows
        if self.is_time_before:
            self.epoch_ns = at_ns
        else:
            for row in reversed(self.rows):
                if row["call"] != self.call or row["epoch_ns"] != NOT_SAID:
                    break
                row["epoch_ns"] = at_ns
        self.begin_call()

    def begin_call(self) -> None:
        self.seen = set()
        self.is_pending = True
        self.waits_for_info = False


def is_ss(text: LogText) -> bool:
    """Whether the text is from ss, with ``-i``."""
    lines = text.first_lines
    has_socket = any(_SOCKET.fullmatch(line.strip()) for line in lines)
    return has_socket and any(
        any(token.startswith(_OF_SS) for token in line.split()[:60]) for line in lines
    )


def read_ss(text: LogText) -> SsLog:
    """Parse a log.

    Raises:
        UnreadableError: It has no connection with the kernel's information.
    """
    noted = UnreadCounter()
    reading = _Reading()
    noted.lines(text, lambda line: _take(line, reading, text.time_ns(noted.at)))
    rows = [row for row in reading.rows if "mss_bytes" in row or "cwnd_pkts" in row]
    if not rows:
        raise nothing_in(text, "ss -i")
    for row in rows:
        if "rto_ns" not in row:
            continue  # not in the kernel's units, or omitted for another reason
        for name in _COUNTS:
            row.setdefault(name, 0)
    table = LogTable.of(SOCKETS, rows)
    calls = len(set(table["call"].tolist()))
    return SsLog(
        source=text.name,
        variant="iproute2",
        tables={"sockets": table},
        unknown=noted.unknown,
        problems=(),
        calls=calls,
        has_times=bool((table["epoch_ns"] >= 0).all()),
    )


def _take(line: str, reading: _Reading, at_ns: int) -> bool:
    """Parse a line; returns whether it is known. ``at_ns`` is its time, -1 if other
    lines have it.
    """
    stripped = line.strip()
    if stripped and line[0] not in " \t" and (socket := _SOCKET.fullmatch(line)):
        return _socket(socket, reading, at_ns)
    if stripped and line[0] in " \t" and reading.waits_for_info:
        reading.waits_for_info = False
        return _info(line.split(), reading.rows[-1])
    at = epoch_ns(stripped)
    if at is not None:
        reading.tell_time(at)
    elif _HEADING.fullmatch(line) or stripped.startswith("---"):
        reading.begin_call()
    else:
        return bool(_ELSE.fullmatch(stripped))
    return True


def _socket(found: re.Match[str], reading: _Reading, at_ns: int) -> bool:
    ends = found["local"], found["peer"]
    if reading.is_pending or ends in reading.seen:
        reading.call += 1
        reading.seen = set()
        reading.is_pending = False
    reading.seen.add(ends)
    row: Row = {
        "call": reading.call,
        "epoch_ns": reading.epoch_ns if reading.epoch_ns >= 0 else at_ns,
        "local": ends[0],
        "peer": ends[1],
        "state": found["state"] or "",
        "send_queue_bytes": int(found["send"]),
    }
    reading.rows.append(row)
    words = found["rest"].split()
    if any(word.startswith(_OF_SS) for word in words):
        reading.waits_for_info = False
        return _info(words, row)
    reading.waits_for_info = True
    return True


def _info(words: list[str], row: Row) -> bool:
    """Parse a connection's information; returns whether all words that have a column were
    understood.

    Words without a column are ignored silently, because each version of ss adds some.
    """
    found: Row = {}
    try:
        for index, word in enumerate(words):
            if word in _CONTROLLERS:
                found["congestion"] = word
            elif word in _RATES and index + 1 < len(words):
                found[_RATES[word]] = _rate(words[index + 1])
            elif token := _TOKEN.fullmatch(word):
                found |= _value(token["key"], token["value"])
    except ValueError:
        return False
    row |= found
    return "mss_bytes" in row or "cwnd_pkts" in row


def _value(key: str, value: str) -> Row:
    if key in _KEYS:
        column, scale = _KEYS[key]
        return {column: number(_decimal(value), scale)}
    if key == "rtt":
        mean, _, deviation = value.partition("/")
        return {
            "rtt_ns": number(_decimal(mean), _MS),
            "rttvar_ns": number(_decimal(deviation), _MS),
        }
    if key == "retrans":
        now, _, total = value.partition("/")
        return {
            "retrans_pkts": number(_decimal(now)),
            "retrans_total_pkts": number(_decimal(total)),
        }
    if key == "busy":
        duration = _DURATION.fullmatch(value)
        if duration is None:
            raise ValueError(value)
        return {"busy_ns": number(duration["ms"], _MS)}
    return {}


def _decimal(text: str) -> str:
    if not _DECIMAL.fullmatch(text):
        raise ValueError(text)
    return text


def _rate(text: str) -> int:
    found = _RATE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    return number(found["value"], _UNITS[found["unit"]])
