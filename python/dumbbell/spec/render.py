"""Commands that set up and run an experiment on a testbed.

`dumbbell.spec.queue_lines` writes queues, rates and delays, also for the kernel in virtual time.
Link N has the network 10.10.N.0/24, and each address in use has a route; `changes` are made after a
`sleep`.

Sources: tc(8), ip-route(8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dumbbell import units
from dumbbell.errors import SpecError
from dumbbell.spec.host_links import HOST_BITS, NET_BITS, DeviceAddress, DeviceUp, Route
from dumbbell.spec.keys import LINK
from dumbbell.spec.queue_lines import (
    NS_PER_US,
    changed,
    delay_change_lines,
    delay_lines,
    egress_lines,
    ifb_links,
    is_delayed,
    queue_lines,
    rate_change_lines,
)
from dumbbell.spec.render_traffic import receiver_lines, traffic_lines
from dumbbell.spec.topology import Interface, Topology
from dumbbell.spec.trace_changes import check_trace, traces_as_changes

if TYPE_CHECKING:
    from dumbbell.spec.experiment import Experiment

Line = tuple[str, str]
"""A host and a command for it; a comment starts with ``#``."""

DEFAULT_MTU_BYTES = 1500


def testbed_lines(experiment: Experiment, *, sudo: bool = True) -> list[Line]:
    """The commands that run an experiment on real hosts.

    Args:
        experiment: Any experiment.
        sudo: Whether to write ``sudo`` where root is needed.

    Returns:
        (host, command) in the order of execution: addresses, routes, queues, receivers, then
        senders. Start the senders together, one terminal each.
    """
    resolved, notes = _with_changes(experiment.resolved())
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
        *((topology.interfaces[queue].host, note) for queue, note in notes),
        *traffic_lines(resolved),
    ]
    return lines


testbed_lines.__test__ = False  # type: ignore[attr-defined]  # its name is no test's


_MOST_CHANGES = 100
"""Maximum number of commands for a trace; a longer one gets a note."""


def _with_changes(resolved: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, str]]]:
    """Replace short traces by changes, and the others by notes for their queues."""
    notes, links = [], []
    for index, link in enumerate(resolved["links"]):
        changed = dict(link)
        for place, way in enumerate(("forward", "reverse")):
            if "trace" not in link[way]:
                continue
            try:
                check_trace(f"links[{index}].{way}", link[way])
                alone = {
                    **resolved,
                    "links": [{**link, "forward": link[way], "reverse": link[way]}],
                }
                changed[way] = traces_as_changes(alone, 0, _MOST_CHANGES)["links"][0]["forward"]
            except SpecError:
                changed[way] = {key: value for key, value in link[way].items() if key != "trace"}
                note = "# the link follows a trace, which tc has no lines for: mm-link(1) may"
                notes.append((2 * index + place, note))
        links.append(changed)
    return {**resolved, "links": links}, notes


def _ends(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The directions of the links in the order of queues."""
    return [link[key] for link in resolved["links"] for key in ("forward", "reverse")]


def _senders(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*resolved["flows"], *resolved["probes"]]


def _addresses(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    for interface, end in zip(topology.interfaces, _ends(resolved), strict=True):
        device = interface.device
        mtu_bytes = None if end["mtu_bytes"] == DEFAULT_MTU_BYTES else end["mtu_bytes"]
        for link in (
            DeviceAddress(device, interface.address, NET_BITS),
            DeviceUp(device, mtu_bytes),
        ):
            yield interface.host, f"{root}ip {link.line}"


def _ways(resolved: Mapping[str, Any], topology: Topology) -> list[tuple[str, list[int]]]:
    """(address, queues to it) of every path in use, including those of answers; each path once."""
    interfaces = topology.interfaces
    ways: dict[tuple[str, tuple[int, ...]], None] = {}
    for sender in _senders(resolved):
        out = topology.route(sender["from"], sender["to"])
        back = topology.route(sender["to"], sender["from"])
        if out and back:
            ways[interfaces[out[-1]].peer_address, tuple(out)] = None
            # Answers go to the address of the request, that of the first interface on the path.
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
            # A host needs no route to the networks of its own links.
            if interface.peer_address.rpartition(".")[0] != address.rpartition(".")[0]:
                route = Route(address, HOST_BITS, interface.device, interface.peer_address)
                lines[interface.host, f"{root}ip {route.line}"] = None
    return lines


def _names(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterable[Line]:
    """Entries of ``/etc/hosts``, so that commands can use host names."""
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
    for interface in interfaces:
        yield from _policer(interface, _ends(resolved), root)


def _queue(interface: Interface, end: Mapping[str, Any], root: str) -> Iterator[Line]:
    """The egress queue of one interface; the default one without a rate never fills."""
    if end["rate_bps"] or end["qdisc"] != LINK["qdisc"].default:
        for line in queue_lines(end, interface.device):
            yield interface.host, f"{root}tc {line}"


def _policer(interface: Interface, ends: Sequence[Mapping[str, Any]], root: str) -> Iterator[Line]:
    """The policer in front of that queue; a delay on the same interface has created its
    ``clsact``."""
    has_hook = is_delayed(ends[interface.queue ^ 1])
    for line in egress_lines(ends[interface.queue], interface.device, has_hook=has_hook):
        yield interface.host, f"{root}tc {line}"


def _propagation(far: Interface, end: Mapping[str, Any], root: str) -> Iterator[Line]:
    """Delay and loss, applied at the ingress of the far end, so after the queue."""
    if is_delayed(end):
        for link in ifb_links(far.device):
            yield far.host, f"{root}ip {link.line}"
        for line in delay_lines(end, far.device):
            yield far.host, f"{root}tc {line}"
        for delay_ns in _delays_ns(end):
            if delay_ns % NS_PER_US:
                delay = units.format_time(delay_ns)
                note = f"a delay of {delay} is cut off to whole microseconds, as tc reads no ns"
                yield far.host, f"# {far.device}: {note}"


def _delays_ns(end: Mapping[str, Any]) -> list[int]:
    """Delays at the start and after each change."""
    changes = [each["delay_ns"] for each in end["changes"] if each["delay_ns"] is not None]
    return [end["delay_ns"], *changes]


def _changes(resolved: Mapping[str, Any], topology: Topology, root: str) -> Iterator[Line]:
    interfaces = topology.interfaces
    for interface, end in zip(interfaces, _ends(resolved), strict=True):
        far = interfaces[interface.queue ^ 1]
        now = end
        for change in end["changes"]:
            at_ns, rate_bps = change["at_ns"], change["rate_bps"]
            possible = rate_bps is None or bool(rate_bps) == bool(now["rate_bps"])
            now = changed(now, change if possible else {**change, "rate_bps": None})
            if not possible:
                at = units.format_time(at_ns)
                rate = units.format_rate(rate_bps) if rate_bps else "inf"
                note = f"the rate becomes {rate}: no tc line changes a queue from or to rate inf"
                yield interface.host, f"# {interface.device} at {at}: {note}"
            elif rate_bps:
                lines = rate_change_lines(now, interface.device)
                yield interface.host, _later(at_ns, lines, root)
            if is_delayed(end):
                yield far.host, _later(at_ns, delay_change_lines(now, far.device), root)


def _later(at_ns: int, lines: Sequence[str], root: str) -> str:
    commands = "; ".join(f"tc {line}" for line in lines)
    return f"{root}sh -c 'sleep {at_ns / 1e9:.9g}; {commands}' &"
