"""The scenes in logs: iperf3's and crusader's tests, and round trips of ping and irtt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.formats.logs import (
    CrusaderLog,
    Iperf3Log,
    IrttLog,
    Log,
    LogText,
    PingLog,
    log_of_text,
)
from dumbbell.formats.logs.model import LogTable
from dumbbell.spec.tcp import CONGESTION_CONTROLLERS
from dumbbell.twin.run_scene import loaded_span_s
from dumbbell.twin.scene import Floats, MeasuredFlow, Scene, Way, with_segments

_NS = 1e9
_NS_PER_MS = 1e6
_GROUPS = {
    "download": {"download": Way.DOWN},
    "upload": {"upload": Way.UP},
    "bidirectional": {"download of both": Way.DOWN, "upload of both": Way.UP},
}
"""Crusader's loads, and the streams of each load."""
PING_INTERVAL_S = 1.0
"""Interval of a ping without timestamps: the default."""
READ = "Flent's, iperf3's, crusader's, irtt's and ping's, or a capture"


def loads_of_log(log: Log, senders: Mapping[Way, str]) -> list[Scene]:
    """Return the scenes of a log that contains loads.

    Args:
        log: The log.
        senders: Congestion controllers by direction, overriding those in the log.

    Raises:
        SpecError: It is of another kind, or contains no TCP.
    """
    if isinstance(log, CrusaderLog):
        found = list(_of_crusader(log))
        return [replace(each, controllers=tuple(senders.items())) for each in found]
    if isinstance(log, Iperf3Log):
        scene = _of_iperf3(log)
        said = {**dict(scene.controllers), **senders}
        return [replace(scene, controllers=tuple(said.items()))]
    kind = log.format.value
    allowed = f"a load: a file of {READ}"
    if isinstance(log, PingLog | IrttLog):
        allowed = "it behind --idle, --during-up, --during-down or --during-both"
        reason = f"{kind} does not say what the line carried meanwhile"
        raise SpecError("FILE", log.source, allowed, reason=reason)
    raise SpecError("FILE", f"{log.source}, of {kind}", allowed)


@dataclass(frozen=True, slots=True, eq=False)
class RoundTrips:
    """Round trips of a ping or of irtt.

    Attributes:
        sent_s: Times of sending, from the first; shape (n,).
        rtt_ms: Round-trip times; shape (n,).
        lost: Share of unanswered requests, 0 to 1.
        interval_s: Interval between requests.
    """

    sent_s: Floats
    rtt_ms: Floats
    lost: float
    interval_s: float


def read_round_trips(path: Path) -> RoundTrips:
    """Read a log of round trips.

    Raises:
        SpecError: It is of another kind, or has no answers.
        FormatError: It cannot be parsed.
        OSError: It cannot be read.
    """
    return round_trips_of_log(log_of_text(LogText.of_file(path)))


def round_trips_of_log(log: Log) -> RoundTrips:
    """Return the round trips of a ping or of irtt.

    Raises:
        SpecError: It is of another kind, or has no answers.
    """
    if isinstance(log, IrttLog):
        table = log.tables["round_trips"]
        sent_ns, rtt_ns = table["sent_epoch_ns"], table["rtt_ns"]
        interval_s = log.interval_ns / _NS if log.interval_ns > 0 else 0.02
        if not (sent_ns > 0).all():
            sent_ns = table["seq"] * int(interval_s * _NS)
    elif isinstance(log, PingLog):
        table = log.tables["requests"]
        rtt_ns, received = table["rtt_ns"], table["received_epoch_ns"]
        answered = rtt_ns >= 0
        if answered.any() and (received[answered] > 0).all():
            sent_ns = np.where(answered, received - rtt_ns, 0)
            gaps = np.diff(sent_ns[answered])
            interval_s = float(np.median(gaps)) / _NS if len(gaps) else PING_INTERVAL_S
        else:
            interval_s = PING_INTERVAL_S
            sent_ns = np.arange(len(rtt_ns), dtype=np.int64) * int(interval_s * _NS)
    else:
        raise SpecError("FILE", f"{log.source}, of {log.format.value}", "round trips: ping or irtt")
    keep = rtt_ns >= 0
    if keep.sum() < 5:
        raise SpecError("FILE", f"{log.source}, {int(keep.sum())} answers", "five answers and more")
    sent_s = (sent_ns[keep] - sent_ns[keep].min()) / _NS
    order = np.argsort(sent_s, kind="stable")
    rtt_ms = rtt_ns[keep] / _NS_PER_MS
    interval_s = float(np.clip(interval_s, 0.005, 10.0))
    return RoundTrips(sent_s[order], rtt_ms[order], 1.0 - float(keep.mean()), interval_s)


