"""The line that a twin is: two rates, a round trip, and what stands before each rate.

::

    server --- isp ====== modem --- router --- laptop

as `dumbbell.spec.home` draws it. Rates count packets as Linux does, with the 14 bytes of an
Ethernet header.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any

from dumbbell.twin.scene import Way
from dumbbell.units import format_rate, format_size, format_time

ACCESS_RATE = "10gbit"
"""Of the home's own network: no bottleneck."""
FULL_BYTES = 1514
"""A full packet with its Ethernet header."""
FULL_PAYLOAD_BYTES = 1448
"""Of its TCP payload, with timestamps."""
ACK_BYTES = 66
"""An acknowledgement with timestamps and its Ethernet header."""
PLAIN = "pfifo limit 1000"
"""Of a router that shapes nothing: its ports are so fast that nothing waits there."""
LEAST_RATE_BPS, MOST_RATE_BPS = 50_000, 9_000_000_000
LEAST_RTT_NS, MOST_RTT_NS = 10_000, 10_000_000_000


class DisciplineClass(StrEnum):
    """What of a queue's discipline can be told from outside."""

    FIFO = "FIFO"
    AQM = "AQM"
    FLOW_QUEUEING = "flow queueing"
    POLICER = "policer"
    NOT_IDENTIFIABLE = "not identifiable"


class QueueModel(Enum):
    """A discipline that is tried, its class, and what its size is."""

    FIFO = ("bfifo", DisciplineClass.FIFO, "bytes", 3_000, 2**30)
    CODEL = ("codel", DisciplineClass.AQM, "ns", 500_000, 500_000_000)
    PIE = ("pie", DisciplineClass.AQM, "ns", 500_000, 500_000_000)
    FQ_CODEL = ("fq_codel", DisciplineClass.FLOW_QUEUEING, "ns", 500_000, 500_000_000)
    POLICER = ("police", DisciplineClass.POLICER, "bytes", 2_000, 2**28)

    def __init__(
        self, word: str, class_: DisciplineClass, unit: str, least: int, most: int
    ) -> None:
        """Name the parts.

        Args:
            word: Of tc.
            class_: What it is an example of.
            unit: Of its size: ``bytes`` of a buffer or burst, ``ns`` of a target of delay.
            least: Least size that is tried.
            most: Greatest.
        """
        self.word = word
        self.class_ = class_
        self.unit = unit
        self.least = least
        self.most = most


@dataclass(frozen=True, slots=True)
class LineEnd:
    """A direction of the line.

    Attributes:
        rate_bps: Of full packets, bit/s, with Ethernet headers.
        model: What stands before it.
        size: The buffer or the burst in bytes, or the target of delay in nanoseconds.
    """

    rate_bps: int
    model: QueueModel
    size: int

    def with_rate(self, rate_bps: float) -> LineEnd:
        """The same at another rate, as far as it may be set."""
        rate = min(max(round(rate_bps), LEAST_RATE_BPS), MOST_RATE_BPS)
        return replace(self, rate_bps=rate)

    def with_size(self, size: float) -> LineEnd:
        """The same with another buffer, burst or target, as far as it may be set."""
        return replace(self, size=round(min(max(size, self.model.least), self.model.most)))

    @property
    def buffer_ms(self) -> float:
        """How long a full buffer takes to leave; of a policer the time that its burst is worth."""
        if self.model.unit == "ns":
            return self.size / 1e6
        return 8e3 * self.size / self.rate_bps

    @property
    def qdisc(self) -> str:
        """As typed after ``root``; of a policer, before which nothing waits, plenty of room."""
        target = f"{self.size // 1000}us"
        match self.model:
            case QueueModel.FIFO:
                return f"bfifo limit {format_size(self.size)}"
            case QueueModel.CODEL:
                return f"codel target {target} interval {_interval(self.size)}"
            case QueueModel.PIE:
                return f"pie target {target}"
            case QueueModel.FQ_CODEL:
                return f"fq_codel target {target} interval {_interval(self.size)}"
            case QueueModel.POLICER:
                return "pfifo limit 1000"

    @property
    def table(self) -> dict[str, Any]:
        """The end of a link, as an experiment's file has it."""
        if self.model is QueueModel.POLICER:
            rate, burst = format_rate(self.rate_bps), format_size(self.size)
            return {"police": f"police rate {rate} burst {burst} drop"}
        return {"rate": format_rate(self.rate_bps), "qdisc": self.qdisc}


def _interval(target_ns: int) -> str:
    """CoDel's interval: 100 ms, or twenty targets where that is more (RFC 8289, 4.3)."""
    return f"{max(100_000, 20 * target_ns // 1000)}us"


@dataclass(frozen=True, slots=True)
class Line:
    """A line.

    Attributes:
        up: From the home.
        down: To it.
        rtt_ns: Propagation there and back, nanoseconds.
        router_up: Discipline of the router's port to the modem.
        router_down: Of its port to the laptop, which packets to the home pass.
    """

    up: LineEnd
    down: LineEnd
    rtt_ns: int
    router_up: str = PLAIN
    router_down: str = PLAIN

    def end(self, way: Way) -> LineEnd:
        """The direction's own."""
        return self.up if way is Way.UP else self.down

    def with_end(self, way: Way, end: LineEnd) -> Line:
        """The same with another end."""
        return replace(self, up=end) if way is Way.UP else replace(self, down=end)

    def with_rtt(self, rtt_ns: float) -> Line:
        """The same with another round trip, as far as it may be set."""
        return replace(self, rtt_ns=round(min(max(rtt_ns, LEAST_RTT_NS), MOST_RTT_NS)))

    @property
    def rounded(self) -> Line:
        """The same with rates in whole kbit/s, sizes of buffers in 100 bytes, delays in us."""
        ends = {}
        for way in Way:
            end = self.end(way)
            step = 100 if end.model.unit == "bytes" else 1_000
            size = step * round(end.size / step)
            ends[way] = LineEnd(1000 * round(end.rate_bps / 1000), end.model, size)
        rtt_ns = 2_000 * round(self.rtt_ns / 2_000)
        return replace(self, up=ends[Way.UP], down=ends[Way.DOWN], rtt_ns=rtt_ns)

    def links(self) -> list[dict[str, Any]]:
        """Tables of an experiment's file."""
        delay = format_time(self.rtt_ns // 2)
        return [
            {"a": "server", "b": "isp", "delay": delay},
            {"a": "isp", "b": "modem", "forward": self.down.table, "reverse": self.up.table},
            {
                "a": "router",
                "b": "modem",
                "rate": ACCESS_RATE,
                "forward": {"qdisc": self.router_up},
            },
            {
                "a": "router",
                "b": "laptop",
                "rate": ACCESS_RATE,
                "forward": {"qdisc": self.router_down},
            },
        ]
