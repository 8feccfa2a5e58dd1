"""Numbers of programs that measure delay: ping, irtt and D-ITG."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dumbbell.formats.logs import IrttLog, ItgLog, PingLog
from dumbbell.formats.logs.model import Array
from dumbbell.metrics.logs.number import (
    Floats,
    LogNumber,
    LogSeries,
    known,
    mean_number,
    percentile_numbers,
    share_number,
)

_MS = 1e-6


def ping_numbers(log: PingLog) -> list[LogNumber]:
    """Return requests, loss and round trips; for ``ping -q``, those of its last line."""
    rtt_ns = log.tables["requests"]["rtt_ns"]
    found = _answers(rtt_ns, log.sent, log.received)
    if len(rtt_ns):
        return [*found, *_round_trips(known(rtt_ns, _MS))]
    totals = log.tables["totals"]
    if len(totals) == 1 and totals["rtt_mean_ns"][0] >= 0:
        for name, said in (("min", "least"), ("mean", "mean"), ("max", "greatest")):
            value = float(totals[f"rtt_{name}_ns"][0]) * _MS
            key, title = f"rtt_{name}_ms", f"round trip, {said}"
            found.append(LogNumber("", key, title, "ms", value, samples=log.received))
    return found


def ping_series(log: PingLog) -> list[LogSeries]:
    """Return round trips: over time with ``-D``, otherwise by sequence number."""
    table = log.tables["requests"]
    keep = table["rtt_ns"] >= 0
    at = table["received_epoch_ns"][keep]
    values = table["rtt_ns"][keep] * _MS
    is_timed = bool(len(at)) and bool((at >= 0).all())
    t_s = _since_first(at) if is_timed else np.arange(1, len(values) + 1, dtype=np.float64)
    return [LogSeries("", "rtt_ms", "round trip", "ms", t_s, values, is_timed)]


def irtt_numbers(log: IrttLog) -> list[LogNumber]:
    """Return requests, loss (per direction if the server reports it), RTTs, one-way delays."""
    table = log.tables["round_trips"]
    found = _answers(table["rtt_ns"], log.sent, log.received)
    where = table["lost_where"]
    if (table["is_lost"] == 1).any() and not (where == "unknown").any():
        for key, said in (("up", "there"), ("down", "back")):
            hits = (where == key).astype(np.float64)
            found.append(share_number("", f"loss_{key}_percent", f"lost on the way {said}", hits))
    found += _round_trips(known(table["rtt_ns"], _MS))
    for key, said in (("up", "there"), ("down", "back")):
        delay = table[f"delay_{key}_ns"]
        delay = delay[np.isfinite(delay)] * _MS
        if len(delay):
            title = f"one-way delay {said} (two clocks), mean"
            found.append(mean_number("", f"delay_{key}_mean_ms", title, "ms", delay))
    change = np.abs(table["ipdv_ns"][np.isfinite(table["ipdv_ns"])]) * _MS
    if len(change):
        found.append(mean_number("", "ipdv_mean_ms", "jitter (IPDV), mean", "ms", change))
    return found


def irtt_series(log: IrttLog) -> list[LogSeries]:
    """Return round trips by time of sending."""
    table = log.tables["round_trips"]
    keep = (table["rtt_ns"] >= 0) & (table["sent_epoch_ns"] >= 0)
    t_s = _since_first(table["sent_epoch_ns"][keep])
    return [LogSeries("", "rtt_ms", "round trip", "ms", t_s, table["rtt_ns"][keep] * _MS)]


def itg_numbers(log: ItgLog) -> list[LogNumber]:
    """Return the numbers of each flow, from ITGDec's summary or from a list of packets."""
    if "flows" in log.tables:
        return _itg_summary(log)
    if "packets" in log.tables:
        return _itg_packets(log)
    if "flow_steps" in log.tables:
        return _itg_flow_steps(log)
    steps = log.tables["steps"]
    rate, delay = steps["bitrate_bps"] / 1e6, steps["delay_mean_s"] * 1e3
    found = [mean_number("", "bitrate_mean_mbps", "bitrate, mean of the steps", "Mbit/s", rate)]
    if log.has_delays:
        title = "one-way delay (two clocks), mean of the steps"
        found.append(mean_number("", "delay_of_steps_mean_ms", title, "ms", delay))
    lost = float(steps["dropped_pkts"].sum())
    return [*found, LogNumber("", "dropped_pkts", "packets lost", "packets", lost)]


