"""Convert the output of an experiment's programs to tables of the run.

Texts are parsed by `dumbbell.formats.logs`, like those of a testbed. Their times are converted to
times of the run: a time of day is from the guest's wall clock, whose reading at time zero is known;
a time since the start of a test counts from the program's start.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.formats.bounded import read_bounded
from dumbbell.formats.errors import UnreadableError
from dumbbell.formats.flent import measured_series, read_flent
from dumbbell.formats.logs import LARGEST_LOG_BYTES, Log, LogTable, LogText
from dumbbell.formats.logs.iperf import read_iperf
from dumbbell.formats.logs.iperf3 import Iperf3Log, read_iperf3
from dumbbell.formats.logs.itgdec import read_itgdec
from dumbbell.formats.logs.netperf import read_netperf
from dumbbell.formats.logs.ping import read_ping_log
from dumbbell.spec.programs import OutputReader
from dumbbell.tables import NO_INSTANT, SCHEMA, Table

LARGEST_NUMBER = 9e9
"""Largest sample: a run cannot have more seconds, ms or Mbit/s."""
ASKING, ANSWERING = 0, 1
"""Codes of ``side``."""
NS_PER_S = 10**9
NS_PER_DAY = 86_400 * NS_PER_S
_SAMPLES = "program_samples"
_TABLES = ("programs", "program_intervals", "program_packets", "program_round_trips",
           "program_transfers")  # fmt: skip

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PrintedFile:
    """A file written by a program.

    Attributes:
        path: Its path.
        reads: The parser to use.
        side: `ASKING` or `ANSWERING`.
        started_ns: When the program was started, in the run's time.
        zero_wall_ns: The guest's wall clock at the run's time zero, Unix time.
    """

    path: Path
    reads: OutputReader
    side: int
    started_ns: int
    zero_wall_ns: int

    def of_epoch_ns(self, epoch_ns: int) -> int:
        """Convert a Unix time to the run's time."""
        return epoch_ns - self.zero_wall_ns

    def of_day_ns(self, day_ns: int) -> int:
        """Convert a time of day to the run's time; the run began less than half a day before."""
        since = (day_ns - self.zero_wall_ns) % NS_PER_DAY
        return since - NS_PER_DAY if since > NS_PER_DAY // 2 else since

    def of_test_s(self, test_s: float) -> int:
        """Convert seconds since the test's start to the run's time."""
        return NO_INSTANT if math.isnan(test_s) else self.started_ns + round(test_s * NS_PER_S)


@dataclass(slots=True)
class ParsedProgram:
    """The parsed output of a program.

    Attributes:
        rows: Rows by table; series are numbered from 0 within the program.
        whole: Its totals.
        series: Names of its series.
    """

    rows: dict[str, list[Row]] = field(default_factory=dict)
    whole: Row = field(default_factory=dict)
    series: list[str] = field(default_factory=list)

    def add(self, table: str, rows: Iterator[Row]) -> None:
        """Append rows."""
        self.rows.setdefault(table, []).extend(rows)


def read_printed(printed: PrintedFile, found: ParsedProgram) -> None:
    """Parse a file into rows.

    Raises:
        UnreadableError: No line is known.
        FormatError: It is too large.
        OSError: It cannot be read.
    """
    if printed.reads is not OutputReader.NOTHING:
        _READERS[printed.reads](printed, found)


def tables_of(programs: Mapping[int, tuple[Row, ParsedProgram]]) -> dict[str, Table]:
    """The tables of programs.

    Args:
        programs: For each program's index: its start, its end status, and its parsed output.
    """
    rows: dict[str, list[Row]] = {name: [] for name in _TABLES}
    series = 0
    for index, (ended, found) in sorted(programs.items()):
        rows["programs"].append({"program": index, **ended, **found.whole})
        for table, more in found.rows.items():
            if table == _SAMPLES:
                numbered = ({**row, "series": series + row["series"]} for row in more)
                more = list(numbered)  # noqa: PLW2901
            rows.setdefault(table, []).extend({"program": index, **row} for row in more)
        series += len(found.series)
    return {name: _table(name, each) for name, each in rows.items()}


def _table(name: str, rows: Sequence[Row]) -> Table:
    columns = {}
    for column in SCHEMA[name]:
        absent = math.nan if column.dtype == "float64" else NO_INSTANT
        values = [row.get(column.name, absent) for row in rows]
        columns[column.name] = np.array(values, dtype=column.numpy)
    return columns


def _text(printed: PrintedFile) -> LogText:
    return LogText.of_bytes(printed.path.name, read_bounded(printed.path, LARGEST_LOG_BYTES))


def _rows(table: LogTable) -> Iterator[Row]:
    names = [column.name for column in table.columns]
    lists = [table[name].tolist() for name in names]
    for values in zip(*lists, strict=True):
        yield dict(zip(names, values, strict=True))


