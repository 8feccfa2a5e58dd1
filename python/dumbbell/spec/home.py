"""A home access line: the table ``[home]`` of an experiment file.

::

    server --- isp ====== modem --- router --- laptop

Between ``isp`` and ``modem`` is the line, with a queue at each end: the provider's on the way down,
the modem's own on the way up. The home network between modem and laptop has 1 Gbit/s.

Sources: tc-cake(8) for the overhead of each kind of line; C. Kreibich et al.,
"Netalyzr: illuminating the edge network", IMC 2010, for the sizes of its queues.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

from pydantic import model_validator

from dumbbell.spec.fields import rate_bps, size_bytes, time_ns
from dumbbell.spec.flows import Flow, Ping
from dumbbell.spec.keys import HOME, key_fields, key_model
from dumbbell.spec.links import Link, LinkEnd
from dumbbell.spec.refusal import Refused
from dumbbell.spec.sources import Greedy
from dumbbell.spec.toml_text import document_text
from dumbbell.units import format_rate, format_size, format_time

_ETHERNET_BYTES = 14
"""Header that Linux counts in a packet's length, besides the IP packet."""
_FULL_BYTES = 1500
_CELL_BYTES, _CELL_HEADER_BYTES = 48, 5
"""Payload and header of a cell (ITU-T I.361)."""
_USUAL_QDISC = "fq_codel"
"""Discipline of a router that does not shape (OpenWrt's default)."""
COMPARED_SHARE = 0.9
"""Share of the rate in the comparison that a file of a home names."""


class Framing(enum.Enum):
    """Framing of packets on a line."""

    PLAIN = "plain"
    ATM = "atm"
    PTM = "ptm"