def itg_series(log: ItgLog) -> list[LogSeries]:
    """Return bitrate and delay over time, by steps or in tenths of a second."""
    if "steps" in log.tables:
        steps = log.tables["steps"]
        rate = steps["bitrate_bps"] / 1e6
        delay = steps["delay_mean_s"] * 1e3
        found = [LogSeries("", "bitrate_mbps", "bitrate", "Mbit/s", steps["t_s"], rate)]
        if log.has_delays:
            found.append(
                LogSeries("", "delay_ms", "one-way delay (two clocks)", "ms", steps["t_s"], delay)
            )
        return found
    if "flow_steps" in log.tables:
        return [
            LogSeries(of, name, title, unit, t_s, values)
            for of, name, title, unit, t_s, values in _of_flow_steps(log)
        ]
    if "packets" not in log.tables or not log.has_delays:
        return []
    table = log.tables["packets"]
    series = []
    for flow in np.unique(table["flow"]).tolist():
        keep = table["flow"] == flow
        sent = table["sent_ns"][keep]
        # In order of time: with several flows, ITGDec lists groups of packets of each flow.
        order = np.argsort(sent, kind="stable")
        t_s = _since_first(sent[order])
        delay = (table["received_ns"] - table["sent_ns"])[keep][order] * _MS
        title = "one-way delay (two clocks)"
        series.append(LogSeries(_of_flow(flow), "delay_ms", title, "ms", t_s, delay))
    return series


_OF_FLOW_STEPS = (
    ("bitrate_bps", "bitrate_mbps", "bitrate", "Mbit/s", 1e-6),
    ("delay_mean_s", "delay_ms", "one-way delay (two clocks)", "ms", 1e3),
    ("jitter_mean_s", "jitter_ms", "jitter", "ms", 1e3),
    ("dropped_pkts", "dropped_pkts", "packets lost", "packets", 1.0),
)
_OF_STEPS = {
    "bitrate_mbps": "bitrate_mean_mbps",
    "delay_ms": "delay_of_steps_mean_ms",
    "jitter_ms": "jitter_of_steps_mean_ms",
}


def _of_flow_steps(log: ItgLog) -> Iterator[tuple[str, str, str, str, Floats, Floats]]:
    """Return flow, name, title, unit, times and values of the steps of each flow."""
    table = log.tables["flow_steps"]
    for flow in dict.fromkeys(table["flow"].tolist()):
        keep = table["flow"] == flow
        for column, name, title, unit, scale in _OF_FLOW_STEPS:
            values = table[column][keep] * scale
            if np.isfinite(values).all():
                yield f"flow {flow}", name, title, unit, table["t_s"][keep], values


def _itg_flow_steps(log: ItgLog) -> list[LogNumber]:
    """Return the means of the steps, and the total loss."""
    found = []
    for of, name, title, unit, _, values in _of_flow_steps(log):
        if name in _OF_STEPS:
            said = f"{title}, mean of the steps"
            found.append(mean_number(of, _OF_STEPS[name], said, unit, values))
        else:
            found.append(LogNumber(of, name, title, unit, float(values.sum())))
    return found


