"""Measurements of a line under one load: throughput of flows, and round trips.

Measurements and simulated runs are both converted to `Scene`, so every number is computed in the
same way for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SETTLING_S, _SETTLING = 2.0, 0.2
"""Time excluded from means at the beginning of the load (initial buffer filling and slow start): in
seconds, or as a share of a short load."""
TOP = 0.98
"""Quantile of delay that represents a full queue: slightly below the size of a drop-tail queue."""
_BIN_S = 1.0
_LEAST_GAPS = 20
_IRREGULAR, _FEW = 0.15, 0.1
"""Pings have a fixed interval if at most this share of the gaps (the second) differs by more than
this (the first) from a multiple of it. Several pings at once, and those that wait for an answer
before the next, have none."""


class Way(StrEnum):
    """A direction of the line, seen from the home."""

    UP = "up"
    DOWN = "down"

    @property
    def other(self) -> Way:
        """Return the opposite direction."""
        return Way.DOWN if self is Way.UP else Way.UP


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFlow:
    """Data transferred by one TCP flow.

    Attributes:
        way: Direction of its data.
        t_s: Ends of the intervals, ascending; shape (n,).
        payload_bytes: Bytes delivered up to each end, since the first; shape (n,).
        srtt_ms: The sender's smoothed RTT at each end; NaN if unknown; shape (n,).
    """

    way: Way
    t_s: Floats
    payload_bytes: Floats
    srtt_ms: Floats

    def moved_bytes(self, begin_s: float, end_s: float) -> float:
        """Return the payload between two times, interpolated linearly."""
        at = np.interp([begin_s, end_s], self.t_s, self.payload_bytes)
        return float(at[1] - at[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """A line under one load.

    Attributes:
        source: Printable name of the file.
        begin_s: Begin of the load, on the clock of the arrays; of an idle line, the first round
            trip.
        end_s: End of the load.
        flows: Flows of the load; none for an idle line.
        sent_s: Sending times of the answered requests, ascending; shape (n,).
        rtt_ms: Round-trip times; shape (n,).
        lost: Share of unanswered requests, 0 to 1.
        interval_s: Interval between requests.
        controllers: The senders' congestion controller by direction, if known.
        has_pings: Whether the round trips are of pings; otherwise of the flows' own segments, which
            wait in their own queues if the discipline queues by flow.
    """

    source: str
    begin_s: float
    end_s: float
    flows: tuple[MeasuredFlow, ...] = ()
    sent_s: Floats = field(default_factory=lambda: np.empty(0))
    rtt_ms: Floats = field(default_factory=lambda: np.empty(0))
    lost: float = 0.0
    interval_s: float = 0.2
    controllers: tuple[tuple[Way, str], ...] = ()
    has_pings: bool = True

    def count(self, way: Way) -> int:
        """Return the number of flows that send in a direction."""
        return sum(flow.way is way for flow in self.flows)

    @property
    def ways(self) -> frozenset[Way]:
        """Return the directions that carried a load."""
        return frozenset(flow.way for flow in self.flows)

    @property
    def load(self) -> str:
        """Return a name of the load, of one or two words."""
        match sorted(self.ways):
            case []:
                return "idle"
            case [Way.UP]:
                return "upload"
            case [Way.DOWN]:
                return "download"
            case _:
                return "both ways"

    @property
    def length_s(self) -> float:
        """Return the length of the load."""
        return self.end_s - self.begin_s

    def controller(self, way: Way) -> str:
        """Return the senders' controller; Linux's default if not stated."""
        return dict(self.controllers).get(way, "cubic")

    def between(self, begin: float, end: float) -> Window:
        """Return a part of the load, by shares of its length from 0 to 1."""
        begin_s = self.begin_s + begin * self.length_s
        return Window(self, begin_s, self.begin_s + end * self.length_s)


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A part of a scene's load.

    Attributes:
        scene: The scene.
        begin_s: Begin, on its clock.
        end_s: End, on its clock.
    """

    scene: Scene
    begin_s: float
    end_s: float

    @property
    def settled_s(self) -> float:
        """Return the time from which means are taken."""
        settling_s = min(SETTLING_S, _SETTLING * self.scene.length_s)
        return min(max(self.begin_s, self.scene.begin_s + settling_s), self.end_s)

    def goodput_mbps(self, way: Way) -> float:
        """Return the payload rate of a direction's flows, Mbit/s; NaN without load or times."""
        span_s = self.end_s - self.settled_s
        moved = [
            flow.moved_bytes(self.settled_s, self.end_s)
            for flow in self.scene.flows
            if flow.way is way
        ]
        return 8e-6 * math.fsum(moved) / span_s if moved and span_s > 0 else math.nan

    def variation(self, way: Way) -> float:
        """Return spread over median of the goodput in bins of a second; NaN with fewer than four
        bins.

        The spread is the interquartile range over 1.349, the standard deviation of a normal
        distribution. It is robust to a sequence hole, which gives one second with low goodput and
        one with high goodput independent of the rate. Only the load's last three quarters are used,
        because its beginning depends on the flows.
        """
        begin_s = max(self.settled_s, self.scene.begin_s + self.scene.length_s / 4)
        edges = np.arange(begin_s, self.end_s + 1e-9, _BIN_S)
        total = self._binned(way, edges).sum(axis=0)
        if total.size < 4 or not np.median(total) > 0:
            return math.nan
        low, middle, high = np.quantile(total, (0.25, 0.5, 0.75))
        return float((high - low) / 1.349 / middle)

    def unevenness(self, way: Way) -> float:
        """Return the unfairness: mean over one-second bins of standard deviation over mean.

        0: all flows get the same in each second. NaN with fewer than two flows or bins.
        """
        edges = np.arange(self.settled_s, self.end_s + 1e-9, _BIN_S)
        each = self._binned(way, edges)
        if each.shape[0] < 2 or each.shape[1] < 2:
            return math.nan
        mean = each.mean(axis=0)
        known = mean > 0
        if not known.any():
            return math.nan
        return float((each.std(axis=0)[known] / mean[known]).mean())

    def _binned(self, way: Way, edges_s: Floats) -> Floats:
        own = [flow for flow in self.scene.flows if flow.way is way]
        if not own or len(edges_s) < 2:
            return np.empty((len(own), 0))
        return np.array([np.diff(np.interp(edges_s, flow.t_s, flow.payload_bytes)) for flow in own])

    def round_trips_ms(self) -> Floats:
        """Return the round trips of requests sent in the window."""
        sent = self.scene.sent_s
        found: Floats = self.scene.rtt_ms[(sent >= self.begin_s) & (sent <= self.end_s)]
        return found

    def rtt_ms(self, quantile: float) -> float:
        """Return a quantile of them, by linear interpolation; NaN with fewer than five."""
        found = self.round_trips_ms()
        return float(np.quantile(found, quantile)) if len(found) >= 5 else math.nan

    def unanswered(self) -> float:
        """Return the share of pings without an answer, 0 to 1; NaN if they have no fixed interval.

        It follows from the gaps between those with an answer, because most files have no others.
        """
        sent = self.scene.sent_s
        gaps_s = np.diff(sent[(sent >= self.begin_s) & (sent <= self.end_s)])
        if not self.scene.has_pings or len(gaps_s) < _LEAST_GAPS:
            return math.nan
        intervals = gaps_s / np.median(gaps_s)
        whole = np.round(intervals)
        if np.mean((np.abs(intervals - whole) > _IRREGULAR) | (whole < 1)) > _FEW:
            return math.nan
        return float(1.0 - len(whole) / whole.sum())

    @property
    def top_ms(self) -> float:
        """Return the round-trip time when the queue is fullest."""
        return self.rtt_ms(TOP)

    def srtt_ms(self, way: Way) -> float:
        """Return the median smoothed RTT of the senders of a direction; NaN if unknown."""
        found = [
            flow.srtt_ms[(flow.t_s > self.settled_s) & (flow.t_s <= self.end_s)]
            for flow in self.scene.flows
            if flow.way is way
        ]
        every = np.concatenate(found) if found else np.empty(0)
        every = every[np.isfinite(every)]
        return float(np.median(every)) if len(every) else math.nan