def _of_iperf3(log: Iperf3Log) -> Scene:
    if log.protocol not in ("", "TCP"):
        allowed = "a test over TCP: it fills the line, and UDP at a rate of its own does not"
        raise SpecError("FILE", f"{log.source}, of iperf3 over {log.protocol}", allowed)
    table = log.tables["intervals"]
    flows = []
    for socket in dict.fromkeys(table["socket"].tolist()):
        of = table["socket"] == socket
        sides = set(table["is_sender"][of].tolist())
        for sender in sorted(sides):
            keep = of & (table["is_sender"] == sender)
            # The client is at home, so it sends in the upload direction.
            is_up = sender == 1 if sender >= 0 else not log.is_reverse
            flow = _iperf3_flow(table, keep, Way.UP if is_up else Way.DOWN)
            if flow is not None:
                flows.append(flow)
    if not flows:
        raise SpecError("FILE", log.source, "intervals in which something was moved")
    begin_s, end_s = loaded_span_s(flows)
    sender = log.congestion if log.congestion in CONGESTION_CONTROLLERS else "cubic"
    scene = Scene(
        source=log.source,
        begin_s=min(begin_s, 0.0) if begin_s < 1.5 else begin_s,
        end_s=end_s,
        flows=tuple(flows),
        controllers=tuple((way, sender) for way in Way),
    )
    least_us = log.tables["sums"]["rtt_min_us"]
    return with_segments(scene, least_us[least_us > 0] / 1e3)


def _iperf3_flow(table: LogTable, keep: Floats, way: Way) -> MeasuredFlow | None:
    ends, moved = table["end_s"][keep], table["bytes"][keep].astype(np.float64)
    # After --omit iperf3's clock starts again at 0.
    known = np.isfinite(ends) & (moved >= 0) & (table["is_omitted"][keep] != 1)
    if known.sum() < 3 or not moved[known].sum() > 0:
        return None
    order = np.argsort(ends[known], kind="stable")
    rtt_us = table["rtt_us"][keep][known][order].astype(np.float64)
    begins = table["start_s"][keep][known][order]
    first = float(begins[0]) if np.isfinite(begins[0]) else 0.0
    t_s = np.concatenate([[min(first, ends[known][order][0])], ends[known][order]])
    total = np.concatenate([[0.0], np.cumsum(moved[known][order])])
    srtt_ms = np.concatenate([[np.nan], np.where(rtt_us > 0, rtt_us / 1e3, np.nan)])
    return MeasuredFlow(way, t_s, total, srtt_ms)


def _of_crusader(log: CrusaderLog) -> Iterator[Scene]:
    if "streams" not in log.tables or "pings" not in log.tables:
        raise SpecError("FILE", log.source, "a test of crusader's with a load and pings")
    pings = log.tables["pings"]
    answered = (pings["rtt_ns"] >= 0) & (pings["sent_ns"] >= 0)
    order = np.argsort(pings["sent_ns"][answered], kind="stable")
    sent_s = pings["sent_ns"][answered][order] / _NS
    rtt_ms = pings["rtt_ns"][answered][order] / _NS_PER_MS
    streams = log.tables["streams"]
    for name, groups in _GROUPS.items():
        flows = []
        for group, way in groups.items():
            of_group = (streams["group"] == group) & (streams["t_ns"] >= 0)
            of_group &= streams["bytes"] >= 0
            for number in np.unique(streams["stream"][of_group]).tolist():
                keep = of_group & (streams["stream"] == number)
                t_s = np.maximum.accumulate(streams["t_ns"][keep] / _NS)
                moved = np.maximum.accumulate(streams["bytes"][keep].astype(np.float64))
                if len(t_s) > 2 and moved[-1] > 0:
                    flows.append(MeasuredFlow(way, t_s, moved, np.full(len(t_s), np.nan)))
        if not flows:
            continue
        begin_s, end_s = loaded_span_s(flows)
        yield Scene(
            source=f"{log.source}, {name}",
            begin_s=begin_s,
            end_s=end_s,
            flows=tuple(flows),
            sent_s=sent_s,
            rtt_ms=rtt_ms,
            lost=1.0 - float((pings["rtt_ns"] >= 0).mean()),
            interval_s=float(np.clip(log.ping_interval_ns / _NS, 0.005, 10.0)),
        )
