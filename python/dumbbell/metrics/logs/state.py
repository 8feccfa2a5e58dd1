"""Numbers of kernel state: sockets (ss) and queues (tc)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.formats.logs import SsLog, TcLog
from dumbbell.formats.logs.model import Array, LogTable
from dumbbell.metrics.logs.number import (
    Floats,
    LogNumber,
    LogSeries,
    known,
    mean_number,
    percentile_numbers,
)

MOST_CONNECTIONS = 8
"""Maximum number of connections, those that sent most; the table has all."""
_SAMPLED = (
    ("cwnd_pkts", "cwnd", "congestion window", "packets", 1.0),
    ("rtt_ns", "srtt", "smoothed round trip", "ms", 1e-6),
    ("unacked_pkts", "unacked", "not acknowledged", "packets", 1.0),
    ("pacing_rate_bps", "pacing_rate", "pacing rate", "Mbit/s", 1e-6),
    ("delivery_rate_bps", "delivery_rate", "delivery rate", "Mbit/s", 1e-6),
)


def ss_numbers(log: SsLog) -> list[LogNumber]:
    """Return, for each sending connection, means of the samples, and retransmissions."""
    table = log.tables["sockets"]
    found: list[LogNumber] = []
    for name, rows in _connections(table):
        found.append(LogNumber(name, "calls", "samples", "1", len(rows)))
        for column, key, title, unit, scale in _SAMPLED:
            values = known(table[column][rows], scale)
            if not len(values):
                continue
            suffix = {"packets": "pkts", "ms": "ms", "Mbit/s": "mbps"}[unit]
            found.append(mean_number(name, f"{key}_mean_{suffix}", f"{title}, mean", unit, values))
        srtt = known(table["rtt_ns"][rows], 1e-6)
        found += percentile_numbers(name, "srtt", "smoothed round trip", "ms", srtt)
        found += _sent_again(table, rows, name)
        found += _rates(table, rows, name, has_times=log.has_times)
    return found


def ss_series(log: SsLog) -> list[LogSeries]:
    """Return window, threshold, RTT, rates and retransmissions of each connection over time."""
    table = log.tables["sockets"]
    series: list[LogSeries] = []
    extra = (
        ("ssthresh_pkts", "ssthresh", "slow start threshold", "packets", 1.0),
        ("retrans_total_pkts", "retransmitted", "sent again so far", "packets", 1.0),
    )
    for name, rows in _connections(table):
        for column, key, title, unit, scale in (*_SAMPLED, *extra):
            keep = rows[table[column][rows] >= 0]
            if len(keep) < 2:
                continue
            t_s = _times(table, keep, has_times=log.has_times)
            values = table[column][keep] * scale
            series.append(LogSeries(name, key, title, unit, t_s, values, log.has_times))
    return series


def tc_numbers(log: TcLog) -> list[LogNumber]:
    """Return, for each queue, packets sent and dropped between first and last call, and backlog."""
    table = log.tables["queues"]
    found: list[LogNumber] = []
    for name, rows in _queues(table):
        of_one = len(rows) == 1
        sent = _grown(table["sent_pkts"][rows], of_one=of_one)
        dropped = _grown(table["dropped_pkts"][rows], of_one=of_one)
        found.append(LogNumber(name, "sent_pkts", "sent", "packets", sent))
        found.append(LogNumber(name, "dropped_pkts", "dropped", "packets", dropped))
        if sent + dropped > 0:
            share = 100.0 * dropped / (sent + dropped)
            pkts = int(sent + dropped)
            found.append(LogNumber(name, "drop_percent", "dropped", "%", share, samples=pkts))
        seconds = _span_s(table, rows) if log.has_times else 0.0
        if seconds > 0:
            rate = 8e-6 * _grown(table["sent_bytes"][rows], of_one=False) / seconds
            title = "throughput on the wire"
            found.append(LogNumber(name, "wire_rate_mbps", title, "Mbit/s", rate, None, len(rows)))
        for column, key, title, unit, scale in (
            ("backlog_bytes", "backlog", "backlog", "kB", 1e-3),
            ("backlog_pkts", "backlog", "backlog", "packets", 1.0),
            ("delay_ns", "delay_estimate", "the queue's own estimate of delay", "ms", 1e-6),
        ):
            values = known(table[column][rows], scale)
            suffix = {"kB": "kilobytes", "packets": "pkts", "ms": "ms"}[unit]
            if len(values):
                key_name = f"{key}_mean_{suffix}"
                found.append(mean_number(name, key_name, f"{title}, mean", unit, values))
                most, said = float(values.max()), f"{title}, greatest"
                found.append(
                    LogNumber(name, f"{key}_max_{suffix}", said, unit, most, None, len(values))
                )
        marked = known(table["marked_pkts"][rows])
        if len(marked) and marked.max() > 0:
            value = _grown(marked, of_one=of_one)
            found.append(LogNumber(name, "marked_pkts", "marked (ECN)", "packets", value))
    return [*found, *_tins(log)]


def _tins(log: TcLog) -> list[LogNumber]:
    """Return, for each cake tin with packets, its arrivals, drops and delays."""
    if "tins" not in log.tables:
        return []
    table = log.tables["tins"]
    rows: dict[str, list[int]] = {}
    names = zip(table["queue"].tolist(), table["tin"].tolist(), strict=True)
    for index, (queue, tin) in enumerate(names):
        rows.setdefault(f"{queue}, {tin}", []).append(index)
    found: list[LogNumber] = []
    for name, each in rows.items():
        keep = np.array(each)
        if table["arrived_pkts"][keep].max() <= 0:
            continue
        of_one = len(each) == 1
        arrived = _grown(table["arrived_pkts"][keep], of_one=of_one)
        dropped = _grown(table["dropped_pkts"][keep], of_one=of_one)
        found.append(LogNumber(name, "arrived_pkts", "arrived", "packets", arrived))
        found.append(LogNumber(name, "dropped_pkts", "dropped", "packets", dropped))
        for column, key, title in (
            ("delay_mean_ns", "tin_delay_mean_ms", "cake's mean delay, mean"),
            ("delay_peak_ns", "tin_delay_peak_mean_ms", "cake's peak delay, mean"),
        ):
            values = known(table[column][keep], 1e-6)
            if len(values):
                found.append(mean_number(name, key, title, "ms", values))
    return found


def tc_series(log: TcLog) -> list[LogSeries]:
    """Return backlog and drops in each step, of each queue over time."""
    table = log.tables["queues"]
    series = []
    for name, rows in _queues(table):
        if len(rows) < 2:
            continue
        t_s = _times(table, rows, has_times=log.has_times)
        backlog = table["backlog_bytes"][rows]
        if (backlog >= 0).all():
            kilobytes = backlog * 1e-3
            series.append(
                LogSeries(name, "backlog", "backlog", "kB", t_s, kilobytes, log.has_times)
            )
        drops = np.maximum(np.diff(table["dropped_pkts"][rows]), 0).astype(np.float64)
        series.append(
            LogSeries(
                name, "dropped", "dropped in the step", "packets", t_s[1:], drops, log.has_times
            )
        )
        delay = table["delay_ns"][rows]
        if (delay >= 0).all():
            title = "the queue's own estimate of delay"
            series.append(
                LogSeries(name, "delay_estimate", title, "ms", t_s, delay * 1e-6, log.has_times)
            )
    return series


def _connections(table: LogTable) -> list[tuple[str, Array]]:
    """Return the sending connections, those that sent most first."""
    ends = list(zip(table["local"].tolist(), table["peer"].tolist(), strict=True))
    rows: dict[tuple[str, str], list[int]] = {}
    for index, each in enumerate(ends):
        rows.setdefault(each, []).append(index)
    found = [(f"{local} > {peer}", np.array(index)) for (local, peer), index in rows.items()]

    def sent(each: tuple[str, Array]) -> int:
        columns = ("bytes_acked", "bytes_sent", "data_segs_out", "cwnd_pkts")
        return next((int(m) for c in columns if (m := table[c][each[1]].max()) > 0), 0)

    found.sort(key=sent, reverse=True)
    # A control connection sends a few hundred bytes and is not informative about the path under
    # load.
    most = sent(found[0]) if found else 0
    return [each for each in found if sent(each) * 100 >= most][:MOST_CONNECTIONS]


def _queues(table: LogTable) -> list[tuple[str, Array]]:
    """Return the queues, except those that never had a packet if any had one."""
    rows: dict[str, list[int]] = {}
    for index, name in enumerate(table["queue"].tolist()):
        rows.setdefault(name, []).append(index)
    found = [(name, np.array(index)) for name, index in rows.items()]
    busy = [each for each in found if table["sent_pkts"][each[1]].max() > 0]
    return busy or found


def _sent_again(table: LogTable, rows: Array, name: str) -> list[LogNumber]:
    again = known(table["retrans_total_pkts"][rows])
    value = _grown(again, of_one=len(again) == 1)
    found = [LogNumber(name, "retransmitted_pkts", "segments sent again", "packets", value)]
    sent = known(table["data_segs_out"][rows])
    if len(sent) and (total := _grown(sent, of_one=len(sent) == 1)) > 0 and value <= total:
        share = 100.0 * value / total
        title = "sent again, of all segments"
        found.append(LogNumber(name, "retransmitted_percent", title, "%", share, None, int(total)))
    return found


def _rates(table: LogTable, rows: Array, name: str, *, has_times: bool) -> list[LogNumber]:
    acked = table["bytes_acked"][rows]
    seconds = _span_s(table, rows) if has_times else 0.0
    if seconds <= 0 or not (acked >= 0).all():
        return []
    rate = 8e-6 * _grown(acked, of_one=False) / seconds
    return [LogNumber(name, "acked_mbps", "acknowledged", "Mbit/s", rate, None, len(rows))]


def _grown(counter: Array | Sequence[int], *, of_one: bool) -> float:
    """Return the growth of a counter from the first to the last reading.

    A counter that was reset to 0 (a queue that was replaced) is continued. With a single reading,
    return its value. NaN if a reading is missing.
    """
    values = np.asarray(counter, dtype=np.float64)
    if (values < 0).any():
        return float("nan")
    if of_one:
        return float(values[-1])
    steps = np.diff(values)
    return float(np.where(steps >= 0, steps, values[1:]).sum())


def _span_s(table: LogTable, rows: Array) -> float:
    at = table["epoch_ns"][rows]
    return float(at.max() - at.min()) / 1e9


def _times(table: LogTable, rows: Array, *, has_times: bool) -> Floats:
    if not has_times:
        return table["call"][rows].astype(np.float64)
    at = table["epoch_ns"]
    t_s: Floats = (at[rows] - at.min()).astype(np.float64) / 1e9
    return t_s
