"""The resolved description, read with types: links and queues by name, units in the names.

The resolved description is what a backend runs and what a `Run` keeps: a mapping, since it crosses
into the engine and the kernel as JSON. These are views of it: they copy nothing, so that one of ten
thousand flows costs no more to read than one of two.

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
from functools import cache, cached_property
from typing import Any, Generic, TypeVar

from dumbbell import _engine
from dumbbell.errors import SpecError
from dumbbell.spec.topology import Topology

T = TypeVar("T")

USUAL_KERNEL = "6.1"
"""The kernel of a description that names none: what the simulator models too."""
USUAL_GUEST = "process"
"""What reads and writes for flows over TCP there, where a description does not say."""


class _Key(Generic[T]):
    """A key of the view's mapping, read as an attribute of the same name."""

    def __init__(self, key: str = "") -> None:
        self.key = key

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = self.key or name

    def __get__(self, view: _View, owner: type) -> T:
        return view.mapping[self.key]  # type: ignore[no-any-return]  # the schema says so


class _KeyOr(Generic[T]):
    """As `_Key`, where some kinds have no such key."""

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
        mapping: As the JSON has it.
    """

    mapping: Mapping[str, Any]


class Law(_View):
    """A law of gaps (s) or sizes (bytes).

    Attributes:
        law: Its name, such as ``exponential``; its parameters are those of the mapping.
    """

    law = _Key[str]()

    def parameter(self, name: str) -> float:
        """One of its parameters, in its own unit."""
        return float(self.mapping[name])


@cache
def _plain_fifos() -> frozenset[str]:
    """As the engine has them."""
    table = json.loads(_engine.disciplines())
    return frozenset(each["name"] for each in table if each["is_plain_fifo"])


def _least(*rates_bps: int) -> int:
    """Of rates of which 0 is no limit."""
    return min((rate for rate in rates_bps if rate), default=0)


class Discipline(_View):
    """A queue discipline, with what several kinds have; None or 0 where this one has no such.

    Attributes:
        kind: As ``tc`` calls it.
        limit_bytes: Most that it holds, of those that count bytes.
        limit_pkts: Of those that count packets.
        rate_bps: Of a token bucket or of ``netem rate``; 0 for none.
        peakrate_bps: Of a second token bucket; 0 for none.
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
        """Rate that packets leave at over a long time, however fast the transmitter is.

        Of token buckets, ``netem rate`` and what htb's classes may reach (their ceilings,
        tc-htb(8)); the children of a prio together. 0 where some packets are held to no rate. The
        ``maxrate`` of fq is of each flow, and counts for none.
        """
        return _engine.shaped_bps(json.dumps(self.mapping))

    @property
    def added_delay_ns(self) -> int:
        """Mean delay that it adds however short its queue is: netem's, as a child too."""
        own: int = self.mapping["delay_ns"] if self.kind == "netem" else 0
        child = self.mapping.get("child")
        return own + (Discipline(child).added_delay_ns if child else 0)

    @property
    def is_plain_fifo(self) -> bool:
        """Whether it only holds packets back while the transmitter is busy."""
        return self.kind in _plain_fifos()


class Policer(_View):
    """A policer in front of a queue.

    Attributes:
        rate_bps: Of its tokens.
        burst_bytes: Depth of its bucket.
    """

    rate_bps = _Key[int]()
    burst_bytes = _Key[int]()


class Change(_View):
    """New values of a link end from an instant on; None for one that stays.

    Attributes:
        at_ns: The instant.
        rate_bps: Rate of the transmitter; 0 for none.
        delay_ns: Propagation delay.
        loss: Probability of a loss behind the queue.
    """

    at_ns = _Key[int]()
    rate_bps = _Key[int | None]()
    delay_ns = _Key[int | None]()
    loss = _Key[float | None]()


