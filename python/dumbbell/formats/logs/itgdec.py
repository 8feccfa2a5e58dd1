"""ITGDec's output for a log of D-ITG: summary, packets (``-l``, ``-o``), steps (``-c``).

The layout is that of D-ITG 2.8.1 (D-ITG manual, "ITGDec"). Delays of a receiver's log are
differences of two hosts' clocks; a sender's log has the packets and no delays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number, real

Row = dict[str, int | float | str]

FLOWS = (
    LogColumn("flow", "-", "D-ITG's number of it; 0 for the total of all."),
    LogColumn("source", "-", "Address and port, as printed.", "text"),
    LogColumn("destination", "-", "Address and port, as printed.", "text"),
    LogColumn("total_time_s", "s", "From the first packet to the last.", "real"),
    LogColumn("pkts", "packets", "In the log; of a receiver's log those received."),
    LogColumn("delay_min_s", "s", "Least one-way delay.", "real"),
    LogColumn("delay_max_s", "s", "Greatest one-way delay.", "real"),
    LogColumn("delay_mean_s", "s", "Mean one-way delay.", "real"),
    LogColumn("jitter_mean_s", "s", "Mean difference of successive delays.", "real"),
    LogColumn("delay_sd_s", "s", "Standard deviation of the delay.", "real"),
    LogColumn("payload_bytes", "bytes", "Payload of those packets."),
    LogColumn("bitrate_bps", "bit/s", "Payload over the total time.", "real"),
    LogColumn("packet_rate_pps", "packets/s", "Packets over the total time.", "real"),
    LogColumn("dropped_pkts", "packets", "Missing sequence numbers."),
    LogColumn("loss_burst_mean_pkts", "packets", "Mean length of a run of them.", "real"),
)
PACKETS = (
    LogColumn("flow", "-", "D-ITG's number of it; 0 for all of them, which ``-o`` does not tell."),
    LogColumn("seq", "-", "From 1."),
    LogColumn("sent_ns", "ns", "Time of day of its sending, by the sender's clock."),
    LogColumn("received_ns", "ns", "Time of day of its arrival, by the receiver's clock."),
    LogColumn("payload_bytes", "bytes", "Of the datagram."),
)
STEPS = (
    LogColumn("t_s", "s", "When the step begins.", "real"),
    LogColumn("bitrate_bps", "bit/s", "Payload received in it.", "real"),
    LogColumn("delay_mean_s", "s", "Mean one-way delay.", "real"),
    LogColumn("jitter_mean_s", "s", "Mean jitter.", "real"),
    LogColumn("dropped_pkts", "packets", "Missing sequence numbers.", "real"),
)
_NS_PER_DAY = 86_400 * 10**9
_DECIMAL = r"-?\d{1,15}(?:\.\d{1,9})?"

_FLOW = re.compile(r"Flow number: (?P<flow>\d{1,9})\s*")
_END = re.compile(r"(?P<end>From|To) +(?P<address>\S{1,120}):(?P<port>\d{1,5})\s*")
_TOTAL = re.compile(r"\*+ +TOTAL RESULTS +\*+\s*")
_SAID = re.compile(
    r"(?P<name>[A-Z][A-Za-z -]{3,30}?) += +(?P<value>" + _DECIMAL + r"|-?nan|-?inf)"
    r"(?: (?P<unit>s|Kbit/s|pkt/s|pkt))?(?: \((?:" + _DECIMAL + r"|-?nan) %\))?\s*"
)
_PACKET = re.compile(
    r"Flow>(?P<flow>\d{1,9}) Seq> *(?P<seq>\d{1,15}) Src> *(?P<source>\S{1,80}) "
    r"Dest> *(?P<destination>\S{1,80}) "
    r"txTime>(?P<sent>\d{1,2}:\d{1,2}:\d{1,2}\.\d{1,9}) "
    r"rxTime>(?P<received>\d{1,2}:\d{1,2}:\d{1,2}\.\d{1,9}) Size> *(?P<size>\d{1,9})\s*"
)
_OCTAVE_PACKET = re.compile(
    r" *(?P<seq>\d{1,15}) (?P<sent>\d{1,2} \d{1,2} \d{1,2}\.\d{6}) "
    r"(?P<received>\d{1,2} \d{1,2} \d{1,2}\.\d{6}) (?P<size>\d{1,9})\s*"
)
"""A packet of ``-o``, the format for Octave and Matlab: number, hour, minute and second twice,
size.
"""
_STEP = re.compile(
    r"\s*".join([r"(-?\d{1,12}\.\d{6})"] * 5).replace(r")\s*(", r")[ \t]+(") + r"\s*"
)
_ELSE = re.compile(
    # The spinner that it prints on standard error, and the text printed right after it.
    r"(?:\x08[-|/\\])*\x08?(?:ITGDec version .{1,60})?"
    r"|-{10,}|_{10,}|Compile-time options:.{0,200}|Empty log file.{0,40}"
    r"|Number of flows += +\d{1,9}\s*|Error lines += +\d{1,9}\s*"
)
_NAMES = {
    "Total time": ("total_time_s", 1.0),
    "Total packets": ("pkts", 1.0),
    "Minimum delay": ("delay_min_s", 1.0),
    "Maximum delay": ("delay_max_s", 1.0),
    "Average delay": ("delay_mean_s", 1.0),
    "Average jitter": ("jitter_mean_s", 1.0),
    "Delay standard deviation": ("delay_sd_s", 1.0),
    "Bytes received": ("payload_bytes", 1.0),
    "Average bitrate": ("bitrate_bps", 1000.0),
    "Average packet rate": ("packet_rate_pps", 1.0),
    "Packets dropped": ("dropped_pkts", 1.0),
    "Average loss-burst size": ("loss_burst_mean_pkts", 1.0),
}
_WHOLE = {each.name for each in FLOWS if each.holds == "whole"}
_NEVER_BELOW_0 = {name for name, _ in _NAMES.values() if not name.startswith("delay_m")}
"""One-way delays may be negative, because the clocks differ."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ItgLog(Log):
    """A log of D-ITG: the tables ``flows``, ``packets``, ``steps`` or ``flow_steps``.

    Attributes:
        has_delays: Whether there are delays: a sender's log has none.
    """

    format: ClassVar[LogFormat] = LogFormat.ITGDEC
    has_delays: bool


