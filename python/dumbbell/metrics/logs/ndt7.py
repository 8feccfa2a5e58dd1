"""Numbers of ndt7, as M-Lab defines them: of the last measurement of each test.

Throughput is bytes received over time (for a download, bytes received by the client's application
or else bytes acknowledged to the server). The round-trip time is the minimum RTT of the server's
TCP, and the retransmission rate is retransmitted bytes over bytes sent. A client's summary
overrides them.
"""

from __future__ import annotations

import numpy as np

from dumbbell.formats.logs import Ndt7Log
from dumbbell.formats.logs.model import Array
from dumbbell.formats.logs.ndt7 import TESTS
from dumbbell.metrics.logs.number import LogNumber, LogSeries

_COUNTS = {
    ("download", "client"): ("bytes",),
    ("download", "server"): ("acked_bytes",),
    ("upload", "server"): ("received_bytes", "bytes"),
    ("upload", "client"): ("bytes",),
}
"""Counters of received bytes by measuring side, the more reliable first."""


def ndt7_numbers(log: Ndt7Log) -> list[LogNumber]:
    """Return throughput, minimum RTT and retransmissions of each test."""
    found: list[LogNumber] = []
    for test in TESTS:
        values = _measured(log, test)
        summary = log.tables["summary"]
        for row in np.flatnonzero(summary["test"] == test).tolist():
            said = {name: float(summary[column][row]) for name, column in _SAID.items()}
            values |= {name: value for name, value in said.items() if np.isfinite(value)}
        found += [
            LogNumber(test, name, title, unit, values[name])
            for name, title, unit in _TITLES
            if name in values
        ]
    return found


_SAID = {
    "goodput_mbps": "throughput_mbps",
    "rtt_min_ms": "min_rtt_ms",
    "retransmitted_percent": "retransmitted_percent",
}
_TITLES = (
    ("goodput_mbps", "throughput received", "Mbit/s"),
    ("rtt_min_ms", "round trip, least", "ms"),
    ("retransmitted_percent", "sent again, of all bytes", "%"),
)


def ndt7_series(log: Ndt7Log) -> list[LogSeries]:
    """Return throughput between measurements, and the server's smoothed RTT."""
    series = []
    table = log.tables["measurements"]
    for (test, origin), columns in _COUNTS.items():
        for column in columns[:1]:
            keep = _rows(log, test, origin, column)
            if len(keep) > 1:
                t_s, count = table["t_s"][keep], table[column][keep]
                steps = np.diff(t_s)
                rate = 8e-6 * np.diff(count)[steps > 0] / steps[steps > 0]
                of, title = f"{test}, {origin}", "throughput"
                at = t_s[1:][steps > 0]
                series.append(LogSeries(of, "throughput_mbps", title, "Mbit/s", at, rate))
        keep = _rows(log, test, origin, "rtt_us")
        if len(keep) > 1:
            rtt_ms = table["rtt_us"][keep] * 1e-3
            of, title = f"{test}, {origin}", "smoothed round trip"
            series.append(LogSeries(of, "srtt_ms", title, "ms", table["t_s"][keep], rtt_ms))
    return series


def _measured(log: Ndt7Log, test: str) -> dict[str, float]:
    table = log.tables["measurements"]
    values: dict[str, float] = {}
    for (of, origin), columns in _COUNTS.items():
        for column in columns if of == test else ():
            keep = _rows(log, test, origin, column)
            if "goodput_mbps" not in values and len(keep) and table["t_s"][keep[-1]] > 0:
                last = keep[-1]
                rate = 8e-6 * float(table[column][last]) / float(table["t_s"][last])
                values["goodput_mbps"] = rate
    least = _rows(log, test, "server", "min_rtt_us")
    if len(least):
        values["rtt_min_ms"] = float(table["min_rtt_us"][least[-1]]) * 1e-3
    sent = _rows(log, test, "server", "sent_bytes")
    if test == "download" and len(sent) and table["sent_bytes"][sent[-1]] > 0:
        again = float(table["retransmitted_bytes"][sent[-1]])
        if 0 <= again <= table["sent_bytes"][sent[-1]]:
            values["retransmitted_percent"] = 100.0 * again / float(table["sent_bytes"][sent[-1]])
    return values


def _rows(log: Ndt7Log, test: str, origin: str, column: str) -> Array:
    """Return the rows of a test with a value, in time order."""
    table = log.tables["measurements"]
    keep = (table["test"] == test) & (table["origin"] == origin)
    rows = np.flatnonzero(keep & (table[column] >= 0) & np.isfinite(table["t_s"]))
    found: Array = rows[np.argsort(table["t_s"][rows], kind="stable")]
    return found