def _itg_summary(log: ItgLog) -> list[LogNumber]:
    table = log.tables["flows"]
    found: list[LogNumber] = []
    only = len(set(table["flow"].tolist()) - {0}) == 1
    for row in range(len(table)):
        number = int(table["flow"][row])
        if number == 0 and only:
            continue  # with a single flow the total equals that flow
        of = f"flow {number}" if number else "all flows"
        pkts, dropped = float(table["pkts"][row]), float(table["dropped_pkts"][row])
        if dropped < 0:  # the line is missing
            dropped = float("nan")
        rows = [
            ("pkts", "packets", "packets", pkts),
            (
                "payload_mean_bytes",
                "mean payload",
                "bytes",
                _over(table["payload_bytes"][row], pkts),
            ),
            ("bitrate_mbps", "bitrate", "Mbit/s", float(table["bitrate_bps"][row]) / 1e6),
            ("packet_rate_pps", "packet rate", "packets/s", float(table["packet_rate_pps"][row])),
            ("loss_percent", "lost", "%", 100 * _over(dropped, pkts + dropped)),
        ]
        if log.has_delays:
            for key, said in (("mean", "mean"), ("sd", "standard deviation")):
                value = 1e3 * float(table[f"delay_{key}_s"][row])
                rows.append((f"delay_{key}_ms", f"one-way delay (two clocks), {said}", "ms", value))
            for key, said in (("min", "least"), ("max", "greatest")):
                value = 1e3 * float(table[f"delay_{key}_s"][row])
                rows.append((f"delay_{key}_ms", f"one-way delay (two clocks), {said}", "ms", value))
            jitter = 1e3 * float(table["jitter_mean_s"][row])
            rows.append(("jitter_mean_ms", "jitter, mean", "ms", jitter))
        found += [
            LogNumber(of, name, title, unit, value, samples=int(pkts) if name != "pkts" else None)
            for name, title, unit, value in rows
        ]
    return found


def _itg_packets(log: ItgLog) -> list[LogNumber]:
    table = log.tables["packets"]
    found: list[LogNumber] = []
    for flow in np.unique(table["flow"]).tolist():
        keep, of = table["flow"] == flow, _of_flow(flow)
        seq, size = table["seq"][keep], table["payload_bytes"][keep]
        received = table["received_ns"][keep]
        pkts, missing = len(seq), int(seq.max()) - len(np.unique(seq))
        span_s = float(received.max() - received.min()) / 1e9
        found.append(LogNumber(of, "pkts", "packets", "packets", pkts))
        payload = size.astype(np.float64)
        found.append(mean_number(of, "payload_mean_bytes", "mean payload", "bytes", payload))
        rate = _over(8e-6 * float(size.sum()), span_s)
        found.append(LogNumber(of, "bitrate_mbps", "bitrate", "Mbit/s", rate, samples=pkts))
        found.append(
            LogNumber(
                of, "packet_rate_pps", "packet rate", "packets/s", _over(pkts, span_s), samples=pkts
            )
        )
        # If flows are not distinguished, duplicate numbers are from two flows.
        is_one = flow != 0 or pkts == len(np.unique(seq))
        if is_one and pkts + missing <= 20 * pkts:
            arrived = np.zeros(pkts + missing)
            arrived[np.unique(seq) - int(seq.min())] = 1.0
            found.append(share_number(of, "loss_percent", "lost", 1.0 - arrived))
        if log.has_delays:
            delay = (received - table["sent_ns"][keep]) * _MS
            title = "one-way delay (two clocks)"
            found.append(mean_number(of, "delay_mean_ms", f"{title}, mean", "ms", delay))
            sd = float(delay.std())
            name = f"{title}, standard deviation"
            found.append(LogNumber(of, "delay_sd_ms", name, "ms", sd, samples=pkts))
            found += percentile_numbers(of, "delay", title, "ms", delay)
    return found


def _of_flow(flow: int) -> str:
    return f"flow {flow}" if flow else "all flows"


def _answers(rtt_ns: Array, sent: int, received: int) -> list[LogNumber]:
    found = [
        LogNumber("", "sent_pkts", "requests", "packets", sent),
        LogNumber("", "received_pkts", "answers", "packets", received),
    ]
    lost = 100.0 * (sent - received) / sent if sent else float("nan")
    share = share_number("", "loss_percent", "lost", (rtt_ns < 0).astype(np.float64))
    # The program's count is used; the interval is computed from the requests in the file.
    agrees = len(rtt_ns) == sent and abs(share.value - lost) < 1e-9
    interval = share.interval if agrees else None
    return [*found, LogNumber("", "loss_percent", "lost", "%", lost, interval, sent)]


def _round_trips(rtt_ms: Floats) -> list[LogNumber]:
    if not len(rtt_ms):
        return []
    return [
        mean_number("", "rtt_mean_ms", "round trip, mean", "ms", rtt_ms),
        *percentile_numbers("", "rtt", "round trip", "ms", rtt_ms),
    ]


def _since_first(at_ns: Array) -> Floats:
    return (at_ns - at_ns.min()).astype(np.float64) / 1e9 if len(at_ns) else np.empty(0)


def _over(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")
