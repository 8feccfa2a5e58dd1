"""The scene in a run's tables, simulated or imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dumbbell.tables import NO_INSTANT, Run
from dumbbell.twin.scene import MeasuredFlow, Scene, Way

_NS = 1e9
_NS_PER_MS = 1e6


def flows_of_run(run: Run, ways: Mapping[str, Way]) -> tuple[MeasuredFlow, ...]:
    """Return the flows of ``flow_samples`` that transferred data.

    Args:
        run: A run with samples.
        ways: Direction of the data of each wanted flow, by name.
    """
    found = []
    for name, way in ways.items():
        t_ns, moved, srtt_ns = (
            run.column("flow_samples", column, flow=name)
            for column in ("t_ns", "delivered_payload_bytes", "srtt_ns")
        )
        known = (moved != NO_INSTANT) & (t_ns != NO_INSTANT)
        t_ns, moved, srtt_ns = t_ns[known], moved[known], srtt_ns[known]
        if len(t_ns) < 2 or moved[-1] <= 0:
            continue
        srtt_ms = np.where(srtt_ns > 0, srtt_ns / _NS_PER_MS, np.nan)
        found.append(MeasuredFlow(way, t_ns / _NS, moved.astype(np.float64), srtt_ms))
    return tuple(found)


def loaded_span_s(flows: Sequence[MeasuredFlow]) -> tuple[float, float]:
    """Return the time from the first flow's first progress to the last flow's last progress.

    Args:
        flows: At least one flow; each with at least two readings.
    """
    begins, ends = [], []
    for flow in flows:
        moving = np.flatnonzero(np.diff(flow.payload_bytes, prepend=0.0) > 0)
        first, last = int(moving[0]), int(moving[-1])
        begins.append(flow.t_s[max(first - 1, 0)])
        ends.append(flow.t_s[last])
    return float(min(begins)), float(max(ends))


def scene_of_run(
    run: Run,
    ways: Mapping[str, Way],
    probes: Sequence[str],
    *,
    source: str,
    controllers: tuple[tuple[Way, str], ...] = (),
    span_s: tuple[float, float] | None = None,
) -> Scene:
    """Return the scene of a run.

    Args:
        run: A run, simulated or imported from a data file.
        ways: Directions of the flows of the load.
        probes: Names of the probes whose round trips are pooled.
        source: Name of the source.
        controllers: Congestion controllers of the senders.
        span_s: Begin and end of the load; by default those of the flows or, without flows, the
            first and last round trip.
    """
    flows = flows_of_run(run, ways)
    sent, rtt, lost, interval_s = [], [], [], 0.2
    for probe in probes:
        sent_ns = run.column("probes", "sent_ns", probe=probe)
        rtt_ns = run.column("probes", "rtt_ns", probe=probe)
        answered = rtt_ns != NO_INSTANT
        lost.append(~answered)
        sent.append(sent_ns[answered] / _NS)
        rtt.append(rtt_ns[answered] / _NS_PER_MS)
        if len(sent_ns) > 2:
            interval_s = float(np.clip(np.median(np.diff(np.sort(sent_ns))) / _NS, 0.005, 10.0))
    all_sent = np.concatenate(sent) if sent else np.empty(0)
    order = np.argsort(all_sent, kind="stable")
    all_sent = all_sent[order]
    all_rtt = (np.concatenate(rtt) if rtt else np.empty(0))[order]
    if span_s is None:
        if flows:
            span_s = loaded_span_s(flows)
        else:
            span_s = (float(all_sent[0]), float(all_sent[-1])) if len(all_sent) else (0.0, 0.0)
    return Scene(
        source=source,
        begin_s=span_s[0],
        end_s=span_s[1],
        flows=flows,
        sent_s=all_sent,
        rtt_ms=all_rtt,
        lost=float(np.concatenate(lost).mean()) if lost and len(np.concatenate(lost)) else 0.0,
        interval_s=interval_s,
        controllers=controllers,
    )
