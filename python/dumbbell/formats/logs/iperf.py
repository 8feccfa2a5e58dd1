"""Output of ``iperf`` 2 with ``-y C``: comma-separated reports of intervals and of whole tests.

The layout is that of iperf 2.0 and 2.1: time, addresses and ports of both ends, number of the
stream, begin and end, bytes, bit/s; for UDP also jitter (ms), lost and total datagrams, the loss
(%), and datagrams out of order. The report of a whole test begins at 0 like its first interval, and
comes last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.formats.logs.model import NOT_SAID, Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number, real

Row = dict[str, int | float | str]

INTERVALS = (
    LogColumn("stream", "-", "Number of the stream; -1 for all streams together."),
    LogColumn("start_s", "s", "Begin of the interval, from the start of the test.", "real"),
    LogColumn("end_s", "s", "Its end.", "real"),
    LogColumn("bytes", "bytes", "Payload written by a sender or read by a receiver."),
    LogColumn("throughput_bps", "bit/s", "Those over the seconds.", "real"),
    LogColumn("retransmitted_pkts", "packets", "Not said in this form."),
    LogColumn("pkts", "packets", "Datagrams; of UDP."),
    LogColumn("lost_pkts", "packets", "Those that a receiver missed; of UDP."),
    LogColumn("jitter_ms", "ms", "Of a receiver, as RFC 1889 smooths it; of UDP.", "real"),
)
_TIME = r"\d{1,9}\.\d{1,6}"
_LINE = re.compile(
    r"\d{14}(?:\.\d{1,6})?,(?P<ends>[0-9a-fA-F.:]{2,45},\d{1,5},[0-9a-fA-F.:]{2,45},\d{1,5}),"
    rf"(?P<stream>-?\d{{1,6}}),(?P<start>{_TIME})-(?P<end>{_TIME}),(?P<bytes>\d{{1,18}}),"
    r"(?P<bps>\d{1,18})(?:,(?P<jitter>-?\d{1,9}\.\d{1,6}),(?P<lost>-?\d{1,9}),(?P<pkts>-?\d{1,9}),"
    r"-?[0-9.]{1,12},-?\d{1,9})?\s*"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IperfLog(Log):
    """Reports of iperf 2: the tables ``intervals`` and ``totals``, with the same columns."""

    format: ClassVar[LogFormat] = LogFormat.IPERF

    def whole(self) -> Row:
        """Totals over all streams and tests: bytes, bit/s, packets, ms.

        iperf may or may not print a report with the sum of all streams (stream -1). Packets, losses
        and the largest jitter are known only for UDP receivers. Empty if no test has ended.
        """
        totals = self.tables["totals"]
        if not len(totals):
            return {}
        together = totals["stream"] == -1
        keep = together if together.any() else ~together
        row: Row = {
            "bytes": int(totals["bytes"][keep].sum()),
            "throughput_bps": float(totals["throughput_bps"][keep].sum()),
        }
        pkts, lost = totals["pkts"][keep], totals["lost_pkts"][keep]
        if (pkts > 0).all() and (lost >= 0).all() and (lost <= pkts).all():
            row |= {"pkts": int(pkts.sum()), "lost_pkts": int(lost.sum())}
            row |= {"jitter_ms": float(totals["jitter_ms"][keep].max())}
        return row


def is_iperf(text: LogText) -> bool:
    """Whether the text is from iperf 2."""
    return any(_LINE.fullmatch(line) for line in text.first_lines)


def read_iperf(text: LogText) -> IperfLog:
    """Parse a log.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    rows: list[tuple[str, Row]] = []
    noted.lines(text, lambda line: not line.strip() or _take(line, rows))
    if not rows:
        raise nothing_in(text, "iperf -y C")
    last = {ends: at for at, (ends, _) in enumerate(rows)}
    whole = {at for at in last.values() if rows[at][1]["start_s"] == 0}
    return IperfLog(
        source=text.name,
        variant="iperf 2",
        tables={
            "intervals": LogTable.of(
                INTERVALS, [row for at, (_, row) in enumerate(rows) if at not in whole]
            ),
            "totals": LogTable.of(INTERVALS, [rows[at][1] for at in sorted(whole)]),
        },
        unknown=noted.unknown,
        problems=() if len(whole) == len(last) else ("the end of a test is missing",),
    )


def _take(line: str, rows: list[tuple[str, Row]]) -> bool:
    said = _LINE.fullmatch(line)
    if said is None:
        return False
    row: Row = {
        "stream": int(said["stream"]),
        "start_s": real(said["start"]),
        "end_s": real(said["end"]),
        "bytes": number(said["bytes"]),
        "throughput_bps": real(said["bps"]),
    }
    if said["pkts"] is not None:
        # A sender's report has counts of -1 for unknown values.
        pkts = int(said["pkts"])
        row |= {"pkts": max(pkts, NOT_SAID), "jitter_ms": real(said["jitter"])}
        row |= {"lost_pkts": int(said["lost"]) if pkts >= 0 else NOT_SAID}
    rows.append((f"{said['ends']},{said['stream']}", row))
    return True
