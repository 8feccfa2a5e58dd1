"""Typed views of the resolved description: links and queues by name, units in the names.

A backend runs the resolved description, and a `Run` stores it. It is a mapping, because it is
passed to the engine and the guest as JSON. The views copy nothing, so reading one of ten thousand
flows costs no more than reading one of two.

>>> from dumbbell.spec import Experiment, Resolved
>>> experiment = Experiment.from_toml('''
... duration = "10s"
... links = [{ a = "client", b = "server", qdisc = "tbf rate 1mbit burst 10kb limit 40kb" }]
... ''')
>>> queue = Resolved(experiment.resolved()).queue("client->server")
>>> queue.qdisc.kind, queue.qdisc.limit_bytes, queue.limit_pkts
('tbf', 40960, None)
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from dumbbell import _engine
from dumbbell.errors import SpecError
from dumbbell.spec.topology import Topology

T = TypeVar("T")

USUAL_KERNEL = "6.1"
"""The default kernel, whose behaviour the simulator models."""


class GuestKind(StrEnum):
    """What reads and writes for flows and probes on the kernel."""

    PROCESS = "process"
    MODULE = "module"


class _Key(Generic[T]):
    """Descriptor for a key of the view's mapping, read as an attribute of the same name."""

    def __init__(self, key: str = "") -> None:
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, view: _View, owner: type) -> T:
        return view.mapping[self.key]  # type: ignore[no-any-return]  # the schema says so


class _KeyOr(Generic[T]):
    """Like `_Key`, with a default for kinds without such a key."""

    def __init__(self, default: T, key: str = "") -> None:
        self.default, self.key = default, key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, view: _View, owner: type) -> T:
        return view.mapping.get(self.key, self.default)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _View:
    """A table of the description.

    Attributes:
        mapping: The JSON object.
    """

    mapping: Mapping[str, Any]


class Law(_View):
    """A distribution of gaps (s) or sizes (bytes).

    Attributes:
        law: Its name, such as ``exponential``; the mapping has its parameters.
    """

    law = _Key[str]()

    def parameter(self, name: str) -> float:
        """A parameter, in its unit."""
        return float(self.mapping[name])


@cache
def _plain_fifos() -> frozenset[str]:
    """Kinds of plain FIFOs in the engine."""
    table = json.loads(_engine.disciplines())
    return frozenset(each["name"] for each in table if each["is_plain_fifo"])


def _least(*rates_bps: int) -> int:
    """The smallest rate; 0 means no limit."""
    return min((rate for rate in rates_bps if rate), default=0)


class Discipline(_View):
    """A queue discipline, with the parameters common to several kinds; None or 0 if this kind lacks
    one.

    Attributes:
        kind: Its name in ``tc``.
        limit_bytes: Limit of disciplines that count bytes.
        limit_pkts: Limit of disciplines that count packets.
        rate_bps: Rate of a token bucket or of ``netem rate``; 0 for none.
        peakrate_bps: Rate of a second token bucket; 0 for none.
        burst_bytes: Depth of the bucket.
        mtu_bytes: Depth of the second bucket.
    """

    kind = _Key[str]()
    limit_bytes = _KeyOr[int | None](None)
    limit_pkts = _KeyOr[int | None](None, "limit_packets")
    rate_bps = _KeyOr[int](0)
    peakrate_bps = _KeyOr[int](0)
    burst_bytes = _KeyOr[int](0)
    mtu_bytes = _KeyOr[int](0)

    @property
    def shaped_bps(self) -> int:
        """Long-term rate to which the discipline shapes, independent of the transmitter.

        The rate of token buckets and ``netem rate``, and the sum of the ceilings of htb's classes
        (tc-htb(8)); for prio the sum over its children. 0 if some packets are not shaped. The
        ``maxrate`` of fq is per flow and does not count.
        """
        return _engine.shaped_bps(json.dumps(self.mapping))

    @property
    def added_delay_ns(self) -> int:
        """Mean delay that it adds to an empty queue: that of netem, also as a child."""
        own: int = self.mapping["delay_ns"] if self.kind == "netem" else 0
        child = self.mapping.get("child")
        return own + (Discipline(child).added_delay_ns if child else 0)

    @property
    def is_plain_fifo(self) -> bool:
        """Whether packets wait only while the transmitter is busy."""
        return self.kind in _plain_fifos()


