"""The export of Waveform's bufferbloat test (waveform.com/tools/bufferbloat, "Download raw data").

A CSV with sections. Each begins with a line ``====== NAME ======``; some have lines ``KEY,VALUE``,
those of round-trip times one number of milliseconds per line. The format is undocumented; its
layout is taken from two public programs that read it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, real

Row = dict[str, int | float | str]

STAGES = ("unloaded", "download", "upload")
ROUND_TRIPS = (
    LogColumn("stage", "-", "``unloaded``, ``download`` or ``upload``.", "text"),
    LogColumn("rtt_ms", "ms", "Of a request over HTTP.", "real"),
)
RATES = (
    LogColumn("stage", "-", "``download`` or ``upload``.", "text"),
    LogColumn("throughput_mbps", "Mbit/s", "As the test says it.", "real"),
)
LARGEST_RTT_MS = 1e6
_TITLE = re.compile(r"=+ *WAVEFORM\.COM BUFFERBLOAT TEST RESULTS *=+ *")
_SECTION = re.compile(r"=+ *(?P<name>[A-Za-z][^=]{0,100}?) *=+ *")
_ROUND_TRIPS = re.compile(
    r"(?P<stage>UNLOADED|DOWNLOAD|UPLOAD)(?: STAGE)? LATENCY MEASUREMENTS \(ms\)"
)
_SAID = re.compile(r"(?P<key>[^,=]{1,100}),(?P<value>.{0,1000})")
_RATES = {"Download speed (Mbps)": "download", "Upload speed (Mbps)": "upload"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaveformLog(Log):
    """A bufferbloat test: the tables ``round_trips``, in their order, and ``rates``.

    Attributes:
        grade: The test's grade; empty if missing.
    """

    format: ClassVar[LogFormat] = LogFormat.WAVEFORM
    grade: str


def is_waveform(text: LogText) -> bool:
    """Whether the test's title is in the first lines."""
    return any(_TITLE.fullmatch(line) for line in text.first_lines)


def read_waveform(text: LogText) -> WaveformLog:
    """Parse a log.

    Raises:
        UnreadableError: It has neither a round-trip time nor a rate.
    """
    noted = UnreadCounter()
    round_trips: list[Row] = []
    rates: dict[str, float] = {}
    stage, grade = "", ""

    def take(line: str) -> bool:
        nonlocal stage, grade
        line = line.strip()
        if section := _SECTION.fullmatch(line):
            measured = _ROUND_TRIPS.fullmatch(section["name"])
            stage = measured["stage"].lower() if measured else ""
            return True
        if said := _SAID.fullmatch(line):
            key, value = said["key"].strip(), said["value"].strip()
            if key == "Bufferbloat Grade":
                grade = value[:2]
            elif key in _RATES and value:
                # The test writes some sections twice.
                rates.setdefault(_RATES[key], _positive(value, 1e9))
            return True
        if stage and line:
            round_trips.append({"stage": stage, "rtt_ms": _positive(line, LARGEST_RTT_MS)})
            return True
        return not line

    noted.lines(text, take)
    if not round_trips and not rates:
        raise nothing_in(text, "Waveform's test")
    said: list[Row] = [
        {"stage": each, "throughput_mbps": rates[each]} for each in STAGES if each in rates
    ]
    return WaveformLog(
        source=text.name,
        variant="waveform",
        tables={
            "round_trips": LogTable.of(ROUND_TRIPS, round_trips),
            "rates": LogTable.of(RATES, said),
        },
        unknown=noted.unknown,
        grade=grade,
    )


def _positive(text: str, most: float) -> float:
    value = real(text)
    if not 0 < value <= most:
        raise ValueError(text)
    return value
