"""The scenes in a capture at one end of a line: its TCP connections, and its pings.

The host near the capture is taken to be at home if it opened one of the connections, and otherwise
to be the server. Without that, because the capture was made in between, the client is at home.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dumbbell.errors import SpecError
from dumbbell.metrics.captured import CapturedFlows, captured_flows
from dumbbell.metrics.observation_point import ObservationPoint, seen_from
from dumbbell.tables import Array, Run
from dumbbell.twin.run_scene import loaded_span_s
from dumbbell.twin.scene import Floats, MeasuredFlow, Scene, Way, with_segments

_NS = 1e9
_NS_PER_MS = 1e6
_TCP, _ICMP, _ICMPV6 = 6, 1, 58
LEAST_LOAD_S = 5.0
_LEAST_ANSWERS = 5
_LEAST_SHARE = 0.02
"""Share of the capture's payload from which a connection is part of a load."""
_TOGETHER = 0.5
"""Share of a connection's time that must fall into a load for it to be part of that load."""
_OTHER_SHARE = 0.05
"""Share of the payload of other connections that is worth a note."""


@dataclass(frozen=True, slots=True, eq=False)
class _Connection:
    """A connection of a load.

    Attributes:
        flow: Its data.
        begin_s: Begin of its data.
        end_s: End of its data.
        least_ms: Minimum round trip of its segments; NaN if none was seen.
        has_begin: Whether its handshake was captured.
    """

    flow: MeasuredFlow
    begin_s: float
    end_s: float
    least_ms: float
    has_begin: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Pings:
    """Round trips of the echo requests with one identifier."""

    sent_s: Floats
    rtt_ms: Floats
    lost: float
    interval_s: float


def scenes_of_capture(
    run: Run, source: str, senders: Mapping[Way, str]
) -> tuple[list[Scene], tuple[str, ...]]:
    """Return a scene for each load in a capture.

    Round trips are those of the pings in the capture, or else of the segments that were sent where
    the capture was made.

    Args:
        run: As `dumbbell.formats.read_capture` returns it.
        source: Printable name of the file.
        senders: Congestion controllers by direction; a capture does not contain them.

    Returns:
        The scenes, and what was assumed and not used, a sentence each.

    Raises:
        SpecError: It has several interfaces, or no load of sufficient length.
    """
    queue, place = _only_place(run, source)
    flows = captured_flows(run, queue, place, protocol=_TCP)
    found, other = _connections(run, queue, place, flows)
    loads = [each for each in _loads(found) if _length_s(each) >= LEAST_LOAD_S]
    if not loads:
        allowed = f"TCP connections that carry data for {LEAST_LOAD_S:g} s and longer"
        raise SpecError(source, f"a capture of {len(flows.flow)} TCP connections", allowed)
    pings = _pings(run)
    notes = [f"{source}: {sentence}" for sentence in run.meta["problems"]]
    if other > _OTHER_SHARE:
        share = f"{100 * other:.0f} %"
        notes.append(f"{source}: short and small connections, {share} of the payload, are not used")
    if not all(each.has_begin for load in loads for each in load):
        notes.append(
            f"{source}: of some connections the beginning was not captured; the sender of their "
            "first packet is taken to be at home"
        )
    if pings is None:
        notes.append(f"{source}: no pings; round trips are those of TCP segments sent here")
    scenes = [_scene(load, pings, source, senders, len(loads) > 1) for load in loads]
    return scenes, tuple(notes)


def _only_place(run: Run, source: str) -> tuple[int, int]:
    table = run.columns("captured_flows")
    places = set(zip(table["queue"].tolist(), table["place"].tolist(), strict=True))
    if not places:
        raise SpecError(source, "a capture without flows", "a capture of TCP connections")
    if len(places) > 1:
        allowed = "one: dumbbell analyze FILE --view NAME --write ONE.pcap"
        raise SpecError(source, f"a capture of {len(places)} interfaces", allowed)
    return places.pop()


