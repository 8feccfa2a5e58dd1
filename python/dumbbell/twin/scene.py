"""What was measured of a line under one load: throughput of flows and round trips beside them.

A measurement and a simulated run become the same `Scene`, so every number that is made of one is
made of the other in the same way.
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
"""Left out of means after the load begins, when senders fill their buffers and leave slow start:
so long, or that share of a short load."""
_TOP = 0.98
"""Quantile of delay that stands for a full queue: of a drop-tail queue a little below its size."""
_BIN_S = 1.0


class Way(StrEnum):
    """A direction of the line, as seen from the home."""

    UP = "up"
    DOWN = "down"

    @property
    def other(self) -> Way:
        """The opposite one."""
        return Way.DOWN if self is Way.UP else Way.UP


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredFlow:
    """What one TCP flow moved.

    Attributes:
        way: Of its data.
        t_s: Ends of the intervals, ascending; shape (n,).
        payload_bytes: Delivered until then since the first; shape (n,).
        srtt_ms: The sender's smoothed round trip at each; NaN unknown; shape (n,).
    """

    way: Way
    t_s: Floats
    payload_bytes: Floats
    srtt_ms: Floats

    def moved_bytes(self, begin_s: float, end_s: float) -> float:
        """Payload between two times, linear between readings."""
        at = np.interp([begin_s, end_s], self.t_s, self.payload_bytes)
        return float(at[1] - at[0])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scene:
    """A line under one load.

    Attributes:
        source: The file, as it can be shown.
        begin_s: When the load began, on the clock of the arrays; of an idle line the first round
            trip.
        end_s: When it ended.
        flows: That were the load; none of an idle line.
        sent_s: When each answered request was sent, ascending; shape (n,).
        rtt_ms: Its round trip; shape (n,).
        lost: Share of the requests without an answer, 0 to 1.
        interval_s: Between requests.
        controllers: The senders' congestion controller by direction, where it is known.
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

    def count(self, way: Way) -> int:
        """Flows that send in a direction."""
        return sum(flow.way is way for flow in self.flows)

    @property
    def ways(self) -> frozenset[Way]:
        """Directions that carried a load."""
        return frozenset(flow.way for flow in self.flows)

    @property
    def load(self) -> str:
        """What it was, in a word or two."""
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
        """Of the load."""
        return self.end_s - self.begin_s

    def controller(self, way: Way) -> str:
        """The senders' controller; Linux's default where nothing says it."""
        return dict(self.controllers).get(way, "cubic")

    def between(self, begin: float, end: float) -> Window:
        """A part of the load, by shares of its length from 0 to 1."""
        begin_s = self.begin_s + begin * self.length_s
        return Window(self, begin_s, self.begin_s + end * self.length_s)


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A part of a scene's load.

    Attributes:
        scene: Of which.
        begin_s: On its clock.
        end_s: On its clock.
    """

    scene: Scene
    begin_s: float
    end_s: float

    @property
    def settled_s(self) -> float:
        """From when means are taken."""
        settling_s = min(SETTLING_S, _SETTLING * self.scene.length_s)
        return min(max(self.begin_s, self.scene.begin_s + settling_s), self.end_s)

    def goodput_mbps(self, way: Way) -> float:
        """Payload of all flows of a direction, Mbit/s; NaN without a load or a time."""
        span_s = self.end_s - self.settled_s
        moved = [
            flow.moved_bytes(self.settled_s, self.end_s)
            for flow in self.scene.flows
            if flow.way is way
        ]
        return 8e-6 * math.fsum(moved) / span_s if moved and span_s > 0 else math.nan

    def variation(self, way: Way) -> float:
        """Spread over median of the goodput in bins of a second; NaN without four.

        The spread is the range between quartiles over 1.349, a normal's standard deviation: a
        hole in the sequence gives a second with little and one with much, which say nothing of
        the rate. Of the load's last three quarters: its beginning is the flows' own.
        """
        begin_s = max(self.settled_s, self.scene.begin_s + self.scene.length_s / 4)
        edges = np.arange(begin_s, self.end_s + 1e-9, _BIN_S)
        total = self._binned(way, edges).sum(axis=0)
        if total.size < 4 or not np.median(total) > 0:
            return math.nan
        low, middle, high = np.quantile(total, (0.25, 0.5, 0.75))
        return float((high - low) / 1.349 / middle)

    def unevenness(self, way: Way) -> float:
        """How unequally flows share, mean over bins of a second of standard deviation over mean.

        0: all get the same in each second. NaN with fewer than two flows or bins.
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
        """Of the requests sent in the window."""
        sent = self.scene.sent_s
        found: Floats = self.scene.rtt_ms[(sent >= self.begin_s) & (sent <= self.end_s)]
        return found

    def rtt_ms(self, quantile: float) -> float:
        """A quantile of them, by linear interpolation; NaN of fewer than five."""
        found = self.round_trips_ms()
        return float(np.quantile(found, quantile)) if len(found) >= 5 else math.nan

    @property
    def top_ms(self) -> float:
        """The round trip while the queue is as full as it gets."""
        return self.rtt_ms(_TOP)

    def srtt_ms(self, way: Way) -> float:
        """Median of what senders of a direction say of their round trip; NaN unknown."""
        found = [
            flow.srtt_ms[(flow.t_s > self.settled_s) & (flow.t_s <= self.end_s)]
            for flow in self.scene.flows
            if flow.way is way
        ]
        every = np.concatenate(found) if found else np.empty(0)
        every = every[np.isfinite(every)]
        return float(np.median(every)) if len(every) else math.nan


def least_ms(scenes: Sequence[Scene]) -> float:
    """The least round trip of several; NaN where there is none."""
    found = [float(scene.rtt_ms.min()) for scene in scenes if len(scene.rtt_ms)]
    return min(found, default=math.nan)


def shortened(scene: Scene, longest_s: float) -> Scene:
    """The same with a load of at most so long: what comes later is left out."""
    return replace(scene, end_s=min(scene.end_s, scene.begin_s + longest_s))
