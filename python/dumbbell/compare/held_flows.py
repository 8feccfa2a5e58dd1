"""Flows that their send buffer or the receiver's window holds below what the line carries."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dumbbell.compare.capacity import possible_bps
from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Flow, TcpSettings

BUSY = 0.9
"""Of the time that a queue on the way sends: it is the line that limits."""
USED = 0.8
"""Of a limit that is on its way on average, start of the run among it: the limit holds the flow."""
GROWN_WINDOW_BYTES = 6_291_456 // 2
"""The window that Linux offers at most: half of ``tcp_rmem``'s 6 MB (tcp(7), tcp_adv_win_scale)."""
GROWN_BUFFER_BYTES = 1893 * 1448
"""Payload in the 4 MB of ``tcp_wmem``, of which each packet takes 2304 bytes (docs/tcp.md)."""


class HeldBy(enum.Enum):
    """What holds a flow; the value is the key of ``tcp`` that lifts it."""

    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"

    @property
    def words(self) -> str:
        """For a sentence."""
        return {"receive_window": "the receiver's window", "send_buffer": "its send buffer"}[
            self.value
        ]


@dataclass(frozen=True, slots=True)
class HeldFlow:
    """A greedy flow that neither the line nor losses limit.

    Attributes:
        flow: Its name.
        by: What does.
        goodput_bps: That it had.
        possible_bps: The smallest rate on its way.
        in_flight_bytes: Payload on its way on average: goodput times round trip.
        round_trip_s: Of its packets on the way there, and of the links alone on the way back.
    """

    flow: str
    by: HeldBy
    goodput_bps: float
    possible_bps: float
    in_flight_bytes: float
    round_trip_s: float

    @property
    def needed_bytes(self) -> float:
        """On its way at that rate: the bandwidth-delay product."""
        return self.possible_bps * self.round_trip_s / 8

    @property
    def words(self) -> str:
        """What it is held by, and the setting that lifts it."""
        return (
            f"{self.flow}: {self.by.words} holds it at {_rate(self.goodput_bps)} of "
            f"{_rate(self.possible_bps)}: {_size(self.in_flight_bytes)} are on their way in "
            f"{1e3 * self.round_trip_s:.3g} ms, and the line takes {_size(self.needed_bytes)}. "
            f"flows[{self.flow}].tcp.{self.by.value} sets it."
        )


def held_flows(summary: Summary, described: Resolved) -> Iterator[HeldFlow]:
    """The greedy flows over TCP that a window or a buffer holds.

    Of a flow that loses nothing, on whose way no queue is busy for 90 % of the time, and that has
    at least 80 % of a limit on its way.

    Args:
        summary: Of a run.
        described: What was run.
    """
    for flow in described.flows:
        if flow.tcp is None or flow.source.kind != "greedy":
            continue
        goodput = Quantity(MeasureSubject.FLOW, flow.name, "goodput_bps")
        possible = possible_bps(goodput, described)
        numbers = summary.of(MeasureSubject.FLOW, flow.name)
        round_trip_s = numbers["mean_delay_s"] + _back_s(flow, described)
        is_free = numbers["loss_ratio"] == 0.0 and not _is_busy(flow, summary, described)
        if not (is_free and math.isfinite(possible) and round_trip_s > 0.0):
            continue
        in_flight = numbers["goodput_bps"] * round_trip_s / 8
        limit = min(_limits(flow.tcp), key=lambda each: each[1])
        if in_flight >= USED * limit[1]:
            yield HeldFlow(
                flow.name, limit[0], numbers["goodput_bps"], possible, in_flight, round_trip_s
            )


MOST_TOLD = 3
"""Held flows that have a line each."""


def held_words(held: Sequence[HeldFlow]) -> list[str]:
    """A line for each of a few held flows, and how many more there are."""
    more = len(held) - MOST_TOLD
    lines = [each.words for each in held[:MOST_TOLD]]
    return [*lines, f"{more} more flows are held so."] if more > 0 else lines


def _limits(tcp: TcpSettings) -> list[tuple[HeldBy, float]]:
    """Payload that each lets on its way; a buffer that is asked for Linux doubles (socket(7))."""
    window = tcp.receive_window_bytes or GROWN_WINDOW_BYTES
    buffer = tcp.send_buffer_bytes or GROWN_BUFFER_BYTES
    return [(HeldBy.RECEIVE_WINDOW, window), (HeldBy.SEND_BUFFER, buffer)]


def _back_s(flow: Flow, described: Resolved) -> float:
    return sum(queue.delay_ns for queue in described.route(flow.to, flow.from_)) / 1e9


def _is_busy(flow: Flow, summary: Summary, described: Resolved) -> bool:
    way = described.route(flow.from_, flow.to)
    return any(summary.of(MeasureSubject.QUEUE, queue.name)["utilization"] >= BUSY for queue in way)


def _rate(bps: float) -> str:
    return f"{bps / 1e9:.3g} Gbit/s" if bps >= 1e9 else f"{bps / 1e6:.3g} Mbit/s"


def _size(size_bytes: float) -> str:
    return f"{size_bytes / 1e6:.3g} MB" if size_bytes >= 1e6 else f"{size_bytes / 1e3:.3g} kB"
