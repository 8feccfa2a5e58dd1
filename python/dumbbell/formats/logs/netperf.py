"""Output of netperf: streams, request/response tests, interim results, omni's KEY=VALUE.

The layout is that of netperf 2.6 and 2.7 as its manual ("Care and Feeding of Netperf") and public
logs show it; the program is not in Debian's free section and was not run here. ``-f`` selects
units, so the heading's unit is used.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.formats.logs.model import Log, LogColumn, LogFormat, LogTable
from dumbbell.formats.logs.text import LogText, UnreadCounter, nothing_in, number, real

Row = dict[str, int | float | str]

TESTS = (
    LogColumn("test", "-", "As its heading calls it: ``TCP STREAM``.", "text"),
    LogColumn("host", "-", "Whom it asked.", "text"),
    LogColumn("elapsed_s", "s", "How long it took.", "real"),
    LogColumn("throughput_bps", "bit/s", "Payload received; of streams.", "real"),
    LogColumn("sent_bps", "bit/s", "Payload sent; of UDP streams.", "real"),
    LogColumn("sent_pkts", "packets", "Messages sent; of UDP streams."),
    LogColumn("received_pkts", "packets", "Messages received; of UDP streams."),
    LogColumn("transactions_per_s", "1/s", "Of requests and responses.", "real"),
    LogColumn("message_bytes", "bytes", "Of one send."),
    LogColumn("rtt_mean_us", "us", "Mean latency of a transaction, if asked for.", "real"),
    LogColumn("retransmitted_pkts", "packets", "By the local side, where it was asked for."),
)
INTERIM = (
    LogColumn("test", "-", "Number of the test in the file, from 1."),
    LogColumn("end_epoch_s", "s", "Unix time at its end.", "real"),
    LogColumn("seconds", "s", "How long the interval was.", "real"),
    LogColumn("throughput_bps", "bit/s", "Of streams.", "real"),
    LogColumn("transactions_per_s", "1/s", "Of requests and responses.", "real"),
)
_N = r"\d{1,15}(?:\.\d{1,9})?"
_TEST = re.compile(
    r"(?:MIGRATED )?(?P<test>[A-Z][A-Za-z/_ ]{2,40}?) (?:TEST|Test) (?:from (?P<from>\S{1,200})"
    r"(?: \(\S{0,80}\))?(?: port \d{1,5})?(?: AF_INET6?)? )?to (?P<host>\S{1,200})"
    r"(?: \(\S{0,80}\))?(?: port \d{1,5})?(?: AF_INET6?)?(?: :.{0,300})?\s*"
)
_UNITS = {
    "10^3bits/s": 1e3,
    "10^6bits/s": 1e6,
    "10^9bits/s": 1e9,
    "KBytes/s": 8.0 * 2**10,
    "MBytes/s": 8.0 * 2**20,
    "GBytes/s": 8.0 * 2**30,
}
_UNIT = re.compile(r"(?P<unit>10\^[369]bits/s|[KMG]Bytes/s)(?:ec)?\b")
_INTERIM = re.compile(
    rf"\^?C?Interim result: *(?P<value>{_N}) (?P<unit>\S{{1,12}}) over (?P<seconds>{_N}) seconds"
    rf" ending at (?P<end>{_N})\s*"
)
_KEY = re.compile(r"(?P<key>[A-Z][A-Z0-9_]{1,60})(?:\[(?P<index>\d{1,9})\])?=(?P<value>.{0,300})")
_NUMBERS = re.compile(rf"\s*{_N}(?:\s+{_N}){{0,9}}\s*")
_HEADS = re.compile(
    r"|[ \t]*(?:(?:Recv|Send|Socket|Message|Elapsed|Size|Time|Throughput|Messages|Okay|Errors|"
    r"bytes|Bytes|secs\.?|#|10\^[369]bits/sec|[KMG]Bytes/sec|Local|/Remote|Request|Resp\.|Response|"
    r"Trans\.|Rate|per|sec|Utilization|Service|Demand|remote|local|recv|send|us/KB|%|[SMIU]|\[\+/-\]|Tran)"
    r"[ \t]*)+"
    r"|(?:!!!|\*\*\*).{0,200}|catcher: timer popped.{0,80}|Starting netserver.{0,200}"
)
_STREAM, _RR = "stream", "rr"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetperfLog(Log):
    """One or more tests of netperf: tables ``tests`` and ``interim``."""

    format: ClassVar[LogFormat] = LogFormat.NETPERF


@dataclass(slots=True)
class _Test:
    """State of a test in the parser."""

    row: Row
    scale: float = 1e6
    has_result: bool = False
    lines: int = 0

    @property
    def is_request_response(self) -> bool:
        name = str(self.row["test"]).upper()
        return "REQUEST/RESPONSE" in name or name.endswith("RR") or "CONNECT" in name


def is_netperf(text: LogText) -> bool:
    """Whether the text is from netperf."""
    return any(
        (_TEST.fullmatch(line) and ("TEST" in line or "Test" in line))
        or _INTERIM.fullmatch(line)
        or line.startswith(("NETPERF_INTERIM_RESULT[", "THROUGHPUT=", "ELAPSED_TIME="))
        for line in text.first_lines
    )


def read_netperf(text: LogText) -> NetperfLog:
    """Parse a log.

    Raises:
        UnreadableError: No line of it has a result.
    """
    noted = UnreadCounter()
    tests: list[_Test] = []
    interim: list[Row] = []
    noted.lines(text, lambda line: _take(line, tests, interim))
    done = [each for each in tests if each.has_result]
    interim = [row for row in interim if row.keys() & {"throughput_bps", "transactions_per_s"}]
    if not done and not interim:
        raise nothing_in(text, "netperf")
    return NetperfLog(
        source=text.name,
        variant="netperf",
        tables={
            "tests": LogTable.of(TESTS, [each.row for each in done]),
            "interim": LogTable.of(INTERIM, interim),
        },
        unknown=noted.unknown,
        problems=("a test has no result",) if len(done) < len(tests) else (),
    )


def _take(line: str, tests: list[_Test], interim: list[Row]) -> bool:
    """Parse a line; returns whether it is known."""
    if test := _TEST.fullmatch(line):
        name = test["test"].removeprefix("MIGRATED ").strip()
        tests.append(_Test({"test": name, "host": test["host"].strip("()")}))
        return True
    if found := _INTERIM.fullmatch(line):
        row: Row = {"test": max(1, len(tests)), "end_epoch_s": real(found["end"])}
        row["seconds"] = real(found["seconds"])
        interim.append(row)
        return _rated(row, real(found["value"]), found["unit"])
    if key := _KEY.fullmatch(line):
        return _key(key, tests, interim)
    if _NUMBERS.fullmatch(line) and tests:
        return _result(tests[-1], line.split())
    return _is_heading(line, tests)


def _is_heading(line: str, tests: list[_Test]) -> bool:
    """Whether the line is a heading; stores its unit."""
    if not _HEADS.fullmatch(line):
        return False
    if tests and (unit := _UNIT.search(line)):
        tests[-1].scale = _UNITS[unit["unit"]]
    return True


def _rated(row: Row, value: float, unit: str) -> bool:
    if unit.startswith("Trans/s"):
        row["transactions_per_s"] = value
        return True
    found = _UNIT.match(unit)
    if found is None:
        return False
    row["throughput_bps"] = value * _UNITS[found["unit"]]
    return True


def _result(test: _Test, words: list[str]) -> bool:
    """Parse a line of numbers under the heading of its test."""
    row, numbers = test.row, [real(each) for each in words]
    test.lines += 1
    is_first = test.lines == 1
    if test.is_request_response:
        if not is_first or len(words) < 6:
            return test.lines == 2 and len(words) == 2
        row["elapsed_s"], row["transactions_per_s"] = numbers[4], numbers[5]
    elif str(row["test"]).upper().startswith("UDP"):
        return _datagrams(test, words, numbers)
    elif is_first and len(words) >= 5:
        row["message_bytes"], row["elapsed_s"] = _whole(words[2]), numbers[3]
        row["throughput_bps"] = numbers[4] * test.scale
    else:
        return False
    test.has_result = True
    return True


def _datagrams(test: _Test, words: list[str], numbers: list[float]) -> bool:
    """Parse the two lines of a UDP stream: data sent, and data received."""
    row = test.row
    if test.lines == 1 and len(words) >= 6:
        row["message_bytes"], row["elapsed_s"] = _whole(words[1]), numbers[2]
        row["sent_pkts"], row["sent_bps"] = _whole(words[3]), numbers[5] * test.scale
        return True
    if test.lines == 2 and len(words) >= 4 and "sent_pkts" in row:
        row["received_pkts"] = _whole(words[2])
        row["throughput_bps"] = numbers[3] * test.scale
        test.has_result = True
        return True
    return False


def _whole(word: str) -> int:
    return number(word)


_ROUND_TRIPS = {"MEAN_LATENCY": 1.0, "RT_LATENCY": 1.0}


def _key(found: re.Match[str], tests: list[_Test], interim: list[Row]) -> bool:
    key, value = found["key"], found["value"].strip()
    if key.startswith("NETPERF_"):
        return _interim_key(key, value, interim, max(1, len(tests)))
    if not tests or (key in ("THROUGHPUT", "ELAPSED_TIME") and _has(tests[-1], key)):
        tests.append(_Test({"test": "OMNI", "host": ""}))
    test = tests[-1]
    if key == "THROUGHPUT_UNITS":
        return _units(test, value)
    try:
        if key == "THROUGHPUT":
            test.row["throughput_bps"] = real(value) * test.scale
            test.has_result = True
        elif key == "ELAPSED_TIME":
            test.row["elapsed_s"] = real(value)
        elif key in _ROUND_TRIPS:
            test.row["rtt_mean_us"] = real(value)
        elif key == "LOCAL_TRANSPORT_RETRANS" and value != "-1":
            test.row["retransmitted_pkts"] = number(value)
        elif key == "LOCAL_SEND_SIZE" and value != "-1":
            test.row["message_bytes"] = number(value)
        elif key == "REMOTE_HOST":
            test.row["host"] = value
    except ValueError:
        return False
    return True


def _has(test: _Test, key: str) -> bool:
    name = {"THROUGHPUT": "throughput_bps", "ELAPSED_TIME": "elapsed_s"}[key]
    return name in test.row or (key == "THROUGHPUT" and "transactions_per_s" in test.row)


def _units(test: _Test, value: str) -> bool:
    bare = test.row.get("throughput_bps")
    if value.startswith("Trans/s"):
        if isinstance(bare, float):
            test.row["transactions_per_s"] = bare / test.scale
            del test.row["throughput_bps"]
        return True
    unit = _UNIT.match(value)
    if unit is None:
        return False
    if isinstance(bare, float):
        test.row["throughput_bps"] = bare / test.scale * _UNITS[unit["unit"]]
    test.scale = _UNITS[unit["unit"]]
    return True


_INTERIM_KEYS = ("NETPERF_INTERIM_RESULT", "NETPERF_UNITS", "NETPERF_INTERVAL", "NETPERF_ENDING")


def _interim_key(key: str, value: str, interim: list[Row], test: int) -> bool:
    """Parse ``NETPERF_INTERIM_RESULT[0]=9.2`` and the three lines after it."""
    if key not in _INTERIM_KEYS:
        return False
    if key == "NETPERF_INTERIM_RESULT":
        interim.append({"test": test})
    if not interim:
        return False
    row = interim[-1]
    try:
        if key == "NETPERF_INTERIM_RESULT":
            row["throughput_bps"] = real(value) * 1e6
        elif key == "NETPERF_INTERVAL":
            row["seconds"] = real(value)
        elif key == "NETPERF_ENDING":
            row["end_epoch_s"] = real(value)
        else:
            bare = row.pop("throughput_bps", None)
            return not isinstance(bare, float) or _rated(row, bare / 1e6, value)
    except ValueError:
        return False
    return True