def _connections(
    run: Run, queue: int, place: int, flows: CapturedFlows
) -> tuple[list[_Connection], float]:
    """Return the connections that may be part of a load, and the share of payload of the others."""
    intervals = run.columns("captured_intervals")
    points = seen_from(run, queue, place, flows).point
    ways = _ways(points, flows.is_reply.tolist())
    total = float(flows.payload_bytes.sum())
    found: list[_Connection] = []
    used = 0.0
    rows = run.columns("captured_flows")
    for k, (way, point) in enumerate(zip(ways, points, strict=True)):
        payload = float(flows.payload_bytes[k])
        if payload <= 0 or payload < _LEAST_SHARE * total:
            continue
        key = (flows.flow[k], flows.connection[k], flows.is_reply[k])
        row, own = _rows(rows, key), _rows(intervals, key)
        if len(own["begin_ns"]) < 3:
            continue
        each = _connection(row, own, way, point)
        if each is not None:
            found.append(each)
            used += payload
    return found, 1.0 - used / total if total > 0 else 0.0


def _ways(points: Sequence[ObservationPoint], are_replies: Sequence[int]) -> list[Way]:
    """Return the direction of the data of each connection.

    Args:
        points: Where its data were captured.
        are_replies: Whether its data come from the host that accepted the connection.
    """
    ends = (ObservationPoint.SENDER, ObservationPoint.RECEIVER)
    opened_near = [
        (point is ObservationPoint.SENDER) is not bool(is_reply)
        for point, is_reply in zip(points, are_replies, strict=True)
        if point in ends
    ]
    is_home = any(opened_near)
    return [
        Way.UP
        if ((point is ObservationPoint.SENDER) is is_home if point in ends else not is_reply)
        else Way.DOWN
        for point, is_reply in zip(points, are_replies, strict=True)
    ]


def _is_key(table: Mapping[str, Array], key: Sequence[int]) -> Array:
    keep: Array = np.ones(len(table["flow"]), dtype=np.bool_)
    for name, value in zip(("flow", "connection", "is_reply"), key, strict=True):
        keep = keep & (table[name] == value)
    return keep


def _rows(table: Mapping[str, Array], key: Sequence[int]) -> dict[str, Array]:
    """Return the rows of a direction of a connection."""
    keep = _is_key(table, key)
    return {name: values[keep] for name, values in table.items()}


def _connection(
    row: Mapping[str, Array], own: dict[str, Any], way: Way, point: ObservationPoint
) -> _Connection | None:
    """Return a direction of a connection over time; None if it moved nothing."""
    order = np.argsort(own["begin_ns"], kind="stable")
    own = {name: values[order].astype(np.float64) for name, values in own.items()}
    begins = own["begin_ns"] / _NS
    ends = begins + own["width_ns"] / _NS
    new = _new_payload(row, own)
    total = np.cumsum(new)
    if not total[-1] > 0:
        return None
    if point is ObservationPoint.SENDER:
        # What is in flight has not been delivered: it may wait in the queue.
        in_flight = np.where(own["in_flight_pkts"] > 0, own["in_flight_mean_bytes"], 0.0)
        total = np.maximum.accumulate(np.clip(total - in_flight, 0.0, None))
    before = np.concatenate([[0.0], total[:-1]])
    is_seen = own["round_trips"] > 0
    if point is not ObservationPoint.SENDER:
        is_seen = np.zeros_like(is_seen)
    rtt_ms = own["round_trip_mean_ns"] / _NS_PER_MS
    # Two readings for each interval, since intervals without packets are missing.
    t_s = np.column_stack([begins, ends]).ravel()
    payload = np.column_stack([before, total]).ravel()
    srtt_ms = np.column_stack(
        [np.full(len(begins), np.nan), np.where(is_seen, rtt_ms, np.nan)]
    ).ravel()
    least = own["round_trip_min_ns"][is_seen]
    moving = np.flatnonzero(new > 0)
    return _Connection(
        MeasuredFlow(way, t_s, payload, srtt_ms),
        float(begins[moving[0]]),
        float(ends[moving[-1]]),
        float(least.min()) / _NS_PER_MS if len(least) else np.nan,
        bool((own["window_scale"] >= 0).all()),
    )


