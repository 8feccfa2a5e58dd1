"""Numbers of programs that measure throughput: iperf3, iperf 2 and netperf."""

from __future__ import annotations

import math

import numpy as np

from dumbbell.formats.logs import Iperf3Log, IperfLog, LogTable, NetperfLog
from dumbbell.metrics.logs.number import Floats, LogNumber, LogSeries, mean_number

_MBIT = 1e-6


def iperf3_numbers(log: Iperf3Log) -> list[LogNumber]:
    """Return the throughput of each direction from the final report, intervals and sockets."""
    found: list[LogNumber] = []
    for is_reverse in (0, 1):
        found += _sums(log.tables["sums"], is_reverse, _direction(log, is_reverse))
    intervals = log.tables["intervals"]
    for sender in (1, 0, -1):
        table = _counted(intervals, sender)
        if not len(table["socket"]):
            continue
        side = {1: "sent", 0: "received", -1: ""}[sender]
        rates = _summed_rates(table)
        of = f"intervals {side}".strip()
        found.append(
            mean_number(
                of,
                f"throughput_of_intervals_{side or 'any'}_mean_mbps",
                "throughput, mean of the intervals",
                "Mbit/s",
                rates,
            )
        )
        rtt = table["rtt_us"]
        # Before 3.7 an interval does not state its side; only a sender has round trips.
        if sender != 0 and (rtt > 0).any():
            title = "smoothed round trip at their ends, mean"
            found.append(mean_number(of, "srtt_mean_ms", title, "ms", rtt[rtt > 0] * 1e-3))
            cwnd = table["cwnd_bytes"][table["cwnd_bytes"] >= 0] * 1e-3
            if len(cwnd):
                title = "congestion window at their ends, mean"
                found.append(mean_number(of, "cwnd_mean_kilobytes", title, "kB", cwnd))
    return found


def iperf3_series(log: Iperf3Log) -> list[LogSeries]:
    """Return the throughput of each stream over time, and TCP senders' window, RTT and resends."""
    table = log.tables["intervals"]
    series = []
    for socket in dict.fromkeys(table["socket"].tolist()):
        keep = table["socket"] == socket
        of, t_s = f"stream {socket}", table["end_s"][keep]
        for column, name, title, unit, scale in (
            ("throughput_bps", "throughput_mbps", "throughput", "Mbit/s", _MBIT),
            ("retransmitted_pkts", "retransmitted_pkts", "sent again", "packets", 1.0),
            ("cwnd_bytes", "cwnd_kilobytes", "congestion window", "kB", 1e-3),
            ("rtt_us", "srtt_ms", "smoothed round trip", "ms", 1e-3),
            ("lost_pkts", "lost_pkts", "lost", "packets", 1.0),
        ):
            values = table[column][keep].astype(np.float64) * scale
            if np.isfinite(values).all() and (values >= 0).all() and np.isfinite(t_s).all():
                series.append(LogSeries(of, name, title, unit, t_s, values))
    return series


def iperf_numbers(log: IperfLog) -> list[LogNumber]:
    """Return the final throughput of all streams; for datagrams also loss and jitter.

    iperf 2 does not state which side printed a report. Only a receiver counts lost datagrams, so
    with such counts the throughput is that of the receiver.
    """
    found: list[LogNumber] = []
    whole = log.whole()
    if whole:
        rate = float(whole["throughput_bps"]) * _MBIT
        if "pkts" in whole:
            pkts = int(whole["pkts"])
            loss, jitter = 100.0 * int(whole["lost_pkts"]) / pkts, float(whole["jitter_ms"])
            found += [
                LogNumber("", "goodput_mbps", "throughput received", "Mbit/s", rate),
                LogNumber("", "loss_percent", "datagrams lost", "%", loss, samples=pkts),
                LogNumber("", "jitter_ms", "jitter at the end, greatest", "ms", jitter),
            ]
        else:
            found.append(LogNumber("", "throughput_mbps", "throughput", "Mbit/s", rate))
    intervals = log.tables["intervals"]
    keep = intervals["stream"] != -1
    if keep.any():
        rates = _summed_rates({each.name: intervals[each.name][keep] for each in intervals.columns})
        name, title = "throughput_of_intervals_any_mean_mbps", "throughput, mean of the intervals"
        found.append(mean_number("intervals", name, title, "Mbit/s", rates))
    return found


def iperf_series(log: IperfLog) -> list[LogSeries]:
    """Return the throughput of each stream over time, and datagrams lost at receivers."""
    table = log.tables["intervals"]
    series = []
    for stream in dict.fromkeys(table["stream"].tolist()):
        keep = table["stream"] == stream
        for column, name, title, unit, scale in (
            ("throughput_bps", "throughput_mbps", "throughput", "Mbit/s", _MBIT),
            ("lost_pkts", "lost_pkts", "lost", "packets", 1.0),
        ):
            values = table[column][keep].astype(np.float64) * scale
            if (values >= 0).all():
                of, t_s = f"stream {stream}", table["end_s"][keep]
                series.append(LogSeries(of, name, title, unit, t_s, values))
    return series