class Policer(_View):
    """A policer in front of a queue.

    Attributes:
        rate_bps: Token rate.
        burst_bytes: Depth of the bucket.
    """

    rate_bps = _Key[int]()
    burst_bytes = _Key[int]()


class Change(_View):
    """New values of a link end from a given time on; None for an unchanged value.

    Attributes:
        at_ns: Time of the change.
        rate_bps: Rate of the transmitter; 0 for none.
        delay_ns: Propagation delay.
        loss: Loss probability after the queue.
    """

    at_ns = _Key[int]()
    rate_bps = _Key[int | None]()
    delay_ns = _Key[int | None]()
    loss = _Key[float | None]()


@dataclass(frozen=True)
class Queue(_View):
    """One direction of a link: the queue at its sending end, transmitter, loss and delay.

    Attributes:
        index: Of the queue in every table.
        name: ``a->b``, or ``a->b#2`` for a parallel link.
        from_: Sending host.
        to: Host at the other end.
        rate_bps: Rate of the transmitter; 0 for none.
        delay_ns: Propagation delay, after the queue.
        mtu_bytes: MTU, bytes of the IP packet.
        overhead_bytes: Link-layer overhead of a packet.
        loss: Loss probability after the queue.
        loss_every_pkts: One packet in this number is lost after the queue; 0 for none.
        record_packets: Whether its packets are recorded in the table ``packets``.
        capture: Whether its packets are written to the capture file.
        tso: Whether its device sends super-packets without segmentation.
        gro_ns: Time for which the other end collects frames to merge; None without merging.
    """

    index: int
    name: str
    from_: str
    to: str

    rate_bps = _Key[int]()
    delay_ns = _Key[int]()
    mtu_bytes = _Key[int]()
    overhead_bytes = _Key[int]()
    loss = _Key[float]()
    loss_every_pkts = _Key[int]()
    record_packets = _Key[bool]()
    capture = _Key[bool]()
    tso = _KeyOr[bool](False)
    gro_ns = _KeyOr[int | None](None)

    @property
    def qdisc(self) -> Discipline:
        """The queue discipline."""
        return Discipline(self.mapping["qdisc"])

    @property
    def police(self) -> Policer | None:
        """The policer in front of it."""
        found = self.mapping["police"]
        return None if found is None else Policer(found)

    @property
    def changes(self) -> Sequence[Change]:
        """Changes of the link, in order of time."""
        return [Change(each) for each in self.mapping["changes"]]

    @property
    def trace(self) -> Mapping[str, Any] | None:
        """The trace of the link, as resolved; None without one."""
        found: Mapping[str, Any] | None = self.mapping.get("trace")
        return found

    @property
    def served_bps(self) -> int:
        """Service rate: that of transmitter or discipline, whichever is slower; 0 for no limit."""
        return _least(self.rate_bps, self.qdisc.shaped_bps)

    @property
    def passed_bps(self) -> int:
        """Long-term rate limit, policer included; 0 for no limit."""
        return _least(self.served_bps, self.police.rate_bps if self.police else 0)

    @property
    def most_passed_bps(self) -> int:
        """Like `passed_bps`; for a link whose rate changes, the largest value."""
        changed = [each.rate_bps for each in self.changes if each.rate_bps is not None]
        of_link = 0 if 0 in (self.rate_bps, *changed) else max([self.rate_bps, *changed])
        policed = self.police.rate_bps if self.police else 0
        return _least(of_link, self.qdisc.shaped_bps, policed)

    @property
    def limit_bytes(self) -> int | None:
        """The discipline's limit if it is in bytes."""
        return self.qdisc.limit_bytes

    @property
    def limit_pkts(self) -> int | None:
        """The discipline's limit if it is in packets."""
        return self.qdisc.limit_pkts