def _of(log: Log, table: str) -> Iterator[Row]:
    return _rows(log.tables[table]) if table in log.tables else iter(())


def _ping(printed: PrintedFile, found: ParsedProgram) -> None:
    log = read_ping_log(_text(printed))

    def row(each: Row) -> Row:
        received, rtt = each["received_epoch_ns"], each["rtt_ns"]
        at = printed.of_epoch_ns(received) if received >= 0 else NO_INSTANT
        is_known = received >= 0 and rtt >= 0
        return {
            "seq": each["seq"],
            "sent_ns": at - rtt if is_known else NO_INSTANT,
            "received_ns": at,
            "rtt_ns": rtt,
        }

    found.add("program_round_trips", map(row, _of(log, "requests")))
    for each in _of(log, "totals"):
        sent, received = each["sent_pkts"], each["received_pkts"]
        found.whole |= {"sent_pkts": sent, "received_pkts": received, "lost_pkts": sent - received}
        if each["rtt_mean_ns"] >= 0:
            found.whole |= {
                "rtt_min_ns": each["rtt_min_ns"],
                "rtt_mean_s": each["rtt_mean_ns"] / NS_PER_S,
                "rtt_max_ns": each["rtt_max_ns"],
            }


def _itgdec(printed: PrintedFile, found: ParsedProgram) -> None:
    try:
        log = read_itgdec(_text(printed))
    except UnreadableError:
        if printed.path.stat().st_size == 0:
            return  # a log without packets
        raise
    is_receivers = log.has_delays or printed.side == ANSWERING

    def row(each: Row) -> Row:
        received = printed.of_day_ns(each["received_ns"])
        return {
            "side": printed.side,
            "seq": each["seq"],
            "sent_ns": printed.of_day_ns(each["sent_ns"]),
            "received_ns": received if printed.side == ANSWERING else NO_INSTANT,
            "payload_bytes": each["payload_bytes"],
        }

    found.add("program_packets", map(row, _of(log, "packets")))
    for each in _of(log, "flows"):
        if each["flow"] != 0:
            continue
        if not is_receivers:
            found.whole |= {"sent_pkts": each["pkts"]}
            continue
        found.whole |= {
            "received_pkts": each["pkts"],
            "received_bytes": each["payload_bytes"],
            "lost_pkts": each["dropped_pkts"],
            "throughput_bps": each["bitrate_bps"],
            "delay_mean_s": each["delay_mean_s"],
            "jitter_mean_s": each["jitter_mean_s"],
        }


def _iperf3(printed: PrintedFile, found: ParsedProgram) -> None:
    if printed.path.stat().st_size == 0:
        return  # a server that no client connected to
    log = read_iperf3(_text(printed))

    def row(each: Row) -> Row:
        rtt_us = each["rtt_us"]
        return {
            **_interval(printed, each, each["socket"]),
            "cwnd_bytes": each["cwnd_bytes"],
            "rtt_ns": 1000 * rtt_us if rtt_us >= 0 else NO_INSTANT,
            "jitter_s": each["jitter_ms"] / 1e3,
        }

    found.add("program_intervals", map(row, _of(log, "intervals")))
    if printed.side == ASKING:
        found.whole |= _iperf3_sums(log)


def _interval(printed: PrintedFile, each: Row, stream: int) -> Row:
    return {
        "side": printed.side,
        "stream": stream,
        "start_ns": printed.of_test_s(each["start_s"]),
        "end_ns": printed.of_test_s(each["end_s"]),
        **{key: each[key] for key in ("bytes", "pkts", "lost_pkts", "retransmitted_pkts")},
    }


def _iperf3_sums(log: Iperf3Log) -> Row:
    whole: Row = {}
    for each in _of(log, "sums"):
        if each["socket"] != -1:
            if not math.isnan(each["rtt_mean_us"]) and each["rtt_mean_us"] >= 0:
                whole["rtt_mean_s"] = each["rtt_mean_us"] / 1e6
                whole["rtt_min_ns"] = 1000 * each["rtt_min_us"]
                whole["rtt_max_ns"] = 1000 * each["rtt_max_us"]
            continue
        if each["side"] in ("received", "both"):
            whole["received_bytes"] = each["bytes"]
            whole["throughput_bps"] = each["throughput_bps"]
        if each["side"] == "sent":
            whole["retransmitted_pkts"] = each["retransmitted_pkts"]
        if each["pkts"] > 0:
            whole["sent_pkts"], whole["lost_pkts"] = each["pkts"], each["lost_pkts"]
            whole["received_pkts"] = each["pkts"] - each["lost_pkts"]
            whole["jitter_mean_s"] = each["jitter_ms"] / 1e3
    return whole


