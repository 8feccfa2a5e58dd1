"""The lines one would type on a testbed to set up and run an experiment.

| of the description | here |
| --- | --- |
| finite `rate` | `tbf` with a burst of one packet, and the queue discipline as its leaf |
| `rate = "inf"` | the queue discipline as root; none for the default, which never fills |
| `delay`, `loss` | `netem` that never drops, after the queue: on an `ifb` at the far end |
| other `overhead` | `stab overhead`, what it differs from the 14 bytes that Linux counts |
| `changes` | `tc qdisc change` after a `sleep` |
| routes | a network 10.10.N.0/24 for link N, a route for each address in use |

Sources: tc(8), tc-tbf(8), tc-netem(8), tc-stab(8), ip-route(8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.spec.fields import OVERHEADS_BYTES
from dumbbell.spec.render_traffic import receiver_lines, traffic_lines
from dumbbell.spec.topology import Interface, Topology

if TYPE_CHECKING:
    from dumbbell.spec.experiment import Experiment

Line = tuple[str, str]
"""A host, and what to type there; a comment starts with ``#``."""

DEFAULT_MTU_BYTES = 1500
NEVER_DROPS = 1_000_000_000
"""Packets: a limit that a delay never reaches."""
_DEFAULT_QDISC = {"kind": "pfifo", "limit_packets": 1000}


def testbed_lines(experiment: Experiment, *, sudo: bool = True) -> list[Line]:
    """What one would type to run an experiment on real hosts.

    Args:
        experiment: Any experiment.
        sudo: Whether to write ``sudo`` where root is needed.

    Returns:
        (host, command) in an order that works: addresses, routes, queues, receivers, then what
        sends. The last, one terminal each, are to be started together.
    """
    resolved = experiment.resolved()
    topology = experiment.topology
    root = "sudo " if sudo else ""
    lines = [
        *_addresses(resolved, topology, root),
        *_forwarding(resolved, topology, root),
        *_routes(resolved, topology, root),
        *_names(resolved, topology, root),
        *_queues(resolved, topology, root),
        *receiver_lines(resolved),
        *_changes(resolved, topology, root),
        *traffic_lines(resolved),
    ]
    return lines


testbed_lines.__test__ = False  # type: ignore[attr-defined]  # its name is no test's