def is_itgdec(text: LogText) -> bool:
    """Whether the text is from ITGDec.

    ``-c`` and ``-o`` have no heading, so every line must have their form: five numbers with six
    decimals, or eight of which two have decimals.
    """
    lines = [line for line in text.first_lines if line.strip()]
    if any(_FLOW.fullmatch(line) or _PACKET.fullmatch(line) for line in lines):
        return True
    if any(line.startswith("ITGDec version") or _TOTAL.fullmatch(line) for line in lines):
        return True
    # The last line may be truncated.
    return len(lines) > 1 and any(
        all(kind.fullmatch(line) for line in lines[:-1]) for kind in (_STEP, _OCTAVE_PACKET)
    )


def read_itgdec(text: LogText) -> ItgLog:
    """Parse a log.

    Raises:
        UnreadableError: No line is known.
    """
    noted = UnreadCounter()
    flows: list[Row] = []
    packets: list[Row] = []
    steps: list[Row] = []
    noted.lines(text, lambda line: _take(line, flows, packets, steps))
    found = {}
    for name, columns, rows in (
        ("flows", FLOWS, [row for row in flows if "pkts" in row]),
        ("packets", PACKETS, _over_midnight(packets)),
        ("steps", STEPS, steps),
    ):
        if rows:
            found[name] = LogTable.of(columns, rows)
    if not found:
        raise nothing_in(text, "D-ITG")
    return ItgLog(
        source=text.name,
        variant="D-ITG",
        tables=found,
        unknown=noted.unknown,
        problems=() if _is_whole(flows, found) else ("its last lines are missing",),
        has_delays=_has_delays(found),
    )


def _is_whole(flows: list[Row], found: dict[str, LogTable]) -> bool:
    return "flows" not in found or any(row["flow"] == 0 for row in flows)


def _has_delays(found: dict[str, LogTable]) -> bool:
    """Whether any delay is not 0."""
    if "packets" in found:
        table = found["packets"]
        return bool((table["sent_ns"] != table["received_ns"]).any())
    return any(
        name in found and bool((found[name]["delay_mean_s"] > 0).any())
        for name in ("flows", "steps")
    )


def _take(line: str, flows: list[Row], packets: list[Row], steps: list[Row]) -> bool:
    """Parse a line; returns whether it is known."""
    if packet := _PACKET.fullmatch(line) or _OCTAVE_PACKET.fullmatch(line):
        packets.append(
            {
                "flow": int(packet.groupdict().get("flow", 0)),
                "seq": int(packet["seq"]),
                "sent_ns": _time_of_day_ns(packet["sent"]),
                "received_ns": _time_of_day_ns(packet["received"]),
                "payload_bytes": int(packet["size"]),
            }
        )
        return True
    if step := _STEP.fullmatch(line):
        t_s, kbit, delay, jitter, lost = map(real, step.groups())
        names = [each.name for each in STEPS]
        steps.append(dict(zip(names, (t_s, kbit * 1000, delay, jitter, lost), strict=True)))
        return True
    return _take_summary(line, flows) or bool(_ELSE.fullmatch(line))


def _take_summary(line: str, flows: list[Row]) -> bool:
    """Parse a line of a summary; returns whether it is one."""
    if flow := _FLOW.fullmatch(line):
        flows.append({"flow": int(flow["flow"])})
        return True
    if _TOTAL.fullmatch(line):
        flows.append({"flow": 0})
        return True
    if flows and (end := _END.fullmatch(line)):
        name = "source" if end["end"] == "From" else "destination"
        flows[-1][name] = f"{end['address']}:{end['port']}"
        return True
    if flows and (said := _SAID.fullmatch(line)) and said["name"] in _NAMES:
        return _note(flows[-1], said)
    return False


def _note(row: Row, said: re.Match[str]) -> bool:
    name, scale = _NAMES[said["name"]]
    if name in row:
        return False
    if said["value"].lstrip("-") in ("nan", "inf"):
        return True  # a rate over a time of zero
    value = real(said["value"]) * scale
    if value < 0 and name in _NEVER_BELOW_0:
        return False
    row[name] = number(said["value"]) if name in _WHOLE else value
    return True


def _time_of_day_ns(text: str) -> int:
    hours, minutes, seconds = text.replace(":", " ").split(" ")
    return (int(hours) * 3600 + int(minutes) * 60) * 10**9 + number(seconds, 10**9)


def _over_midnight(packets: list[Row]) -> list[Row]:
    """Make times of day continuous over midnight."""
    days = 0
    last = None
    for row in packets:
        sent, received = int(row["sent_ns"]), int(row["received_ns"])
        if last is not None and last - sent > _NS_PER_DAY // 2:
            days += 1
        last = sent
        if sent - received > _NS_PER_DAY // 2:
            received += _NS_PER_DAY
        row["sent_ns"], row["received_ns"] = (
            sent + days * _NS_PER_DAY,
            received + days * _NS_PER_DAY,
        )
    return packets