def with_segments(scene: Scene, idle_ms: Floats) -> Scene:
    """Return a scene whose round trips are those that the senders of its flows measured.

    Args:
        scene: The scene; its own round trips are dropped.
        idle_ms: Round trips of the idle line, or minima, which stand before the load; shape (n,).

    Returns:
        The scene; without round trips if no sender measured any.
    """
    before_s = np.full(len(idle_ms), scene.begin_s - 1e-3)
    known = [(flow, np.isfinite(flow.srtt_ms)) for flow in scene.flows]
    if not any(keep.any() for _, keep in known):
        return replace(scene, sent_s=np.empty(0), rtt_ms=np.empty(0))
    sent_s = np.concatenate([before_s, *(flow.t_s[keep] for flow, keep in known)])
    rtt_ms = np.concatenate([idle_ms, *(flow.srtt_ms[keep] for flow, keep in known)])
    order = np.argsort(sent_s, kind="stable")
    return replace(scene, sent_s=sent_s[order], rtt_ms=rtt_ms[order], lost=0.0, has_pings=False)


def least_ms(scenes: Sequence[Scene]) -> float:
    """Return the minimum round-trip time of several scenes; NaN if there is none."""
    found = [float(scene.rtt_ms.min()) for scene in scenes if len(scene.rtt_ms)]
    return min(found, default=math.nan)
