"""Output of ``iperf3 -J``: the test, its intervals and its end; TCP or UDP, any direction.

The layout is that of iperf 3.1 to 3.17 (``src/iperf_api.c``, ``iperf_print_results``). 3.1 prints
large numbers in exponent form and has no times of round trips in UDP or at receivers;
``--json-stream`` (3.17) writes a line an event, which is put together again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, Members, UnreadCounter, nothing_in

Row = dict[str, int | float | str]

_RATE = (
    LogColumn("bytes", "bytes", "Payload written by a sender or read by a receiver."),
    LogColumn("throughput_bps", "bit/s", "Those over the seconds.", "real"),
    LogColumn("retransmitted_pkts", "packets", "Segments sent again; of a TCP sender on Linux."),
)
_DATAGRAMS = (
    LogColumn("pkts", "packets", "Datagrams; of UDP."),
    LogColumn("lost_pkts", "packets", "Those that a receiver missed; of UDP."),
    LogColumn("out_of_order_pkts", "packets", "Those that came late; of UDP."),
    LogColumn("jitter_ms", "ms", "Of a receiver, as RFC 1889 smooths it; of UDP.", "real"),
)
INTERVALS = (
    LogColumn("socket", "-", "Number of the stream's socket."),
    LogColumn("start_s", "s", "Begin of the interval, from the start of the test.", "real"),
    LogColumn("end_s", "s", "Its end.", "real"),
    *_RATE,
    LogColumn("cwnd_bytes", "bytes", "Congestion window at its end; of a TCP sender on Linux."),
    LogColumn("rtt_us", "us", "Smoothed round-trip time at its end; of a TCP sender."),
    LogColumn("rttvar_us", "us", "Its mean deviation; of a TCP sender."),
    *_DATAGRAMS,
    LogColumn("is_sender", "-", "1 where this side sent, 0 where it received; -1 not said."),
    LogColumn("is_omitted", "-", "1 where ``--omit`` leaves it out of the sums."),
)
SUMS = (
    LogColumn("socket", "-", "Number of the stream's socket; -1 for all streams together."),
    LogColumn("side", "-", "``sent``, ``received``, or ``both`` (UDP before 3.7).", "text"),
    LogColumn("is_reverse", "-", "1 for the second direction of ``--bidir``."),
    LogColumn("seconds", "s", "What it is over.", "real"),
    *_RATE,
    LogColumn("rtt_mean_us", "us", "Mean of the smoothed round-trip times sampled."),
    LogColumn("rtt_min_us", "us", "Least of them."),
    LogColumn("rtt_max_us", "us", "Greatest of them."),
    *_DATAGRAMS,
)
_SIDES = {
    "sum": "both",
    "sum_sent": "sent",
    "sum_received": "received",
}
_REVERSE = "_bidir_reverse"
_EVENTS = ("start", "interval", "end", "error")
MOST_EVENTS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Iperf3Log(Log):
    """A test of iperf3: tables ``intervals`` (of streams) and ``sums`` (of its end).

    Attributes:
        protocol: ``TCP``, ``UDP`` or ``SCTP``; empty where the test did not begin.
        host: Server that the client connected to; empty in a server's log.
        congestion: The sender's controller; empty if unknown.
        is_reverse: Whether the server sent.
        is_bidirectional: Whether both sides sent.
        started_epoch_s: Unix time; -1 if unknown.
        duration_s: Requested duration; NaN if unknown.
    """

    format: ClassVar[LogFormat] = LogFormat.IPERF3
    protocol: str
    host: str
    congestion: str
    is_reverse: bool
    is_bidirectional: bool
    started_epoch_s: int
    duration_s: float


def is_iperf3(text: LogText) -> bool:
    """Whether the text is from iperf3: an object with ``start`` and ``intervals``, or
    its events.
    """
    if text.begins_with != "{":
        return False
    document = text.document
    if document is not None:
        return ("start" in document and ("intervals" in document or "end" in document)) or (
            set(document) >= {"event", "data"}
        )
    first = next((line for line in text.first_lines if line.strip()), "")
    event = _object(first)
    return (event is not None and {"event", "data"} <= set(event)) or '"start":\t{' in text.text[
        :200
    ]


def read_iperf3(text: LogText) -> Iperf3Log:
    """Parse a log.

    Raises:
        UnreadableError: It is truncated (incomplete JSON cannot be parsed), or has no values.
    """
    noted = UnreadCounter()
    document = text.document
    if document is None or "event" in document:
        document = _of_events(text, noted)
    whole = Members(document, "", noted)
    start, test = whole.object("start"), whole.object("start").object("test_start")
    end = whole.object("end")
    problems = []
    if "error" in whole:
        problems.append(f"iperf3 says: {whole.text('error')}")
    intervals = [row for each in whole.objects("intervals") for row in _interval(each)]
    sums = list(_sums(end))
    if not intervals and not sums and not problems:
        raise nothing_in(text, "iperf3")
    if not sums and not problems:
        problems.append("the end of the test is missing")
    return Iperf3Log(
        source=text.name,
        variant=start.text("version"),
        tables={
            "intervals": LogTable.of(INTERVALS, intervals),
            "sums": LogTable.of(SUMS, sums),
        },
        unknown=noted.unknown,
        problems=tuple(problems),
        protocol=test.text("protocol").upper(),
        host=start.object("connecting_to").text("host"),
        congestion=end.text("sender_tcp_congestion"),
        is_reverse=test.truth("reverse"),
        is_bidirectional=any(row["is_reverse"] == 1 for row in sums),
        started_epoch_s=start.object("timestamp").whole("timesecs"),
        duration_s=test.real("duration"),
    )


def _interval(interval: Members) -> Iterator[Row]:
    for each in interval.objects("streams"):
        yield {
            "socket": each.whole("socket"),
            "start_s": each.real("start"),
            "end_s": each.real("end"),
            **_rate(each),
            "cwnd_bytes": each.whole("snd_cwnd"),
            "rtt_us": each.whole("rtt"),
            "rttvar_us": each.whole("rttvar"),
            **_datagrams(each),
            "is_sender": int(each.truth("sender")) if "sender" in each else -1,
            "is_omitted": int(each.truth("omitted")),
        }


def _rate(each: Members) -> Row:
    return {
        "bytes": each.whole("bytes"),
        "throughput_bps": each.real("bits_per_second"),
        "retransmitted_pkts": each.whole("retransmits"),
    }


def _datagrams(each: Members) -> Row:
    return {
        "pkts": each.whole("packets"),
        "lost_pkts": each.whole("lost_packets"),
        "out_of_order_pkts": each.whole("out_of_order"),
        "jitter_ms": each.real("jitter_ms"),
    }


def _sums(end: Members) -> Iterator[Row]:
    for stream in end.objects("streams"):
        for name, side in (("sender", "sent"), ("receiver", "received"), ("udp", "both")):
            if name in stream:
                yield _sum(stream.object(name), side, is_reverse=False)
    for name, side in _SIDES.items():
        for suffix in ("", _REVERSE):
            if f"{name}{suffix}" in end:
                row = _sum(end.object(f"{name}{suffix}"), side, is_reverse=bool(suffix))
                yield {**row, "socket": -1}


def _sum(each: Members, side: str, *, is_reverse: bool) -> Row:
    return {
        "socket": each.whole("socket"),
        "side": side,
        "is_reverse": int(is_reverse),
        "seconds": each.real("seconds"),
        **_rate(each),
        "rtt_mean_us": each.whole("mean_rtt"),
        "rtt_min_us": each.whole("min_rtt"),
        "rtt_max_us": each.whole("max_rtt"),
        **_datagrams(each),
    }


def _of_events(text: LogText, noted: UnreadCounter) -> dict[str, Any]:
    """Reassemble the document that ``--json-stream`` wrote as events.

    Raises:
        UnreadableError: It is not one event per line.
    """
    document: dict[str, Any] = {"intervals": []}
    known = 0
    for at, line in enumerate(text.lines[:MOST_EVENTS], start=1):
        if not line.strip():
            continue
        event = _object(line)
        name = event.get("event") if event else None
        if (
            event is None
            or "data" not in event
            or name not in ("start", "interval", "end", "error")
        ):
            noted.read(text, at, is_understood=False)
            continue
        noted.read(text, at, is_understood=True)
        known += 1
        if name == "interval":
            document["intervals"].append(event["data"])
        else:
            document[name] = event["data"]
    if not known:
        raise nothing_in(text, "iperf3 (its JSON is cut off or damaged)")
    return document


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