@dataclass(frozen=True)
class Queue(_View):
    """One direction of a link: the queue at its sending end, and what comes behind it.

    Attributes:
        index: Of the queue in every table.
        name: ``a->b``, or ``a->b#2`` for a parallel link.
        from_: Host that sends.
        to: Host at the other end.
        rate_bps: Of the transmitter; 0 for none.
        delay_ns: Propagation, after the queue.
        mtu_bytes: Largest IP packet.
        overhead_bytes: What a packet carries here besides.
        loss: Probability of a loss after the queue.
        loss_every_pkts: One packet in this number is lost there; 0 for none.
        record_packets: Whether the table ``packets`` has what passes.
        capture: Whether the capture file has.
        tso: Whether its device sends super-packets uncut.
        gro_ns: How long the other end gathers frames to merge them; None: it does not merge.
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
        """New values, in order of time."""
        return [Change(each) for each in self.mapping["changes"]]

    @property
    def trace(self) -> Mapping[str, Any] | None:
        """How it varies over the run, as resolved; None where it does not."""
        found: Mapping[str, Any] | None = self.mapping.get("trace")
        return found

    @property
    def served_bps(self) -> int:
        """Rate at which it is served: of transmitter or discipline, the slower; 0 for no limit."""
        return _least(self.rate_bps, self.qdisc.shaped_bps)

    @property
    def passed_bps(self) -> int:
        """The most that passes here over a long time, its policer asked too; 0 for no limit."""
        return _least(self.served_bps, self.police.rate_bps if self.police else 0)

    @property
    def most_passed_bps(self) -> int:
        """As `passed_bps`; of a link whose rate changes, with the greatest that it has."""
        changed = [each.rate_bps for each in self.changes if each.rate_bps is not None]
        of_link = 0 if 0 in (self.rate_bps, *changed) else max([self.rate_bps, *changed])
        policed = self.police.rate_bps if self.police else 0
        return _least(of_link, self.qdisc.shaped_bps, policed)

    @property
    def limit_bytes(self) -> int | None:
        """The discipline's limit, where it counts bytes."""
        return self.qdisc.limit_bytes

    @property
    def limit_pkts(self) -> int | None:
        """The discipline's limit, where it counts packets."""
        return self.qdisc.limit_pkts


class Source(_View):
    """What a flow sends.

    Attributes:
        kind: As a person writes it.
        size_at: Whether drawn sizes are ``payload`` or those on the ``wire``.
        bytes: Of one transfer; 0 of other kinds.
        packets: Of one burst; 1 of other kinds.
        transfers: This number at most; 0 for as many as there is time for, and of other kinds.
    """

    kind = _Key[str]()
    size_at = _KeyOr[str]("payload")
    bytes = _KeyOr[int](0)
    packets = _KeyOr[int](1)
    transfers = _KeyOr[int](0)

    @property
    def gap(self) -> Law | None:
        """Between packets, s; None of kinds without one."""
        return self._law("gap")

    @property
    def size(self) -> Law | None:
        """Of packets, bytes; None of kinds without one."""
        return self._law("size")

    @property
    def oversleep(self) -> Law | None:
        """What each sleep overshoots, s; None where none does."""
        return self._law("oversleep")

    @property
    def trace(self) -> Sequence[tuple[int, int]]:
        """(instant in ns from the flow's start, bytes) of each datagram that is replayed."""
        times, sizes = (self.mapping.get(key, ()) for key in ("times_ns", "sizes_bytes"))
        return list(zip(times, sizes, strict=True))

    def _law(self, key: str) -> Law | None:
        found = self.mapping.get(key)
        return Law(found) if found else None


class TcpSettings(_View):
    """What a flow over TCP was asked to do; see ``tcp`` of a flow in the description.

    Attributes:
        congestion_control: As Linux calls it.
        initial_window_pkts: Segments.
        min_rto_ns: Least retransmission timeout.
        send_buffer_bytes: Of the socket; 0 for as much as it takes.
        receive_window_bytes: Most that is offered; 0 for as much as it takes.
        sack: Whether selective acknowledgements are used (RFC 2018).
        timestamps: Whether timestamps are (RFC 7323).
        rack: Whether losses are found by time (RFC 8985).
        ecn: Whether ECN is negotiated (RFC 3168).
        hystart: Whether CUBIC may leave slow start early.
        delayed_ack: Whether acknowledgements wait for a second segment (RFC 1122).
        small_queues: Whether its host keeps its own queue short, as Linux does.
    """

    @property
    def cwnd_changes(self) -> Sequence[tuple[int, int]]:
        """(instant in ns, window in packets from then on) for the controller ``manual``."""
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
    ecn = _Key[bool]()
    hystart = _Key[bool]()
    delayed_ack = _Key[bool]()
    small_queues = _Key[bool]()


