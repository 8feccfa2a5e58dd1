"""The simulated topology: hosts, links, and the queue at both ends of every link, as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Queue

_NS_PER_S = 1e9
_MOST_NAMES = 3


class Resolvable(Protocol):
    """An experiment: any object that resolves to the canonical description."""

    def resolved(self) -> Mapping[str, Any]:
        """The description with every default filled in."""
        ...


@dataclass(frozen=True, slots=True)
class TcWords:
    """Formatting of numbers and queues in tc syntax.

    Attributes:
        rate: bit/s to text, ``1mbit``.
        time: ns to text, ``200ms``.
        qdisc: Canonical JSON of a qdisc to a tc command line.
    """

    rate: Callable[[int], str]
    time: Callable[[int], str]
    qdisc: Callable[[str], str]

    @classmethod
    def of_tc(cls) -> TcWords:
        """Return the grammar of the native module, which also parses it."""
        from dumbbell import _engine

        return cls(_engine.format_rate, _engine.format_time, _engine.render_qdisc)


@dataclass(frozen=True, slots=True)
class Hop:
    """One direction of a link and the queue that feeds it.

    Attributes:
        sender: Host whose egress this is.
        receiver: Host at the other end.
        rate: Such as ``1mbit``, or ``inf`` when the link itself does not shape.
        delay: One-way propagation delay, such as ``5ms``.
        qdisc: tc syntax, such as ``netem rate 1mbit limit 1000``.
        service: The finite rate, of the link or of the qdisc, that makes packets queue here; empty
            when neither has one.
        details: Further non-default settings: MTU, overhead, loss, changes.
    """

    sender: str
    receiver: str
    rate: str
    delay: str
    qdisc: str
    service: str = ""
    details: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the queue's name without the number of a parallel link: ``router→receiver-1``."""
        return f"{self.sender}→{self.receiver}"

    @property
    def shaped(self) -> bool:
        """Whether a finite rate can make packets queue here."""
        return bool(self.service)

    @property
    def text(self) -> tuple[str, ...]:
        """Return everything but the hosts: equal for hops that differ in nothing else."""
        return (self.rate, self.delay, self.qdisc, *self.details)


@dataclass(frozen=True, slots=True)
class Link:
    """A link and its two directions; ``forward`` is from ``a`` to ``b``."""

    a: str
    b: str
    forward: Hop
    reverse: Hop


@dataclass(frozen=True, slots=True)
class Topology:
    """Hosts and links of one arm of a study.

    Attributes:
        label: Name of the arm, such as ``SM: one queue of 1 Mbit/s``.
        hosts: In the order of the description.
        links: In the order of the description.
        traffic: (from, to) of every flow and probe; determines which hosts are drawn on the left.
    """

    label: str
    hosts: tuple[str, ...]
    links: tuple[Link, ...]
    traffic: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, label: str, experiment: Resolvable, text: TcWords | None = None) -> Topology:
        """Read the topology of an experiment.

        Args:
            label: Name of the arm.
            experiment: Anything with ``resolved()``.
            text: Formatting; the native module's tc grammar when None.
        """
        return cls.from_resolved(label, experiment.resolved(), text)

    @classmethod
    def from_resolved(
        cls, label: str, resolved: Mapping[str, Any], text: TcWords | None = None
    ) -> Topology:
        """Read the topology of a resolved description (see :meth:`of`)."""
        text = text or TcWords.of_tc()
        described = Resolved(resolved)
        hops = [_hop(queue, text) for queue in described.queues]
        links = tuple(
            Link(forward.sender, forward.receiver, forward, reverse)
            for forward, reverse in zip(hops[::2], hops[1::2], strict=True)
        )
        pairs = [(sender.from_, sender.to) for sender in described.senders]
        return cls(label, described.hosts, links, tuple(dict.fromkeys(pairs)))


@dataclass(frozen=True, slots=True)
class HopRow:
    """Hops that differ only in the name of one end, as one row of the hop table."""

    sender: str
    receiver: str
    count: int
    hop: Hop


def hop_rows(topology: Topology) -> list[HopRow]:
    """Return the queues of every hop in both directions, hops where packets queue first.

    Hops between one host and several of one family (``sender-1``, ``sender-2``, ...) that
    differ in nothing else share a row.
    """
    hops = [hop for link in topology.links for hop in (link.forward, link.reverse)]
    hops.sort(key=lambda hop: not hop.shaped)
    families: dict[tuple[str, ...], list[Hop]] = {}
    for hop in hops:
        for key in _family_keys(hop):
            families.setdefault(key, []).append(hop)
    rows: list[HopRow] = []
    done: set[int] = set()
    for hop in hops:
        if id(hop) not in done:
            fan_in, fan_out = (
                [h for h in families[key] if id(h) not in done] for key in _family_keys(hop)
            )
            alike = max(fan_in, fan_out, key=len)
            done.update(map(id, alike))
            senders, receivers = [h.sender for h in alike], [h.receiver for h in alike]
            rows.append(HopRow(_names(senders), _names(receivers), len(alike), hop))
    return rows


def _family_keys(hop: Hop) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the keys by which hops from, and hops to, one family of hosts are grouped."""
    return (
        ("in", hop.receiver, _family(hop.sender), *hop.text),
        ("out", hop.sender, _family(hop.receiver), *hop.text),
    )


def _family(host: str) -> str:
    return re.sub(r"[\d.]+$", "", host)


def _names(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    if len(different) <= _MOST_NAMES:
        return ", ".join(different)
    return f"{different[0]} … {different[-1]}"


def _hop(queue: Queue, text: TcWords) -> Hop:
    return Hop(
        sender=queue.from_,
        receiver=queue.to,
        rate=text.rate(queue.rate_bps) if queue.rate_bps else "inf",
        delay=text.time(queue.delay_ns),
        qdisc=text.qdisc(json.dumps(queue.qdisc.mapping)),
        service=text.rate(queue.served_bps) if queue.served_bps else "",
        details=_details(queue, text),
    )


def _details(queue: Queue, text: TcWords) -> tuple[str, ...]:
    details = [
        f"MTU\u00a0{queue.mtu_bytes}\u00a0B",
        f"overhead\u00a0{queue.overhead_bytes}\u00a0B",
    ]
    if queue.loss:
        details.append(f"loss {100 * queue.loss:g} %")
    if queue.loss_every_pkts:
        details.append(f"one packet in {queue.loss_every_pkts} lost")
    if queue.tso:
        details.append("TSO on")
    if queue.gro_ns is not None:
        details.append(f"GRO every {text.time(queue.gro_ns)}" if queue.gro_ns else "GRO on")
    times = [change.at_ns / _NS_PER_S for change in queue.changes]
    if times:
        if len(times) == 1:
            details.append(f"changes at {times[0]:g} s")
        else:
            details.append(f"{len(times)} changes from {times[0]:g} s to {times[-1]:g} s")
    return tuple(details)