def _iperf(printed: PrintedFile, found: ParsedProgram) -> None:
    if printed.path.stat().st_size == 0:
        return
    log = read_iperf(_text(printed))
    found.add(
        "program_intervals",
        (
            {**_interval(printed, each, each["stream"]), "jitter_s": each["jitter_ms"] / 1e3}
            for each in _of(log, "intervals")
        ),
    )
    whole = log.whole()
    # Received data is what the server counts.
    if printed.side != ANSWERING or not whole:
        return
    found.whole |= {
        "received_bytes": whole["bytes"],
        "throughput_bps": whole["throughput_bps"],
    }
    if "pkts" in whole:
        found.whole |= {
            "sent_pkts": whole["pkts"],
            "lost_pkts": whole["lost_pkts"],
            "received_pkts": int(whole["pkts"]) - int(whole["lost_pkts"]),
            "jitter_mean_s": float(whole["jitter_ms"]) / 1e3,
        }


def _curl(printed: PrintedFile, found: ParsedProgram) -> None:
    rows: list[Row] = []
    for line in _text(printed).lines:
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            row = {
                "number": len(rows) + 1,
                "status": int(said["status"]),
                "bytes": int(said["bytes"]),
                "connect_s": float(said["connect_s"]),
                "first_byte_s": float(said["first_byte_s"]),
                "total_s": float(said["total_s"]),
            }
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UnreadableError(
                printed.path.name, "no line in the requested format of curl"
            ) from None
        rows.append(row)
    found.add("program_transfers", iter(rows))
    total_s = sum(row["total_s"] for row in rows)
    received = sum(row["bytes"] for row in rows)
    found.whole |= {"received_bytes": received}
    if total_s > 0:
        found.whole |= {"throughput_bps": 8 * received / total_s}


def _netperf(printed: PrintedFile, found: ParsedProgram) -> None:
    log = read_netperf(_text(printed))

    def row(each: Row) -> Row:
        end_ns = printed.of_epoch_ns(round(each["end_epoch_s"] * NS_PER_S))
        length_ns = round(each["seconds"] * NS_PER_S)
        bps = each["throughput_bps"]
        return {
            "side": printed.side,
            "stream": 1,
            "start_ns": end_ns - length_ns,
            "end_ns": end_ns,
            "bytes": NO_INSTANT if math.isnan(bps) else round(bps * each["seconds"] / 8),
        }

    found.add("program_intervals", map(row, _of(log, "interim")))
    for each in _of(log, "tests"):
        if not math.isnan(each["throughput_bps"]):
            found.whole |= {"throughput_bps": each["throughput_bps"]}
        if each["transactions_per_s"] > 0:
            found.whole |= {"rtt_mean_s": 1 / each["transactions_per_s"]}


def _flent(printed: PrintedFile, found: ParsedProgram) -> None:
    file = read_flent(printed.path)
    for name in measured_series(file):
        is_rate = name.startswith(("TCP", "UDP"))
        rows = (
            _sample(printed, each, is_rate) | {"series": len(found.series)}
            for each in file.raw_values[name]
            if _number(each, "t") is not None
        )
        found.add(_SAMPLES, rows)
        found.series.append(name)


def _sample(printed: PrintedFile, each: Mapping[str, Any], is_rate: bool) -> Row:
    """Convert a sample: times are Unix seconds, rates Mbit/s, round trips and delays ms."""
    row: Row = {"t_ns": printed.of_epoch_ns(round(each["t"] * 1e6) * 1000)}
    value = _number(each, "val")
    if is_rate:
        if (length_s := _number(each, "dur")) is not None:
            row["interval_ns"] = round(length_s * NS_PER_S)
        return row if value is None else row | {"rate_bps": value * 1e6}
    if (seq := _number(each, "seq")) is not None:
        row["seq"] = round(seq)
    for column, key in (
        ("rtt_ns", "val"),
        ("delay_there_ns", "owd_up"),
        ("delay_back_ns", "owd_down"),
    ):
        if (delay_ms := _number(each, key)) is not None:
            row[column] = round(delay_ms * 1e6)
    return row


def _number(sample: Mapping[str, Any], key: str) -> float | None:
    """The number if it fits a column of integer nanoseconds; otherwise None."""
    value = sample.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < LARGEST_NUMBER else None


_READERS: Mapping[OutputReader, Callable[[PrintedFile, ParsedProgram], None]] = {
    OutputReader.PING: _ping,
    OutputReader.ITGDEC: _itgdec,
    OutputReader.IPERF3: _iperf3,
    OutputReader.IPERF: _iperf,
    OutputReader.CURL: _curl,
    OutputReader.NETPERF: _netperf,
    OutputReader.FLENT: _flent,
}
