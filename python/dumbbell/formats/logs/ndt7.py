"""Results of M-Lab's ndt7: its client's output with ``-format json``, and M-Lab's archive.

The layouts are those of ndt7-client-go (``cmd/ndt7-client/internal/emitter``: a line an event, then
a summary) and of ndt-server's archive (``data.NDT7Result``: an object with all measurements of a
server). A measurement is that of ndt7's specification, "Measurement message": times and round trips
are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, Members, UnreadCounter, nothing_in

Row = dict[str, int | float | str]

MEASUREMENTS = (
    LogColumn("test", "-", "``download`` or ``upload``.", "text"),
    LogColumn("origin", "-", "Who measured: ``client`` or ``server``.", "text"),
    LogColumn("t_s", "s", "From the start of the test.", "real"),
    LogColumn("bytes", "bytes", "Payload of the application until then."),
    LogColumn("received_bytes", "bytes", "Received by the server's TCP."),
    LogColumn("acked_bytes", "bytes", "Acknowledged to the server's TCP."),
    LogColumn("sent_bytes", "bytes", "Sent by the server's TCP, again too."),
    LogColumn("retransmitted_bytes", "bytes", "Of those sent again."),
    LogColumn("rtt_us", "us", "Smoothed round trip of the server's TCP."),
    LogColumn("min_rtt_us", "us", "Least round trip of it."),
)
SUMMARY = (
    LogColumn("test", "-", "``download`` or ``upload``.", "text"),
    LogColumn("throughput_mbps", "Mbit/s", "As the client says it.", "real"),
    LogColumn("min_rtt_ms", "ms", "As the client says it.", "real"),
    LogColumn("retransmitted_percent", "%", "As the client says it.", "real"),
)
TESTS = ("download", "upload")
_KEYS = frozenset(("starting", "connected", "measurement", "complete", "error"))
MOST_EVENTS = 1 << 20
_NOTHING = float("nan")
_TCP = {
    "BytesReceived": "received_bytes",
    "BytesAcked": "acked_bytes",
    "BytesSent": "sent_bytes",
    "BytesRetrans": "retransmitted_bytes",
    "RTT": "rtt_us",
    "MinRTT": "min_rtt_us",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ndt7Log(Log):
    """A test of ndt7: the tables ``measurements`` and ``summary``.

    Attributes:
        host: The server.
    """

    format: ClassVar[LogFormat] = LogFormat.NDT7
    host: str


def is_ndt7(text: LogText) -> bool:
    """Whether it is an event of a client, its summary, or an archived test."""
    document = text.document
    if document is None and text.begins_with == "{":
        document = _object(next((line for line in text.first_lines if line.strip()), ""))
    if document is None:
        return False
    is_event = document.get("Key") in _KEYS if isinstance(document.get("Key"), str) else False
    has_test = "Download" in document or "Upload" in document
    return (is_event and "Value" in document) or (
        has_test and ("ServerFQDN" in document or "ServerIP" in document)
    )


def read_ndt7(text: LogText) -> Ndt7Log:
    """Parse a log.

    Raises:
        UnreadableError: It is truncated (an incomplete object cannot be parsed), or has no values.
    """
    noted = UnreadCounter()
    measurements: list[Row] = []
    summary: list[Row] = []
    problems: list[str] = []
    host = ""
    document = text.document
    whole = [(1, document)] if document is not None else list(_lines(text, noted))
    for at, each in whole:
        members = Members(each, f"line {at}" if document is None else "", noted)
        if "Key" in members:
            value = members.object("Value")
            if members.text("Key") == "measurement":
                measurements.append(_measurement(value, value.text("Test"), value.text("Origin")))
            elif members.text("Key") == "error":
                problems.append(f"ndt7 says: {value.text('Failure')}")
            continue
        host = members.text("ServerFQDN") or members.text("ServerIP")
        for test in TESTS:
            found = _part(members, test.capitalize())
            measurements += _archived(found, test)
            if said := _said(members, found, test, noted):
                summary.append(said)
    measurements = [row for row in measurements if row["test"] in TESTS]
    if not measurements and not summary and not problems:
        raise nothing_in(text, "ndt7")
    return Ndt7Log(
        source=text.name,
        variant="ndt7",
        tables={
            "measurements": LogTable.of(MEASUREMENTS, measurements),
            "summary": LogTable.of(SUMMARY, summary),
        },
        unknown=noted.unknown,
        problems=tuple(problems),
        host=host,
    )


def _lines(text: LogText, noted: UnreadCounter) -> Iterator[tuple[int, dict[str, Any]]]:
    for at, line in enumerate(text.lines[:MOST_EVENTS], start=1):
        if line.strip():
            found = _object(line)
            noted.read(text, at, is_understood=found is not None)
            if found is not None:
                yield at, found


def _archived(test: Members, of: str) -> Iterator[Row]:
    for origin in ("client", "server"):
        name = f"{origin.capitalize()}Measurements"
        for each in () if test.is_null(name) else test.objects(name):
            yield _measurement(each, of, origin)


def _part(of: Members, name: str) -> Members:
    """A part of the record; an empty object if missing, which Go writes as null."""
    return of.without_members() if of.is_null(name) else of.object(name)


def _measurement(each: Members, test: str, origin: str) -> Row:
    app, tcp = _part(each, "AppInfo"), _part(each, "TCPInfo")
    of = app if "ElapsedTime" in app else tcp
    return {
        "test": test,
        "origin": origin,
        "t_s": of.real("ElapsedTime", 1e-6),
        "bytes": app.whole("NumBytes"),
        **{column: tcp.whole(key) for key, column in _TCP.items()},
    }


def _said(whole: Members, found: Members, test: str, noted: UnreadCounter) -> Row | None:
    """The client's summary: one object per test, or separate values in versions before 0.5."""
    if found.is_null("Throughput") and found.is_null("Value"):
        return None
    if "Throughput" in found:
        rate, rtt = found.object("Throughput"), found.object("Latency")
        again = found.object("Retransmission")
    else:
        rate, is_down = found, test == "download"
        none = whole.without_members()
        rtt = _part(whole, "MinRTT") if is_down else none
        again = _part(whole, "DownloadRetrans") if is_down else none
    return {
        "test": test,
        "throughput_mbps": _value(rate, noted),
        "min_rtt_ms": _value(rtt, noted),
        # In an upload the client does not know it, and writes 0 without a unit.
        "retransmitted_percent": _value(again, noted, 100) if again.text("Unit") else _NOTHING,
    }


def _value(of: Members, noted: UnreadCounter, most: float = 1e9) -> float:
    """The value; NaN if missing or out of range."""
    found = of.real("Value")
    if found < 0 or found > most:
        noted.value(f"{of.path}.Value", found)
        return _NOTHING
    return found


def _object(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
