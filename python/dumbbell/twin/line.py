"""The line of a twin: two rates, a round-trip time, and the discipline before each rate.

::

    server --- isp ====== modem --- router --- laptop

as `dumbbell.spec.home` draws it. Rates include the 14 bytes of an Ethernet header, as in Linux.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any

from dumbbell.spec.home import Framing, Technology
from dumbbell.twin.scene import Way
from dumbbell.units import format_rate, format_size, format_time

ACCESS_RATE = "10gbit"
"""Rate of the home network: not a bottleneck."""
FULL_BYTES = 1514
"""Size of a full packet with its Ethernet header."""
_FULL_IP_BYTES = 1500
"""Size of a full packet without it."""
FULL_PAYLOAD_BYTES = 1448
"""TCP payload of a full packet, with timestamps."""
ACK_BYTES = 66
"""Size of an acknowledgement with timestamps and its Ethernet header."""
PLAIN = "pfifo limit 1000"
"""Discipline of a router without a shaper: its ports are too fast to queue packets."""
HOSTS: Mapping[Way, tuple[str, str]] = {
    Way.UP: ("laptop", "server"),
    Way.DOWN: ("server", "laptop"),
}
"""Sender and receiver of each direction."""
LEAST_RATE_BPS, MOST_RATE_BPS = 50_000, 9_000_000_000
LEAST_RTT_NS, MOST_RTT_NS = 10_000, 10_000_000_000


class DisciplineClass(StrEnum):
    """Kinds of disciplines that are distinguishable from outside."""

    FIFO = "FIFO"
    AQM = "AQM"
    FLOW_QUEUEING = "flow queueing"
    POLICER = "policer"
    NOT_IDENTIFIABLE = "not identifiable"


class QueueModel(Enum):
    """A discipline to try, its class, and the meaning of its size."""

    FIFO = ("bfifo", DisciplineClass.FIFO, "bytes", 3_000, 2**30)
    CODEL = ("codel", DisciplineClass.AQM, "ns", 500_000, 500_000_000)
    PIE = ("pie", DisciplineClass.AQM, "ns", 500_000, 500_000_000)
    FQ_CODEL = ("fq_codel", DisciplineClass.FLOW_QUEUEING, "ns", 500_000, 500_000_000)
    POLICER = ("police", DisciplineClass.POLICER, "bytes", 2_000, 2**28)

    def __init__(
        self, word: str, class_: DisciplineClass, unit: str, least: int, most: int
    ) -> None:
        """Set the properties.

        Args:
            word: Name in tc.
            class_: Its class.
            unit: Unit of its size: ``bytes`` for a buffer or burst, ``ns`` for a delay target.
            least: Minimum size tried.
            most: Maximum size tried.
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
        rate_bps: Rate for full packets, bit/s, with Ethernet headers.
        model: The discipline before it.
        size: The buffer or burst in bytes, or the delay target in nanoseconds.
    """

    rate_bps: int
    model: QueueModel
    size: int

    def with_rate(self, rate_bps: float) -> LineEnd:
        """Return the same with another rate, clipped to the allowed range."""
        rate = min(max(round(rate_bps), LEAST_RATE_BPS), MOST_RATE_BPS)
        return replace(self, rate_bps=rate)

    def with_size(self, size: float) -> LineEnd:
        """Return the same with another buffer, burst or target, clipped to the allowed range."""
        return replace(self, size=round(min(max(size, self.model.least), self.model.most)))

    @property
    def buffer_ms(self) -> float:
        """Return the time a full buffer takes to drain; for a policer, burst over rate."""
        if self.model.unit == "ns":
            return self.size / 1e6
        return 8e3 * self.size / self.rate_bps

    @property
    def tc_text(self) -> str:
        """Return the text typed after ``root``; for a policer that after ``action``."""
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
                rate, burst = format_rate(self.rate_bps), format_size(self.size)
                return f"police rate {rate} burst {burst} drop"

    @property
    def table(self) -> dict[str, Any]:
        """Return the end of a link, as in an experiment file."""
        if self.model is QueueModel.POLICER:
            return {"police": self.tc_text}
        return {"rate": format_rate(self.rate_bps), "qdisc": self.tc_text}


def _interval(target_ns: int) -> str:
    """Return CoDel's interval: 100 ms, or twenty targets if larger (RFC 8289, 4.3)."""
    return f"{max(100_000, 20 * target_ns // 1000)}us"