class Source(_View):
    """The traffic source of a flow.

    Attributes:
        kind: Kind in the experiment file.
        size_at: Whether drawn sizes are those of the ``payload`` or on the ``wire``.
        bytes: Size of a transfer; 0 for other kinds.
        packets: Packets of a burst; 1 for other kinds.
        transfers: Maximum number of transfers; 0 for no limit, and for other kinds.
    """

    kind = _Key[str]()
    size_at = _KeyOr[str]("payload")
    bytes = _KeyOr[int](0)
    packets = _KeyOr[int](1)
    transfers = _KeyOr[int](0)

    @property
    def gap(self) -> Law | None:
        """Distribution of the gap between packets, s; None for kinds without one."""
        return self._law("gap")

    @property
    def size(self) -> Law | None:
        """Distribution of packet sizes, bytes; None for kinds without one."""
        return self._law("size")

    @property
    def oversleep(self) -> Law | None:
        """Distribution of the lateness of each sleep, s; None without lateness."""
        return self._law("oversleep")

    @property
    def trace(self) -> Sequence[tuple[int, int]]:
        """(time in ns since the flow's start, bytes) of each datagram of a replayed trace."""
        times, sizes = (self.mapping.get(key, ()) for key in ("times_ns", "sizes_bytes"))
        return list(zip(times, sizes, strict=True))

    def _law(self, key: str) -> Law | None:
        found = self.mapping.get(key)
        return Law(found) if found else None


class TcpSettings(_View):
    """TCP settings of a flow; see ``tcp`` of a flow in the description.

    Attributes:
        congestion_control: Its name in Linux.
        initial_window_pkts: Initial window, segments.
        min_rto_ns: Minimum retransmission timeout.
        send_buffer_bytes: Size of the socket's send buffer; 0 for autotuning.
        receive_window_bytes: Maximum receive window; 0 for autotuning.
        sack: Whether selective acknowledgements are used (RFC 2018).
        timestamps: Whether timestamps are used (RFC 7323).
        rack: Whether losses are detected by time (RFC 8985).
        ecn: Whether ECN is negotiated (RFC 3168); ``"accurate"`` for RFC 9768.
        hystart: Whether CUBIC may leave slow start early.
        delayed_ack: Whether acknowledgements are delayed (RFC 1122).
        small_queues: Whether TCP small queues limits the data in the host's queue, as in Linux.
    """

    @property
    def cwnd_changes(self) -> Sequence[tuple[int, int]]:
        """(time in ns, window in packets from then on) for the controller ``manual``."""
        changes = self.mapping.get("cwnd_changes", ())
        return [(change["at_ns"], change["cwnd_pkts"]) for change in changes]

    congestion_control = _Key[str]()
    initial_window_pkts = _Key[int]()
    min_rto_ns = _Key[int]()
    send_buffer_bytes = _Key[int]()
    receive_window_bytes = _Key[int]()
    sack = _Key[bool]()
    timestamps = _Key[bool]()
    rack = _Key[bool]()
    ecn = _Key[bool | str]()
    hystart = _Key[bool]()
    delayed_ack = _Key[bool]()
    small_queues = _Key[bool]()


class Sender(_View):
    """Common attributes of flows and probes.

    Attributes:
        name: Name in tables and of its random stream.
        from_: Sending host.
        to: Receiving or answering host.
        start_ns: Start, without jitter.
        start_jitter_ns: Maximum random delay of the start.
        dscp: Differentiated services code point.
    """

    name = _Key[str]()
    from_ = _Key[str]("from")
    to = _Key[str]()
    start_ns = _Key[int]()
    start_jitter_ns = _Key[int]()
    dscp = _Key[int]()


class Flow(Sender):
    """Traffic over UDP or TCP.

    Attributes:
        stop_ns: Stop. transport: ``udp`` or ``tcp``.
        ecn: The ECN field of its packets, over UDP.
    """

    stop_ns = _Key[int]()
    transport = _Key[str]()
    ecn = _Key[str]()

    @property
    def source(self) -> Source:
        """The traffic source."""
        return Source(self.mapping["source"])

    @property
    def tcp(self) -> TcpSettings | None:
        """TCP settings; None for UDP."""
        found = self.mapping["tcp"]
        return None if found is None else TcpSettings(found)


class Probe(Sender):
    """Echo requests.

    Attributes:
        kind: ``ping``, ``udp`` or ``irtt``.
        interval_ns: Time between requests.
        count: Number of requests; 0 for no limit.
        payload_bytes: Payload of a request.
    """

    kind = _Key[str]()
    interval_ns = _Key[int]()
    count = _Key[int]()
    payload_bytes = _Key[int]()


