"""Flows whose rate is limited by the send buffer or the receive window instead of the line."""

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
"""A queue on the path that sends for at least this share of the time shows that the line limits."""
USED = 0.8
"""A flow is limited if it has this share of a limit in flight on average, slow start included."""
GROWN_WINDOW_BYTES = 6_291_456 // 2
"""Largest window that Linux advertises: half of ``tcp_rmem``'s 6 MB (tcp(7), tcp_adv_win_scale)."""
GROWN_BUFFER_BYTES = 1893 * 1448
"""Payload in the 4 MB of ``tcp_wmem``; each packet is charged 2304 bytes (docs/tcp.md)."""


class HeldBy(enum.Enum):
    """The limit of a flow; the value is the key of ``tcp`` that raises it."""

    RECEIVE_WINDOW = "receive_window"
    SEND_BUFFER = "send_buffer"

    @property
    def words(self) -> str:
        """The limit as part of a sentence."""
        return {"receive_window": "the receiver's window", "send_buffer": "its send buffer"}[
            self.value
        ]


@dataclass(frozen=True, slots=True)
class HeldFlow:
    """A greedy flow that is limited neither by the line nor by losses.

    Attributes:
        flow: The flow's name.
        by: The limit.
        goodput_bps: Its goodput.
        possible_bps: The smallest rate on its path.
        in_flight_bytes: Mean payload in flight: goodput times round-trip time.
        round_trip_s: Delay of its packets in the forward direction, plus the links' delay in
            reverse.
    """

    flow: str
    by: HeldBy
    goodput_bps: float
    possible_bps: float
    in_flight_bytes: float
    round_trip_s: float

    @property
    def needed_bytes(self) -> float:
        """Payload in flight needed for that rate: the bandwidth-delay product."""
        return self.possible_bps * self.round_trip_s / 8

    @property
    def words(self) -> str:
        """The limit, and the setting that raises it."""
        return (
            f"{self.flow}: {self.by.words} limits it to {_rate(self.goodput_bps)} of "
            f"{_rate(self.possible_bps)}: {_size(self.in_flight_bytes)} are in flight per round "
            f"trip of {1e3 * self.round_trip_s:.3g} ms, and the bandwidth-delay product is "
            f"{_size(self.needed_bytes)}. "
            f"flows[{self.flow}].tcp.{self.by.value} sets it."
        )


def held_flows(summary: Summary, described: Resolved) -> Iterator[HeldFlow]:
    """The greedy TCP flows that a window or a buffer limits.

    That is a flow without losses, without a queue on its path that is busy for 90 % of the time,
    and with at least 80 % of the limit in flight.

    Args:
        summary: Summary of a run.
        described: The resolved description.
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
"""Limited flows that are reported by name."""


def held_flow_sentences(held: Sequence[HeldFlow]) -> list[str]:
    """A sentence for each of the first few limited flows, and the number of others."""
    more = len(held) - MOST_TOLD
    lines = [each.words for each in held[:MOST_TOLD]]
    return [*lines, f"{more} more flows are limited likewise."] if more > 0 else lines


def _limits(tcp: TcpSettings) -> list[tuple[HeldBy, float]]:
    """Payload that each limit allows in flight; Linux doubles a requested buffer size
    (socket(7)).
    """
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
