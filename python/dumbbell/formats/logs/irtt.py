"""Output of ``irtt client -o FILE.json``: one row per request, with delays in both directions.

The layout is that of irtt 0.9 (``json_format`` 1; ``result.go``, irtt-client(1)). One-way delays
are differences of two hosts' clocks; the round-trip time excludes the server's processing time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, Members, UnreadCounter, nothing_in

ROUND_TRIPS = (
    LogColumn("seq", "-", "Number of the request, from 0."),
    LogColumn("is_lost", "-", "1 without an answer."),
    LogColumn("lost_where", "-", "``up``, ``down``, ``unknown``; empty of an answer.", "text"),
    LogColumn("sent_epoch_ns", "ns", "Unix time of its sending."),
    LogColumn("rtt_ns", "ns", "Round trip without the server's own time; -1 without an answer."),
    LogColumn("delay_up_ns", "ns", "One-way delay there; may be below 0; NaN unknown.", "real"),
    LogColumn("delay_down_ns", "ns", "One-way delay back; may be below 0; NaN unknown.", "real"),
    LogColumn("ipdv_ns", "ns", "Change of the round trip; NaN where one is missing.", "real"),
)
_LOST = {"false": "", "true": "unknown", "true_up": "up", "true_down": "down"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IrttLog(Log):
    """A test of irtt: the table ``round_trips``.

    Attributes:
        host: The server.
        interval_ns: Interval between requests; -1 if unknown.
        length_bytes: UDP payload of a request; -1 if unknown.
        sent: Number of requests.
        received: Number of answers.
    """

    format: ClassVar[LogFormat] = LogFormat.IRTT
    host: str
    interval_ns: int
    length_bytes: int
    sent: int
    received: int


def is_irtt(text: LogText) -> bool:
    """Whether the text is from irtt: an object with its version and configuration."""
    document = text.document
    if document is None:
        head = text.text[:2000]
        return text.begins_with == "{" and '"irtt":' in head and '"json_format":' in head
    version = document.get("version")
    return isinstance(version, dict) and "irtt" in version and "json_format" in version


def read_irtt(text: LogText) -> IrttLog:
    """Parse a log.

    Raises:
        UnreadableError: It is truncated (incomplete JSON cannot be parsed), or has no request.
    """
    noted = UnreadCounter()
    if text.document is None:
        raise nothing_in(text, "irtt (its JSON is cut off or damaged)")
    whole = Members(text.document, "", noted)
    config, stats = whole.object("config"), whole.object("stats")
    parameters = config.object("params")
    rows = [_row(each) for each in whole.objects("round_trips")]
    if not rows:
        raise nothing_in(text, "irtt")
    sent, received = stats.whole("packets_sent"), stats.whole("packets_received")
    counted = sum(row["is_lost"] == 0 for row in rows)
    version = whole.object("version").text("irtt")
    return IrttLog(
        source=text.name,
        variant=f"irtt {version}".strip(),
        tables={"round_trips": LogTable.of(ROUND_TRIPS, rows)},
        unknown=noted.unknown,
        problems=(),
        host=config.text("remote_address"),
        interval_ns=parameters.whole("interval"),
        length_bytes=parameters.whole("length"),
        sent=sent if sent >= 0 else len(rows),
        received=min(received, sent) if received >= 0 and sent >= 0 else counted,
    )


def _row(each: Members) -> dict[str, int | float | str]:
    lost = each.text("lost")
    is_lost = lost != "false"
    delay, sent = each.object("delay"), each.object("timestamps").object("client").object("send")
    rtt = each.object("delay").whole("rtt")
    return {
        "seq": each.whole("seqno"),
        "is_lost": int(is_lost),
        "lost_where": _LOST.get(lost, "unknown"),
        "sent_epoch_ns": sent.whole("wall"),
        "rtt_ns": NOT_SAID if is_lost else rtt,
        "delay_up_ns": delay.real("send"),
        "delay_down_ns": delay.real("receive"),
        "ipdv_ns": each.object("ipdv").real("rtt"),
    }
