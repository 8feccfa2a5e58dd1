"""The default network of a Flent test.

    client -- access link -- router == bottleneck == gateway -- server, or servers
    client -- access link -- router == bottleneck == server                         gateway=False

Both directions of the bottleneck have a rate and a queue: uploads queue at the router, downloads at
the gateway, or without a gateway at the server. A queue at the sender itself stays short, because
of TCP small queues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from dumbbell import units
from dumbbell.errors import SpecError
from dumbbell.spec.fields import time_ns
from dumbbell.spec.links import Link

CLIENT = "client"
ROUTER = "router"
GATEWAY = "gateway"


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Client, router, gateway and servers; quantities are text with units, as in a file.

    Attributes:
        rate: Rate of the bottleneck for uploads.
        rate_down: Rate for downloads; `rate` if None.
        qdisc: Discipline for uploads, at the router's side of the bottleneck.
        qdisc_down: Discipline for downloads, at the other side; `qdisc` if None.
        rtts: Propagation round trips; one for all servers, or one for each.
        access_rate: Rate of the client's link, both ways.
        access_qdisc: Discipline at both ends of the client's link.
        gateway: Whether there is a gateway between the bottleneck and a single host.
        overhead: Overhead of every link: ``ethernet`` (14 bytes, as Linux counts) or ``wire`` (38
            bytes, on an Ethernet cable).
    """

    rate: str = "100mbit"
    rate_down: str | None = None
    qdisc: str = "pfifo limit 1000"
    qdisc_down: str | None = None
    rtts: Sequence[str] = ("1ms",)
    access_rate: str = "1gbit"
    access_qdisc: str = "pfifo limit 1000"
    gateway: bool = True
    overhead: str = "ethernet"

    @classmethod
    def of(cls, links: Sequence[Link], hosts: Sequence[str]) -> Self | None:
        """The network whose links these are; None where they are none of its kind.

        Args:
            links: As a resolved description has them: each direction with all its values.
            hosts: The servers.
        """
        if len(links) < 2:
            return None
        access, bottleneck, *behind = (link.forward for link in links)
        back = links[1].reverse
        rtts = [_twice(end.delay) for end in behind or [bottleneck]]
        try:
            network = cls(
                rate=bottleneck.rate or "",
                rate_down=None if back.rate == bottleneck.rate else back.rate,
                qdisc=bottleneck.qdisc or "",
                qdisc_down=None if back.qdisc == bottleneck.qdisc else back.qdisc,
                rtts=[rtts[0]] if len(set(rtts)) == 1 else rtts,
                access_rate=access.rate or "",
                access_qdisc=access.qdisc or "",
                gateway=bool(behind),
                overhead=bottleneck.overhead or "",
            )
            again = network.links(hosts)
        except SpecError:
            return None
        is_same = [link.resolved() for link in again] == [link.resolved() for link in links]
        return network if is_same else None

    def links(self, hosts: Sequence[str]) -> list[Link]:
        """The links to these servers; the client's first, then the bottleneck.

        Raises:
            SpecError: A value is not allowed, or there are not as many round trips as hosts.
        """
        servers = list(dict.fromkeys(hosts))
        if {CLIENT, ROUTER, GATEWAY} & set(servers):
            taken = next(host for host in servers if host in (CLIENT, ROUTER, GATEWAY))
            raise SpecError("host", taken, f"a name other than {CLIENT}, {ROUTER} and {GATEWAY}")
        if len(self.rtts) not in (1, len(servers)):
            allowed = f"one round trip, or {len(servers)}: one for each host"
            raise SpecError("rtt", ", ".join(self.rtts) or "nothing", allowed)
        rtts = list(self.rtts) * len(servers) if len(self.rtts) == 1 else list(self.rtts)
        access = Link(
            a=CLIENT,
            b=ROUTER,
            rate=self.access_rate,
            qdisc=self.access_qdisc,
            overhead=self.overhead,
        )
        if len(servers) == 1 and not self.gateway:
            return [access, self._bottleneck(servers[0], _half(rtts[0]))]
        behind = [
            Link(a=GATEWAY, b=server, delay=_half(rtt), overhead=self.overhead)
            for server, rtt in zip(servers, rtts, strict=True)
        ]
        return [access, self._bottleneck(GATEWAY, "0s"), *behind]

    def _bottleneck(self, far: str, delay: str) -> Link:
        down = {"rate": self.rate_down or self.rate, "qdisc": self.qdisc_down or self.qdisc}
        return Link(
            a=ROUTER,
            b=far,
            rate=self.rate,
            qdisc=self.qdisc,
            delay=delay,
            overhead=self.overhead,
            reverse=down,
        )


def check_host(name: str) -> None:
    """Refuse what cannot be a host's name.

    Raises:
        SpecError: It cannot.
    """
    try:
        Link(a=name, b=ROUTER if name != ROUTER else CLIENT)
    except SpecError as error:
        raise SpecError("host", name, error.allowed) from None


def _twice(delay: str | None) -> str:
    return units.format_time(2 * time_ns(delay or "0s"))


def _half(rtt: str) -> str:
    """Half of a checked round trip; whole nanoseconds."""
    checked = Link(a="a", b="b", delay=rtt).delay
    return f"{time_ns(checked) // 2}ns"