def _ends(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The directions of the links in the order of queues."""
    return [link[key] for link in resolved["links"] for key in ("forward", "reverse")]


def _senders(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*resolved["flows"], *resolved["probes"]]


def _addresses(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    for interface, end in zip(topology.interfaces, _ends(resolved), strict=True):
        device = interface.device
        yield interface.host, f"{root}ip addr add {interface.address}/24 dev {device}"
        mtu = end["mtu_bytes"]
        size = "" if mtu == DEFAULT_MTU_BYTES else f" mtu {mtu}"
        yield interface.host, f"{root}ip link set dev {device}{size} up"


def _ways(resolved: Mapping[str, Any], topology: Topology) -> list[tuple[str, list[int]]]:
    """(address, queues to it) of every way in use, answers included; each way once."""
    interfaces = topology.interfaces
    ways: dict[tuple[str, tuple[int, ...]], None] = {}
    for sender in _senders(resolved):
        out = topology.route(sender["from"], sender["to"])
        back = topology.route(sender["to"], sender["from"])
        if out and back:
            ways[interfaces[out[-1]].peer_address, tuple(out)] = None
            # Answers go to the address that asked, that of the first interface on the way out.
            ways[interfaces[out[0]].address, tuple(back)] = None
    return [(address, list(queues)) for address, queues in ways]


def _forwarding(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    interfaces = topology.interfaces
    routers = {
        interfaces[queue].host for _, queues in _ways(resolved, topology) for queue in queues[1:]
    }
    for host in topology.hosts:
        if host in routers:
            yield host, f"{root}sysctl -w net.ipv4.ip_forward=1"


def _routes(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterable[Line]:
    interfaces = topology.interfaces
    lines: dict[Line, None] = {}
    for address, queues in _ways(resolved, topology):
        for queue in queues:
            interface = interfaces[queue]
            # Of its own links' networks a host knows the way.
            if interface.peer_address.rpartition(".")[0] != address.rpartition(".")[0]:
                via = f"{address}/32 via {interface.peer_address} dev {interface.device}"
                lines[interface.host, f"{root}ip route replace {via}"] = None
    return lines


def _names(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterable[Line]:
    """So that commands may name hosts."""
    interfaces = topology.interfaces
    lines: dict[Line, None] = {}
    for sender in _senders(resolved):
        out = topology.route(sender["from"], sender["to"])
        if out:
            entry = f"echo '{interfaces[out[-1]].peer_address} {sender['to']}'"
            append = f"{entry} | {root}tee -a /etc/hosts"
            lines[sender["from"], append] = None
    return lines


def _queues(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    interfaces = topology.interfaces
    for interface, end in zip(interfaces, _ends(resolved), strict=True):
        yield from _queue(interface, end, root)
        far = interfaces[interface.queue ^ 1]
        yield from _propagation(far, end, root)


def _queue(interface: Interface, end: Mapping[str, Any], root: str) -> Iterator[Line]:
    """The egress queue of one interface."""
    host, device = interface.host, interface.device
    qdisc = units.render_qdisc(end["qdisc"])
    if end["rate_bps"]:
        yield host, f"{root}tc qdisc replace dev {device} {_shaper(end, end['rate_bps'])}"
        yield host, f"{root}tc qdisc replace dev {device} parent 1:1 handle 10: {qdisc}"
    elif end["qdisc"] != _DEFAULT_QDISC:
        yield host, f"{root}tc qdisc replace dev {device} root{_size_table(end)} {qdisc}"


def _shaper(end: Mapping[str, Any], rate_bps: int) -> str:
    """A transmitter: a token bucket that holds one packet.

    Its own limit does not matter: the leaf takes the place of its queue. (A later change of the
    bucket gives its limit to a leaf that is a FIFO, so the leaf is to be set again:
    Linux net/sched/sch_tbf.c, ``fifo_set_limit`` in ``tbf_change``.)
    """
    packet = units.format_size(end["mtu_bytes"] + end["overhead_bytes"])
    rate = units.format_rate(rate_bps)
    return f"root handle 1:{_size_table(end)} tbf rate {rate} burst {packet} limit {packet}"


def _size_table(end: Mapping[str, Any]) -> str:
    """What a packet's size differs from what Linux counts, the IP packet and 14 bytes."""
    more = end["overhead_bytes"] - OVERHEADS_BYTES["ethernet"]
    return f" stab overhead {more}" if more else ""


def _delays(end: Mapping[str, Any]) -> bool:
    """Whether something happens between the queue and the far end, now or later."""
    later = any(change["delay_ns"] or change["loss"] for change in end["changes"])
    return bool(end["delay_ns"] or end["loss"] or later)


def _propagation(far: Interface, end: Mapping[str, Any], root: str) -> Iterator[Line]:
    """Delay and loss, put on what arrives at the far end: after the queue."""
    if not _delays(end):
        return
    host, device, ifb = far.host, far.device, f"ifb-{far.device}"
    netem = _netem(end["delay_ns"], end["loss"])
    redirect = f"matchall action mirred egress redirect dev {ifb}"
    yield host, f"{root}ip link add {ifb} type ifb"
    yield host, f"{root}ip link set dev {ifb} up"
    yield host, f"{root}tc qdisc replace dev {ifb} root handle 1: {netem}"
    yield host, f"{root}tc qdisc add dev {device} handle ffff: ingress"
    yield host, f"{root}tc filter add dev {device} parent ffff: {redirect}"


def _netem(delay_ns: int, loss: float) -> str:
    per_cent = f" loss {100 * loss:.10g}%" if loss else ""
    return f"netem limit {NEVER_DROPS} delay {units.format_time(delay_ns)}{per_cent}"


def _changes(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    interfaces = topology.interfaces
    for interface, end in zip(interfaces, _ends(resolved), strict=True):
        far = interfaces[interface.queue ^ 1]
        yield from _changes_of_rate(interface, end, root)
        delay_ns, loss = end["delay_ns"], end["loss"]
        for change in end["changes"]:
            if change["delay_ns"] is None and change["loss"] is None:
                continue
            delay_ns = delay_ns if change["delay_ns"] is None else change["delay_ns"]
            loss = loss if change["loss"] is None else change["loss"]
            if _delays(end):
                command = f"dev ifb-{far.device} root handle 1: {_netem(delay_ns, loss)}"
                yield far.host, _later(change["at_ns"], [command], root)


def _changes_of_rate(interface: Interface, end: Mapping[str, Any], root: str) -> Iterator[Line]:
    for change in end["changes"]:
        rate_bps = change["rate_bps"]
        if rate_bps is None:
            continue
        if rate_bps and end["rate_bps"]:
            device = interface.device
            bucket = f"dev {device} {_shaper(end, rate_bps)}"
            leaf = f"dev {device} parent 1:1 handle 10: {units.render_qdisc(end['qdisc'])}"
            yield interface.host, _later(change["at_ns"], [bucket, leaf], root)
        else:
            at = units.format_time(change["at_ns"])
            rate = units.format_rate(rate_bps) if rate_bps else "inf"
            note = f"the rate becomes {rate}: no tc line changes a queue from or to rate inf"
            yield interface.host, f"# {interface.device} at {at}: {note}"


def _later(at_ns: int, changes: Sequence[str], root: str) -> str:
    commands = "; ".join(f"tc qdisc change {change}" for change in changes)
    return f"{root}sh -c 'sleep {at_ns / 1e9:.9g}; {commands}' &"