class Sender(_View):
    """What flows and probes have alike.

    Attributes:
        name: Of its rows and random numbers.
        from_: Sending host.
        to: Receiving or answering host.
        start_ns: When it begins, before jitter.
        start_jitter_ns: It begins up to so much later.
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
        stop_ns: When it ends.
        transport: ``udp`` or ``tcp``.
        ecn: The ECN field of its packets, over UDP.
    """

    stop_ns = _Key[int]()
    transport = _Key[str]()
    ecn = _Key[str]()

    @property
    def source(self) -> Source:
        """What it sends."""
        return Source(self.mapping["source"])

    @property
    def tcp(self) -> TcpSettings | None:
        """Its settings; None over UDP."""
        found = self.mapping["tcp"]
        return None if found is None else TcpSettings(found)


class Probe(Sender):
    """Echo requests.

    Attributes:
        kind: ``ping``, ``udp`` or ``irtt``.
        interval_ns: Between requests.
        count: How many; 0 for as many as fit.
        payload_bytes: Of a request.
    """

    kind = _Key[str]()
    interval_ns = _Key[int]()
    count = _Key[int]()
    payload_bytes = _Key[int]()


class Resolved(_View):
    """A resolved description.

    Attributes:
        name: Of the experiment.
        seed: All randomness follows from it.
        duration_ns: The run covers the time from 0 to here.
        warm_up_ns: Statistics leave out what came before.
        sample_interval_ns: Between rows of the sampled tables; 0 for no such tables.
        timer_hz: Timer interrupts a second.
    """

    name = _Key[str]()
    seed = _Key[int]()
    duration_ns = _Key[int]()
    warm_up_ns = _Key[int]()
    sample_interval_ns = _Key[int]()
    timer_hz = _Key[int]()

    @property
    def kernel(self) -> str:
        """Name of the kernel that runs it, where one does."""
        name: str = self.mapping.get("kernel", USUAL_KERNEL)
        return name

    @property
    def guest(self) -> str:
        """What reads and writes for flows over TCP inside a kernel: `process` or `module`."""
        guest: str = self.mapping.get("guest", USUAL_GUEST)
        return guest

    @property
    def hosts(self) -> tuple[str, ...]:
        """Their names."""
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
            SpecError: There is none.
        """
        return self._queue(_place("queue", queue, self._places_of_queues))

    def flow(self, flow: str | int) -> Flow:
        """A flow by its name or index.

        Raises:
            SpecError: There is none.
        """
        return self.flows[_place("flow", flow, self._places_of_flows)]

    def probe(self, probe: str | int) -> Probe:
        """A probe by its name or index.

        Raises:
            SpecError: There is none.
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
        """The queues that a packet passes from one host to another; none when there is no way."""
        return [self._queue(index) for index in self.topology.route(start, end) or ()]

    def _queue(self, index: int) -> Queue:
        link, is_reverse = self._links[index // 2], index % 2
        from_, to = self.topology.directions[index]
        end = link["reverse" if is_reverse else "forward"]
        return Queue(end, index, self._queue_names[index], from_, to)

    @cached_property
    def _queue_names(self) -> list[str]:
        return self.topology.queue_names

    # Numbers of thousands of flows ask for each of them dozens of times.
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
    """Place of the one of that name or index."""
    if isinstance(asked, str) and asked in places:
        return places[asked]
    if isinstance(asked, int) and 0 <= asked < len(places):
        return asked
    names = list(places)
    near = difflib.get_close_matches(str(asked), names, n=1)
    allowed = f"one of {', '.join(names[:20])}" if names else f"a {what}; there is none"
    raise SpecError(what, asked, allowed, near[0] if near else None)