class Resolved(_View):
    """A resolved description.

    Attributes:
        name: Name of the experiment.
        seed: Seed of all random streams.
        duration_ns: Duration of the run.
        warm_up_ns: Warm-up, which statistics exclude.
        sample_interval_ns: Sampling interval; 0 for no sampled tables.
        timer_hz: Timer frequency (``CONFIG_HZ``).
    """

    name = _Key[str]()
    seed = _Key[int]()
    duration_ns = _Key[int]()
    warm_up_ns = _Key[int]()
    sample_interval_ns = _Key[int]()
    timer_hz = _Key[int]()

    @property
    def kernel(self) -> str:
        """Name of the kernel for the kernel backend."""
        name: str = self.mapping.get("kernel", USUAL_KERNEL)
        return name

    @property
    def guest(self) -> GuestKind | None:
        """What reads and writes for flows and probes on the kernel; None: the backend decides."""
        guest = self.mapping.get("guest")
        return None if guest is None else GuestKind(guest)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts."""
        return tuple(host["name"] for host in self.mapping["hosts"])

    @cached_property
    def topology(self) -> Topology:
        """Hosts, queues and routes."""
        return Topology(self.hosts, tuple((link["a"], link["b"]) for link in self._links))

    @cached_property
    def queues(self) -> Sequence[Queue]:
        """Both directions of each link, in the order of every table."""
        return [self._queue(index) for index in range(2 * len(self._links))]

    def queue(self, queue: str | int) -> Queue:
        """A queue by its name, such as ``router->receiver``, or by its index.

        Raises:
            SpecError: There is no such queue.
        """
        return self._queue(_place("queue", queue, self._places_of_queues))

    def flow(self, flow: str | int) -> Flow:
        """A flow by its name or index.

        Raises:
            SpecError: There is no such flow.
        """
        return self.flows[_place("flow", flow, self._places_of_flows)]

    def probe(self, probe: str | int) -> Probe:
        """A probe by its name or index.

        Raises:
            SpecError: There is no such probe.
        """
        return self.probes[_place("probe", probe, self._places_of_probes)]

    @property
    def senders(self) -> Sequence[Sender]:
        """Flows, then probes."""
        return [*self.flows, *self.probes]

    @cached_property
    def flows(self) -> Sequence[Flow]:
        """Traffic, in the order of the description."""
        return [Flow(each) for each in self.mapping["flows"]]

    @cached_property
    def probes(self) -> Sequence[Probe]:
        """Echo requests, in the order of the description."""
        return [Probe(each) for each in self.mapping["probes"]]

    def route(self, start: str, end: str) -> list[Queue]:
        """The queues on the path from one host to another; empty if there is no path."""
        return [self._queue(index) for index in self.topology.route(start, end) or ()]

    def _queue(self, index: int) -> Queue:
        link, is_reverse = self._links[index // 2], index % 2
        from_, to = self.topology.directions[index]
        end = link["reverse" if is_reverse else "forward"]
        return Queue(end, index, self._queue_names[index], from_, to)

    @cached_property
    def _queue_names(self) -> list[str]:
        return self.topology.queue_names

    # Cached, because metrics of thousands of flows look each of them up dozens of times.
    @cached_property
    def _places_of_queues(self) -> Mapping[str, int]:
        return _places(self._queue_names)

    @cached_property
    def _places_of_flows(self) -> Mapping[str, int]:
        return _places(each.name for each in self.flows)

    @cached_property
    def _places_of_probes(self) -> Mapping[str, int]:
        return _places(each.name for each in self.probes)

    @property
    def _links(self) -> Sequence[Mapping[str, Any]]:
        links: Sequence[Mapping[str, Any]] = self.mapping["links"]
        return links


def _places(names: Iterable[str]) -> Mapping[str, int]:
    return {name: place for place, name in enumerate(names)}


def _place(what: str, asked: str | int, places: Mapping[str, int]) -> int:
    """Index of the entry of that name or index."""
    if isinstance(asked, str) and asked in places:
        return places[asked]
    if isinstance(asked, int) and 0 <= asked < len(places):
        return asked
    names = list(places)
    near = difflib.get_close_matches(str(asked), names, n=1)
    allowed = f"one of {', '.join(names[:20])}" if names else f"a {what}; there is none"
    raise SpecError(what, asked, allowed, near[0] if near else None)