def netperf_numbers(log: NetperfLog) -> list[LogNumber]:
    """Return the numbers of each test's result line, and the mean of the interim results."""
    table = log.tables["tests"]
    found: list[LogNumber] = []
    for row in range(len(table)):
        of = str(table["test"][row]) if len(table) == 1 else f"{row + 1}: {table['test'][row]}"
        for column, name, title, unit, scale in (
            ("throughput_bps", "goodput_mbps", "throughput received", "Mbit/s", _MBIT),
            ("sent_bps", "sent_mbps", "throughput sent", "Mbit/s", _MBIT),
            ("transactions_per_s", "transactions_per_s", "transactions", "1/s", 1.0),
            ("rtt_mean_us", "transaction_mean_ms", "a transaction, mean", "ms", 1e-3),
            ("elapsed_s", "elapsed_s", "elapsed", "s", 1.0),
        ):
            value = float(table[column][row]) * scale
            if not math.isnan(value):
                found.append(LogNumber(of, name, title, unit, value))
        sent, received = int(table["sent_pkts"][row]), int(table["received_pkts"][row])
        if sent > 0 and 0 <= received <= sent:
            lost = 100.0 * (sent - received) / sent
            found.append(LogNumber(of, "loss_percent", "lost", "%", lost, samples=sent))
    interim = log.tables["interim"]
    for column, name, title, unit, scale in (
        ("throughput_bps", "throughput_of_intervals_any_mean_mbps", "throughput", "Mbit/s", _MBIT),
        ("transactions_per_s", "transactions_of_intervals_mean", "transactions", "1/s", 1.0),
    ):
        values = interim[column] * scale
        if len(values) and np.isfinite(values).all():
            said = f"{title}, mean of the interim results"
            found.append(mean_number("interim results", name, said, unit, values))
    return found


def netperf_series(log: NetperfLog) -> list[LogSeries]:
    """Return interim results over time."""
    interim = log.tables["interim"]
    series = []
    for test in dict.fromkeys(interim["test"].tolist()):
        keep = interim["test"] == test
        end = interim["end_epoch_s"][keep]
        if not np.isfinite(end).all():
            end = np.nancumsum(interim["seconds"][keep])
        t_s = end - end.min()
        for column, name, title, unit, scale in (
            ("throughput_bps", "throughput_mbps", "throughput", "Mbit/s", _MBIT),
            ("transactions_per_s", "transactions_per_s", "transactions", "1/s", 1.0),
        ):
            values = interim[column][keep] * scale
            if np.isfinite(values).all():
                series.append(LogSeries(f"test {test}", name, title, unit, t_s, values))
    return series


def _direction(log: Iperf3Log, is_reverse: int) -> str:
    if not log.is_bidirectional:
        return ""
    return "server to client" if is_reverse else "client to server"


def _sums(table: LogTable, is_reverse: int, of: str) -> list[LogNumber]:
    """Return the lines with totals of all streams."""
    found: list[LogNumber] = []
    whole = (table["socket"] == -1) & (table["is_reverse"] == is_reverse)
    for row in np.flatnonzero(whole).tolist():
        side = str(table["side"][row])
        rate = float(table["throughput_bps"][row]) * _MBIT
        if side == "received":
            found.append(LogNumber(of, "goodput_mbps", "throughput received", "Mbit/s", rate))
            found += _datagrams(table, row, of)
        elif side == "sent":
            found.append(LogNumber(of, "sent_mbps", "throughput sent", "Mbit/s", rate))
            found += _repairs(table, row, of)
        elif not (whole & (table["side"] != "both")).any():
            # Before 3.7 a UDP test has only this line: the rate is the sender's.
            found.append(LogNumber(of, "sent_mbps", "throughput sent", "Mbit/s", rate))
            found += _datagrams(table, row, of)
    return found


def _datagrams(table: LogTable, row: int, of: str) -> list[LogNumber]:
    pkts, lost = int(table["pkts"][row]), int(table["lost_pkts"][row])
    if pkts <= 0 or not 0 <= lost <= pkts:
        return []
    return [
        LogNumber(of, "loss_percent", "datagrams lost", "%", 100.0 * lost / pkts, samples=pkts),
        LogNumber(of, "jitter_ms", "jitter at the end", "ms", float(table["jitter_ms"][row])),
    ]


def _repairs(table: LogTable, row: int, of: str) -> list[LogNumber]:
    again, seconds = int(table["retransmitted_pkts"][row]), float(table["seconds"][row])
    if again < 0:
        return []
    found = [LogNumber(of, "retransmitted_pkts", "segments sent again", "packets", again)]
    if seconds > 0:
        title = "segments sent again a second"
        found.append(LogNumber(of, "retransmitted_pps", title, "packets/s", again / seconds))
    return found


def _counted(table: LogTable, sender: int) -> dict[str, Floats]:
    """Return the intervals of one side that ``--omit`` does not exclude."""
    keep = (table["is_sender"] == sender) & (table["is_omitted"] == 0)
    keep &= np.isfinite(table["throughput_bps"]) & np.isfinite(table["end_s"])
    return {each.name: table[each.name][keep] for each in table.columns}


def _summed_rates(table: dict[str, Floats]) -> Floats:
    """Return total rates of all streams per interval, Mbit/s: intervals that end within 50 ms."""
    ends = np.round(table["end_s"] * 10)
    return np.array(
        [table["throughput_bps"][ends == each].sum() * _MBIT for each in np.unique(ends)]
    )