class Technology(enum.Enum):
    """A kind of line, with cake's keyword, its overhead and its framing."""

    ADSL_PPPOE = ("adsl-pppoe", "pppoe-llcsnap", 40, Framing.ATM)
    ADSL_PPPOA = ("adsl-pppoa", "pppoa-vcmux", 10, Framing.ATM)
    ADSL_BRIDGED = ("adsl-bridged", "bridged-llcsnap", 32, Framing.ATM)
    VDSL_PPPOE = ("vdsl-pppoe", "pppoe-ptm", 30, Framing.PTM)
    VDSL_BRIDGED = ("vdsl-bridged", "bridged-ptm", 22, Framing.PTM)
    CABLE = ("cable", "docsis", 18, Framing.PLAIN)
    ETHERNET = ("ethernet", "ethernet", 38, Framing.PLAIN)

    def __init__(self, word: str, cake: str, overhead_bytes: int, framing: Framing) -> None:
        """Name the parts.

        Args:
            word: Name in a file.
            cake: Keyword of tc-cake(8).
            overhead_bytes: Overhead per IP packet, without ATM cells.
            framing: Framing of the line.
        """
        self.word = word
        self.cake = cake
        self.overhead_bytes = overhead_bytes
        self.framing = framing

    @classmethod
    def of(cls, word: str) -> Technology:
        """Return the technology of a name that was checked."""
        return next(each for each in cls if each.word == word)

    @property
    def full_packet_bytes(self) -> float:
        """Bytes on the line of an IP packet of 1500 bytes."""
        size_bytes = _FULL_BYTES + self.overhead_bytes
        match self.framing:
            case Framing.ATM:
                cells = -(-size_bytes // _CELL_BYTES)
                return float(cells * (_CELL_BYTES + _CELL_HEADER_BYTES))
            case Framing.PTM:
                return size_bytes * 65 / 64
            case Framing.PLAIN:
                return float(size_bytes)

    def cells_text(self, rate_bps: int, buffer_bytes: int) -> str:
        """A netem that transmits by ATM cells; its limit is in packets of 1500 bytes."""
        overhead = self.overhead_bytes - _ETHERNET_BYTES
        packets = max(2, buffer_bytes // _FULL_BYTES)
        cells = f"{overhead} {_CELL_BYTES} {_CELL_HEADER_BYTES}"
        return f"netem limit {packets} rate {format_rate(rate_bps)} {cells}"


if TYPE_CHECKING:
    from dumbbell.spec.key_models import HomeKeys
else:
    _BUFFERS = ("down_buffer", "up_buffer")
    _BUFFER = format_size(HOME["up_buffer"].default)
    HomeKeys = key_model(
        "HomeKeys", __name__, key_fields(HOME, dict.fromkeys(_BUFFERS, (None, _BUFFER)))
    )


class Home(HomeKeys):
    """A home access line and the traffic of the home.

    It resolves to links between ``server``, ``isp``, ``modem``, ``router`` and ``laptop``, to flows
    ``download-1`` to ``download-4`` and ``backup-1``, and to probes ``call`` and ``game``.
    """

    @model_validator(mode="after")
    def _check_router(self) -> Self:
        for key in ("router_up", "router_down"):
            if self.cake is not None and getattr(self, key) is not None:
                raise Refused(getattr(self, key), f"either cake or {key}", path=key)
        return self

    @property
    def kind(self) -> Technology:
        """Its technology."""
        return Technology.of(self.technology)

    def cake_text(self, share: float, rate_bps: int) -> str:
        """The cake command that shapes to a share of a rate, with the overhead of this line."""
        return f"cake bandwidth {format_rate(round(share * rate_bps))} {self.kind.cake}"

    def links(self) -> list[Link]:
        """The links, from the server to the laptop."""
        one_way = format_time(time_ns(self.rtt) // 2)
        up, down = (
            given or self._usual_qdisc(rate)
            for given, rate in ((self.router_up, self.up), (self.router_down, self.down))
        )
        return [
            Link(a="server", b="isp", delay=one_way),
            self._line(),
            # Forward is up, to the modem.
            Link(a="router", b="modem", rate="1gbit", forward=LinkEnd(qdisc=up)),
            # A real router shapes packets to the home by an `ifb` at its port to the modem.
            Link(a="router", b="laptop", rate="1gbit", forward=LinkEnd(qdisc=down)),
        ]

    def _usual_qdisc(self, rate: str) -> str:
        return _USUAL_QDISC if self.cake is None else self.cake_text(self.cake, rate_bps(rate))

    def _line(self) -> Link:
        """The line; forward is down, to the home."""
        is_atm = self.kind.framing is Framing.ATM
        overhead = {} if is_atm else {"overhead": f"{self.kind.overhead_bytes}B"}
        down_bps = rate_bps(self.down)
        if self.provider == "policer":
            burst_bytes = max(down_bps * time_ns(self.rtt) // (8 * 10**9), 2 * _FULL_BYTES)
            rate, burst = format_rate(down_bps), format_size(burst_bytes)
            forward = LinkEnd(police=f"police rate {rate} burst {burst} drop")
        else:
            forward = self._end(down_bps, size_bytes(self.down_buffer))
        reverse = self._end(rate_bps(self.up), size_bytes(self.up_buffer))
        return Link(a="isp", b="modem", forward=forward, reverse=reverse, **overhead)

    def _end(self, bps: int, buffer_bytes: int) -> LinkEnd:
        """The transmitter of an end of the line and its queue."""
        match self.kind.framing:
            case Framing.ATM:
                return LinkEnd(qdisc=self.kind.cells_text(bps, buffer_bytes))
            case Framing.PTM:
                # 64 of 65 bytes carry packets (IEEE 802.3 clause 61.3.3).
                bps = bps * 64 // 65
            case Framing.PLAIN:
                pass
        return LinkEnd(rate=format_rate(bps), qdisc=f"bfifo limit {format_size(buffer_bytes)}")

    def flows(self) -> list[Flow]:
        """The flows of its uses."""
        known = {
            "download": _greedy("download", "server", "laptop", count=4),
            "backup": _greedy("backup", "laptop", "server", count=1),
        }
        return [flow for use, flow in known.items() if use in self.uses]

    def probes(self) -> list[Ping]:
        """The probes of its uses."""
        known = {
            # G.711 in packets of 20 ms: 160 bytes of sound and 12 of RTP (RFC 3551, RFC 3550).
            "call": _probe("call", interval="20ms", payload="172B"),
            "game": _probe("game", interval="33ms", payload="60B"),
        }
        return [probe for use, probe in known.items() if use in self.uses]


def home_text(home: Home) -> str:
    """An experiment file for a home access line, with every key that has a value.

    Args:
        home: The line.
    """
    document: dict[str, Any] = {
        "name": "home",
        "duration": "60s",
        "warm_up": "5s",
        "sample_interval": "100ms",
    }
    values = {name: getattr(home, name) for name in HOME}
    table = {name: value for name, value in values.items() if value is not None}
    return "\n".join([*_head(home), document_text(document), "[home]", document_text(table)])


def _head(home: Home) -> Iterator[str]:
    rates = f"{_mbit(home.down)} down, {_mbit(home.up)} up"
    yield f"# A home's line: {rates}, {home.technology}, a round trip of {home.rtt}."
    yield "#"
    yield "#     dumbbell run home.toml"
    if home.cake is None:
        cake = home.cake_text(COMPARED_SHARE, rate_bps(home.up))
        yield "#"
        yield "# Compared with cake on the way up, at nine tenths of the rate:"
        yield "#"
        yield f"#     dumbbell run home.toml --set='home.router_up={{{_USUAL_QDISC},{cake}}}'"


def _greedy(name: str, source: str, sink: str, count: int) -> Flow:
    return Flow(name=name, count=count, from_=source, to=sink, start_jitter="1s", source=Greedy())


def _probe(name: str, interval: str, payload: str) -> Ping:
    return Ping(
        name=name, kind="udp", from_="laptop", to="server", interval=interval, payload=payload
    )


def _mbit(rate: str) -> str:
    return f"{rate_bps(rate) / 1e6:g} Mbit/s"
