"""Candidate settings of a router, each with the lines that configure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dumbbell.twin.line import PLAIN, Line
from dumbbell.twin.scene import Way

CAKE_SHARES = (0.8, 0.85, 0.9, 0.95, 0.98)
FQ_CODEL_SHARES = (0.85, 0.9, 0.95)
"""Shares of the rate to which a router shapes; OpenWrt's pages recommend 85, 90 or 95 %."""
ACK_FILTER_RATIO = 10
"""On a line at least this many times as fast down as up, cake is also tried with ``ack-filter`` on
the way up, where the acknowledgements of downloads take a part of the rate that matters."""
_BURST_S = 0.001
_LEAST_BURST_BYTES = 1600
_STEP_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A setting of the router.

    Attributes:
        name: Name, such as ``cake at 90 %``.
        qdisc: ``cake`` or ``fq_codel``; empty for no shaping.
        rates_bps: Shaping rates by direction.
        overhead: Keyword of cake for the overhead of the line; empty for none.
        filters_acks: Whether cake filters acknowledgements on the way up.
    """

    name: str
    qdisc: str
    rates_bps: tuple[tuple[Way, int], ...] = ()
    overhead: str = ""
    filters_acks: bool = False

    def on(self, line: Line) -> Line:
        """Return a line with this router."""
        rates = dict(self.rates_bps)
        texts = {
            way: "; ".join(self._parts(way, rates[way])) if way in rates else PLAIN for way in Way
        }
        return replace(line, router_up=texts[Way.UP], router_down=texts[Way.DOWN])

    def _parts(self, way: Way, rate_bps: int) -> list[str]:
        """Return what follows ``tc qdisc replace dev DEVICE`` in each command."""
        rate = f"{rate_bps // 1000}kbit"
        if self.qdisc == "cake":
            return [f"root cake bandwidth {rate} besteffort {self._keywords(way)}".rstrip()]
        burst = max(round(rate_bps * _BURST_S / 8), _LEAST_BURST_BYTES)
        return [
            f"root handle 1: tbf rate {rate} burst {burst}b latency 300ms",
            "parent 1:1 handle 10: fq_codel",
        ]

    def _keywords(self, way: Way) -> str:
        """Return the keywords of cake besides its rate, as ``tc`` and OpenWrt's sqm take them."""
        acks = "ack-filter" if self.filters_acks and way is Way.UP else ""
        return " ".join(word for word in (self.overhead, acks) if word)

    @property
    def tc_lines(self) -> list[str]:
        """Return the commands for a router whose port to the modem is ``$WAN``."""
        rates = dict(self.rates_bps)
        lines = []
        if Way.UP in rates:
            lines += self._tc("$WAN", Way.UP, rates[Way.UP])
        if Way.DOWN in rates:
            lines += [
                "ip link add ifb4wan type ifb; ip link set ifb4wan up",
                "tc qdisc replace dev $WAN handle ffff: ingress",
                "tc filter replace dev $WAN parent ffff: matchall "
                "action mirred egress redirect dev ifb4wan",
                *self._tc("ifb4wan", Way.DOWN, rates[Way.DOWN]),
            ]
        return lines

    def _tc(self, device: str, way: Way, rate_bps: int) -> list[str]:
        return [f"tc qdisc replace dev {device} {part}" for part in self._parts(way, rate_bps)]

    @property
    def sqm_stanza(self) -> str:
        """Return a stanza of ``/etc/config/sqm`` on OpenWrt; kbit/s, 0 disables a direction."""
        if not self.qdisc:
            return ""
        rates = dict(self.rates_bps)
        script = "piece_of_cake.qos" if self.qdisc == "cake" else "simplest_tbf.qos"
        options = {
            "enabled": "1",
            "interface": "wan",
            "download": str(rates.get(Way.DOWN, 0) // 1000),
            "upload": str(rates.get(Way.UP, 0) // 1000),
            "qdisc": self.qdisc,
            "script": script,
            "linklayer": "none",
        }
        if self.overhead or self.filters_acks:
            options |= {
                "qdisc_advanced": "1",
                "qdisc_really_really_advanced": "1",
                "iqdisc_opts": self._keywords(Way.DOWN),
                "eqdisc_opts": self._keywords(Way.UP),
            }
        return "\n".join(
            [
                "config queue 'wan'",
                *(f"\toption {name} '{value}'" for name, value in options.items()),
            ]
        )


def candidates(line: Line, ways: Sequence[Way]) -> Iterator[Candidate]:
    """Return the unchanged line, then cake and fq_codel at shares of the rates.

    On a line of known technology cake is also tried with its overhead. The rates are then shares of
    the rate that the modem shows. On a line that is far slower up than down, and filled both ways,
    cake is also tried with ``ack-filter``.

    Args:
        line: The twin's line.
        ways: Directions that are filled and shaped; others are unchanged.
    """
    yield Candidate("nothing", "")
    for qdisc, shares in (("cake", CAKE_SHARES), ("fq_codel", FQ_CODEL_SHARES)):
        for share in shares:
            rates = tuple((way, _share(line.end(way).rate_bps, share)) for way in ways)
            yield Candidate(f"{qdisc} at {100 * share:.0f} %", qdisc, rates)
    if line.technology is not None:
        keyword = line.technology.cake
        for share in CAKE_SHARES:
            rates = tuple((way, _share(line.modem_rate_bps(way), share)) for way in ways)
            yield Candidate(f"cake {keyword} at {100 * share:.0f} %", "cake", rates, keyword)
    ratio = line.end(Way.DOWN).rate_bps / line.end(Way.UP).rate_bps
    if len(ways) == len(Way) and ratio >= ACK_FILTER_RATIO:
        for share in CAKE_SHARES:
            rates = tuple((way, _share(line.end(way).rate_bps, share)) for way in ways)
            name = f"cake ack-filter at {100 * share:.0f} %"
            yield Candidate(name, "cake", rates, filters_acks=True)


def _share(rate_bps: int, share: float) -> int:
    return max(_STEP_BPS, _STEP_BPS * int(rate_bps * share / _STEP_BPS))