@dataclass(frozen=True, slots=True)
class Line:
    """A line.

    Attributes:
        up: The direction from the home.
        down: The direction to the home.
        rtt_ns: Base round-trip time, nanoseconds.
        router_up: Discipline of the router's port to the modem.
        router_down: Discipline of its port to the laptop, passed by packets to the home.
        technology: Kind of line, if known. Rates remain those for full packets with Ethernet
            headers; smaller packets then take the time that the overhead of the line gives them.
    """

    up: LineEnd
    down: LineEnd
    rtt_ns: int
    router_up: str = PLAIN
    router_down: str = PLAIN
    technology: Technology | None = None

    def end(self, way: Way) -> LineEnd:
        """Return the end of a direction."""
        return self.up if way is Way.UP else self.down

    def with_end(self, way: Way, end: LineEnd) -> Line:
        """Return the same with another end."""
        return replace(self, up=end) if way is Way.UP else replace(self, down=end)

    def with_rtt(self, rtt_ns: float) -> Line:
        """Return the same with another base RTT, clipped to the allowed range."""
        return replace(self, rtt_ns=round(min(max(rtt_ns, LEAST_RTT_NS), MOST_RTT_NS)))

    @property
    def rounded(self) -> Line:
        """Return the same with rates in whole kbit/s, buffer sizes in 100 bytes, delays in us."""
        ends = {}
        for way in Way:
            end = self.end(way)
            step = 100 if end.model.unit == "bytes" else 1_000
            size = step * round(end.size / step)
            ends[way] = LineEnd(1000 * round(end.rate_bps / 1000), end.model, size)
        rtt_ns = 2_000 * round(self.rtt_ns / 2_000)
        return replace(self, up=ends[Way.UP], down=ends[Way.DOWN], rtt_ns=rtt_ns)

    def links(self) -> list[dict[str, Any]]:
        """Return the tables of an experiment file."""
        delay = format_time(self.rtt_ns // 2)
        return [
            {"a": "server", "b": "isp", "delay": delay},
            {"a": "isp", "b": "modem", **self._line_table()},
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

    def modem_rate_bps(self, way: Way) -> int:
        """Return the rate of a direction as a modem of the line's technology shows it."""
        rate_bps = self.end(way).rate_bps
        if self.technology is None:
            return rate_bps
        return round(rate_bps * self.technology.full_packet_bytes / FULL_BYTES)

    def _line_table(self) -> dict[str, Any]:
        kind = self.technology
        if kind is None:
            return {"forward": self.down.table, "reverse": self.up.table}
        forward, reverse = self._framed(kind, Way.DOWN), self._framed(kind, Way.UP)
        # Cells have their overhead in netem; a policer or an AQM does not count cells.
        return {"overhead": f"{kind.overhead_bytes}B", "forward": forward, "reverse": reverse}

    def _framed(self, kind: Technology, way: Way) -> dict[str, Any]:
        """Return an end on which a full packet takes the same time as without overhead."""
        end = self.end(way)
        if kind.framing is Framing.ATM and end.model is QueueModel.FIFO:
            cells = kind.cells_text(self.modem_rate_bps(way), end.size)
            return {"overhead": "ethernet", "qdisc": cells}
        factor = (_FULL_IP_BYTES + kind.overhead_bytes) / FULL_BYTES
        size = end.size * factor if end.model.unit == "bytes" else end.size
        return end.with_rate(end.rate_bps * factor).with_size(size).table
