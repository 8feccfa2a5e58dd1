"""A home access line as an experiment file.

::

    server --- isp ====== modem --- router --- laptop

Between ``isp`` and ``modem`` is the line, with a queue at each end: the provider's on the way down,
the modem's own on the way up. The home network between modem and laptop has 1 Gbit/s.

Sources: tc-cake(8) for the overhead of each kind of line; C. Kreibich et al.,
"Netalyzr: illuminating the edge network", IMC 2010, for the sizes of its queues.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dumbbell.errors import SpecError
from dumbbell.spec.refusal import one_of
from dumbbell.units import format_rate, format_size, format_time

_ETHERNET_BYTES = 14
"""Header that Linux counts in a packet's length, besides the IP packet."""
_FULL_BYTES = 1500
_CELL_BYTES, _CELL_HEADER_BYTES = 48, 5
"""Payload and header of a cell (ITU-T I.361)."""
DEFAULT_BUFFER_BYTES = 256 * 1024
"""Default buffer of both queues of the line: one of the most common sizes found by Netalyzr."""


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
            word: Name on the command line.
            cake: Keyword of tc-cake(8).
            overhead_bytes: Overhead per IP packet, without ATM cells.
            framing: Framing of the line.
        """
        self.word = word
        self.cake = cake
        self.overhead_bytes = overhead_bytes
        self.framing = framing


class Provider(enum.Enum):
    """How the provider limits the rate to the home."""

    SHAPER = "shaper"
    POLICER = "policer"


class Use(enum.Enum):
    """An application in the home."""

    CALL = "call"
    GAME = "game"
    DOWNLOAD = "download"
    BACKUP = "backup"


@dataclass(frozen=True, slots=True)
class HomeLine:
    """Parameters of a home access line.

    Attributes:
        down_bps: Downlink rate as the modem shows it, bit/s, above 0.
        up_bps: Uplink rate, bit/s, above 0.
        rtt_ns: Round-trip propagation delay to the server, nanoseconds.
        technology: Kind of line.
        provider: Whether the provider shapes or polices to `down_bps`; a policer's bucket holds the
            bytes of one round trip.
        down_buffer_bytes: Queue limit at the provider.
        up_buffer_bytes: Queue limit at the modem.
        uses: Simultaneous applications.
        shaped: Share of both rates, above 0 and at most 1, to which cake at the router shapes; None
            for fq_codel there, which does not shape.
    """

    down_bps: int
    up_bps: int
    rtt_ns: int
    technology: Technology
    provider: Provider = Provider.SHAPER
    down_buffer_bytes: int = DEFAULT_BUFFER_BYTES
    up_buffer_bytes: int = DEFAULT_BUFFER_BYTES
    uses: Sequence[Use] = (Use.CALL, Use.DOWNLOAD, Use.BACKUP)
    shaped: float | None = None

    def __post_init__(self) -> None:
        """Refuse invalid values.

        Raises:
            SpecError: A value is out of range; the path is the option's.
        """
        for option, rate_bps in (("--down", self.down_bps), ("--up", self.up_bps)):
            if not 8_000 <= rate_bps <= 1_000_000_000:
                raise SpecError(option, format_rate(rate_bps), "from 8kbit to 1gbit")
        if not 100_000 <= self.rtt_ns <= 10_000_000_000:
            raise SpecError("--rtt", format_time(self.rtt_ns), "from 100us to 10s")
        for option, size in (("--down", self.down_buffer_bytes), ("--up", self.up_buffer_bytes)):
            if not 2 * _FULL_BYTES <= size <= 2**30:
                raise SpecError(f"{option}-buffer", format_size(size), "from 3000b to 1gb")
        if self.shaped is not None and not 0 < self.shaped <= 1:
            raise SpecError("--cake", f"{self.shaped:g}", "a share above 0 and at most 1")
        if not self.uses:
            raise SpecError("--use", "nothing", one_of([each.value for each in Use]))

    @property
    def is_policed(self) -> bool:
        """Whether the provider polices the downlink instead of shaping it."""
        return self.provider is Provider.POLICER

    def cake(self, share: float, rate_bps: int) -> str:
        """The cake command that shapes to a share of a rate, with the overhead of this line."""
        return f"cake bandwidth {format_rate(round(share * rate_bps))} {self.technology.cake}"


def home_text(line: HomeLine) -> str:
    """An experiment in TOML for a home access line.

    Args:
        line: Parameters of the line.
    """
    return "\n".join([*_head(line), *_links(line), *_traffic(line), ""])


def _head(line: HomeLine) -> Iterator[str]:
    rates = f"{_mbit(line.down_bps)} down, {_mbit(line.up_bps)} up"
    rtt = format_time(line.rtt_ns)
    yield f"# A home's line: {rates}, {line.technology.word}, a round trip of {rtt}."
    yield "#"
    yield "#     dumbbell run home.toml"
    if line.shaped is None:
        where = "links[router->modem].forward.qdisc"
        cake = line.cake(0.9, line.up_bps)
        yield "#"
        yield "# Compared with cake on the way up, at nine tenths of the rate:"
        yield "#"
        yield f"#     dumbbell run home.toml --set='{where}={{fq_codel,{cake}}}'"
    yield 'name = "home"'
    yield 'duration = "60s"'
    yield 'warm_up = "5s"'
    yield 'sample_interval = "100ms"'


def _links(line: HomeLine) -> Iterator[str]:
    yield ""
    yield "[[links]]"
    yield 'a = "server"'
    yield 'b = "isp"'
    yield f'delay = "{format_time(line.rtt_ns // 2)}"'
    yield ""
    yield "# The line: forward is down, to the home."
    yield "[[links]]"
    yield 'a = "isp"'
    yield 'b = "modem"'
    if line.technology.framing is not Framing.ATM:
        yield f'overhead = "{line.technology.overhead_bytes}B"'
    if line.is_policed:
        burst_bytes = max(line.down_bps * line.rtt_ns // (8 * 10**9), 2 * _FULL_BYTES)
        police = f"police rate {format_rate(line.down_bps)} burst {format_size(burst_bytes)} drop"
        yield f'forward = {{ police = "{police}" }}'
    else:
        yield f"forward = {_end(line, line.down_bps, line.down_buffer_bytes)}"
    yield f"reverse = {_end(line, line.up_bps, line.up_buffer_bytes)}"
    yield ""
    yield "# Forward is up, to the modem."
    up, down = "fq_codel", "fq_codel"
    if line.shaped is not None:
        up, down = line.cake(line.shaped, line.up_bps), line.cake(line.shaped, line.down_bps)
    yield "[[links]]"
    yield 'a = "router"'
    yield 'b = "modem"'
    yield 'rate = "1gbit"'
    yield f'forward = {{ qdisc = "{up}" }}'
    yield ""
    yield "[[links]]"
    yield 'a = "router"'
    yield 'b = "laptop"'
    yield 'rate = "1gbit"'
    yield f'forward = {{ qdisc = "{down}" }}'


def _end(line: HomeLine, rate_bps: int, buffer_bytes: int) -> str:
    """The transmitter of an end of the line and its queue."""
    kind = line.technology
    match kind.framing:
        case Framing.ATM:
            # Only netem counts ATM cells; its limit is in packets.
            overhead = kind.overhead_bytes - _ETHERNET_BYTES
            packets = max(2, buffer_bytes // _FULL_BYTES)
            cells = f"{format_rate(rate_bps)} {overhead} {_CELL_BYTES} {_CELL_HEADER_BYTES}"
            return f'{{ qdisc = "netem limit {packets} rate {cells}" }}'
        case Framing.PTM:
            # 64 of 65 bytes carry packets (IEEE 802.3 clause 61.3.3).
            rate_bps = rate_bps * 64 // 65
        case Framing.PLAIN:
            pass
    return (
        f'{{ rate = "{format_rate(rate_bps)}", qdisc = "bfifo limit {format_size(buffer_bytes)}" }}'
    )


def _traffic(line: HomeLine) -> Iterator[str]:
    if Use.DOWNLOAD in line.uses:
        yield from _flow("download", "server", "laptop", count=4)
    if Use.BACKUP in line.uses:
        yield from _flow("backup", "laptop", "server", count=1)
    if Use.CALL in line.uses:
        # G.711 in packets of 20 ms: 160 bytes of sound and 12 of RTP (RFC 3551, RFC 3550).
        yield from _probe("call", interval="20ms", payload="172B")
    if Use.GAME in line.uses:
        yield from _probe("game", interval="33ms", payload="60B")


def _flow(name: str, source: str, sink: str, count: int) -> Iterator[str]:
    yield ""
    yield "[[flows]]"
    yield f'name = "{name}"'
    yield f"count = {count}"
    yield f'from = "{source}"'
    yield f'to = "{sink}"'
    yield 'start_jitter = "1s"'
    yield 'source = { kind = "greedy" }'


def _probe(name: str, interval: str, payload: str) -> Iterator[str]:
    yield ""
    yield "[[probes]]"
    yield f'name = "{name}"'
    yield 'kind = "udp"'
    yield 'from = "laptop"'
    yield 'to = "server"'
    yield f'interval = "{interval}"'
    yield f'payload = "{payload}"'


def _mbit(rate_bps: int) -> str:
    return f"{rate_bps / 1e6:g} Mbit/s"