def _new_payload(row: Mapping[str, Array], own: Mapping[str, Floats]) -> Floats:
    """Return the payload of each interval without repetitions, from frames and mean sizes."""
    pkts, data_pkts = float(row["pkts"][0]), max(float(row["data_pkts"][0]), 1.0)
    payload = float(row["payload_bytes"][0])
    header = (float(row["bytes"][0]) - payload) / max(pkts, 1.0)
    repeated = np.clip(own["repeated_pkts"], 0.0, None) * payload / data_pkts
    found: Floats = np.clip(own["bytes"] - header * own["pkts"] - repeated, 0.0, None)
    return found


def _loads(connections: Sequence[_Connection]) -> list[list[_Connection]]:
    """Return the connections that ran at the same time, load by load."""
    loads: list[list[_Connection]] = []
    for each in sorted(connections, key=lambda each: each.begin_s):
        length_s = max(each.end_s - each.begin_s, 1e-9)
        last = loads[-1] if loads else []
        until_s = max((one.end_s for one in last), default=-np.inf)
        if min(until_s, each.end_s) - each.begin_s > _TOGETHER * length_s:
            last.append(each)
        else:
            loads.append([each])
    return loads


def _length_s(load: Sequence[_Connection]) -> float:
    return max(each.end_s for each in load) - min(each.begin_s for each in load)


def _connection_keys(table: Mapping[str, Array], keep: Array) -> set[tuple[int, int]]:
    flows, connections = (table[name][keep].tolist() for name in ("flow", "connection"))
    return set(zip(flows, connections, strict=True))


def _pings(run: Run) -> _Pings | None:
    """Return the round trips of the identifier with the most requests answered."""
    flows = run.columns("captured_flows")
    is_echo = np.isin(flows["protocol"], (_ICMP, _ICMPV6))
    echoes = _connection_keys(flows, is_echo)
    table = run.columns("captured_intervals")
    seen = (table["round_trips"] > 0) & (table["is_reply"] == 0)
    answered = {
        key: int(table["round_trips"][seen & _is_key(table, (*key, 0))].sum())
        for key in _connection_keys(table, seen) & echoes
    }
    best = max(answered, key=lambda key: (answered[key], key), default=None)
    if best is None or answered[best] < _LEAST_ANSWERS:
        return None
    own, trips = _rows(flows, (*best, 0)), _rows(table, (*best, 0))
    order = np.argsort(trips["begin_ns"], kind="stable")
    order = order[trips["round_trips"][order] > 0]
    sent = int(own["pkts"].sum())
    span_s = float(own["last_ns"].max() - own["first_ns"].min()) / _NS
    return _Pings(
        (trips["begin_ns"] + trips["width_ns"] / 2)[order] / _NS,
        trips["round_trip_mean_ns"][order] / _NS_PER_MS,
        max(0.0, 1.0 - answered[best] / max(sent, 1)),
        float(np.clip(span_s / max(sent - 1, 1), 0.005, 10.0)),
    )


def _scene(
    load: Sequence[_Connection],
    pings: _Pings | None,
    source: str,
    senders: Mapping[Way, str],
    is_one_of_several: bool,
) -> Scene:
    begin_s, end_s = loaded_span_s([each.flow for each in load])
    scene = Scene(
        source=source,
        begin_s=begin_s,
        end_s=end_s,
        flows=tuple(each.flow for each in load),
        controllers=tuple(senders.items()),
    )
    name = f"{source}, {scene.load}" if is_one_of_several else source
    if pings is not None:
        return replace(
            scene,
            source=name,
            sent_s=pings.sent_s,
            rtt_ms=pings.rtt_ms,
            lost=pings.lost,
            interval_s=pings.interval_s,
        )
    # Means over intervals hide the minimum, which is mostly that of the handshake.
    least = np.array([each.least_ms for each in load if math.isfinite(each.least_ms)])
    return with_segments(replace(scene, source=name), least)
