"""What a guest is told: the lines that build the hosts, and where their queues are.

| of the description | in the guest |
| --- | --- |
| host i | network namespace ``hi``, with one end of a veth pair for each of its links |
| finite `rate` | `htb` without credit, the qdisc as its leaf; `netem rate` at the far end |
| `rate = "inf"` | the queue discipline as root |
| `delay`, `loss` | `netem` that never drops, on an `ifb` at the far end |
| other `overhead` | `stab overhead` |
| `changes` | `tc class change` and `tc qdisc change` at their instants |
| addresses, routes | those of `dumbbell.spec.render`; neighbours are permanent, so no ARP |

A token bucket of one packet's burst (what one types on a testbed, `dumbbell.spec.render`) lets
several small packets pass at once; `htb` with a burst of a byte starts the next packet when the one
before it has ended, whatever their sizes, and `netem` at the far end lets it arrive when its own
transmission has ended. Sizes on the wire are sent as
payloads of 42 bytes less, so none is smaller than 42; they are not fragmented (MTU 65535).
When the delay of a link with a rate becomes shorter, `netem` keeps the order of packets under way;
the simulator lets later ones overtake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dumbbell import units
from dumbbell.errors import SpecError
from dumbbell.spec.fields import OVERHEADS_BYTES
from dumbbell.spec.topology import Interface, Topology

NEVER_DROPS = 1_000_000_000
LARGEST_MTU_BYTES = 65_535
MOST_FLOWS = 10_000
"""Each has a port of its own."""

QUEUE_HANDLE = "10:"
DELAY_HANDLE = "1:"
_ETHERNET_BYTES = OVERHEADS_BYTES["ethernet"]
_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/ip_default_ttl": "255",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}


def check_kernel_can(resolved: Mapping[str, Any]) -> None:
    """Refuse what the guest does not do yet.

    Raises:
        SpecError: It cannot be run on the kernel.
    """
    for index, link in enumerate(resolved["links"]):
        for direction in ("forward", "reverse"):
            _check_end(f"links[{index}].{direction}", link[direction])
    if len(resolved["flows"]) > MOST_FLOWS:
        raise SpecError("flows", len(resolved["flows"]), f"at most {MOST_FLOWS} on the kernel")
    _check_sizes(resolved)


def job(resolved_json: str, replication: int, output: Path, tools: Mapping[str, str]) -> str:
    """The job file of one replication.

    Args:
        resolved_json: Canonical description.
        replication: Number of its random streams.
        output: Folder for results.
        tools: ``ip`` and ``tc`` to their paths.
    """
    return _Job(json.loads(resolved_json), tools).to_json(resolved_json, replication, output)


def _check_end(path: str, end: Mapping[str, Any]) -> None:
    for index, change in enumerate(end["changes"]):
        rate_bps = change["rate_bps"]
        if rate_bps is not None and bool(rate_bps) != bool(end["rate_bps"]):
            raise SpecError(
                f"{path}.changes[{index}].rate",
                units.format_rate(rate_bps) if rate_bps else "inf",
                "no change from or to rate inf on the kernel",
            )
    if end["rate_bps"] and end["qdisc"]["kind"] == "netem":
        raise SpecError(f"{path}.qdisc", "netem", 'netem with rate = "inf" on the kernel')


def _topology(resolved: Mapping[str, Any]) -> Topology:
    hosts = tuple(host["name"] for host in resolved["hosts"])
    return Topology(hosts, tuple((link["a"], link["b"]) for link in resolved["links"]))


def _is_ideal(flow: Mapping[str, Any]) -> bool:
    return bool(flow["source"].get("size_at") == "wire")


def _ideal_queues(resolved: Mapping[str, Any], topology: Topology) -> set[int]:
    """Queues that sizes on the wire pass."""
    flows = [flow for flow in resolved["flows"] if _is_ideal(flow)]
    return {queue for flow in flows for queue in topology.route(flow["from"], flow["to"]) or ()}


def _check_sizes(resolved: Mapping[str, Any]) -> None:
    """Sizes on the wire need links that count 14 bytes, and no fragments beside them."""
    topology = _topology(resolved)
    ideal = _ideal_queues(resolved, topology)
    ends = _ends(resolved)
    for queue in sorted(ideal):
        overhead = ends[queue]["overhead_bytes"]
        if overhead != _ETHERNET_BYTES:
            direction = ("forward", "reverse")[queue % 2]
            raise SpecError(
                f"links[{queue // 2}].{direction}.overhead",
                f"{overhead}B",
                'ethernet (14B) where sizes are on the wire; or size_at = "payload"',
            )
    for index, flow in enumerate(resolved["flows"]):
        if not _is_ideal(flow) and ideal & set(topology.route(flow["from"], flow["to"]) or ()):
            raise SpecError(
                f"flows[{index}].source.size_at",
                "payload",
                "the same as that of the other flows on its links: on the kernel only links "
                "without sizes on the wire fragment",
            )


def _ends(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [link[key] for link in resolved["links"] for key in ("forward", "reverse")]


class _Job:
    def __init__(self, resolved: Mapping[str, Any], tools: Mapping[str, str]) -> None:
        self._resolved = resolved
        self._tools = tools
        self._topology = _topology(resolved)
        self._ends = _ends(resolved)
        self._hosts = {host: index for index, host in enumerate(self._topology.hosts)}
        self._ideal = _ideal_queues(resolved, self._topology)

    def to_json(self, resolved_json: str, replication: int, output: Path) -> str:
        return json.dumps(
            {
                "resolved": resolved_json,
                "replication": replication,
                "steps": list(self._steps()),
                "changes": list(self._changes()),
                "sysctl": [{"path": path, "value": value} for path, value in _SETTINGS.items()],
                "output": str(output),
                "flow_addresses": self._addresses("flows"),
                "probe_addresses": self._addresses("probes"),
                "queues": [self._place(interface) for interface in self._topology.interfaces],
            }
        )

    def _steps(self) -> Iterator[dict[str, Any]]:
        nowhere = len(self._hosts)  # where no device's name is taken
        yield self._step(nowhere, "ip", self._pairs())
        routes = self._routes()
        for host, index in self._hosts.items():
            interfaces = [each for each in self._topology.interfaces if each.host == host]
            lines = [line for each in interfaces for line in self._device(each)]
            lines += routes.get(host, {})
            if lines:
                yield self._step(index, "ip", lines)
                yield self._step(index, "tc", (line for i in interfaces for line in self._tc(i)))

    def _step(self, host: int, tool: str, lines: Iterator[str] | list[str]) -> dict[str, Any]:
        return {"host": host, "tool": self._tools[tool], "lines": list(lines)}

    def _addresses(self, key: str) -> list[str]:
        addresses = []
        for sender in self._resolved[key]:
            route = self._topology.route(sender["from"], sender["to"])
            assert route, "the description was checked"
            addresses.append(self._topology.interfaces[route[-1]].peer_address)
        return addresses

    def _far(self, interface: Interface) -> Interface:
        return self._topology.interfaces[interface.queue ^ 1]

    def _delays(self, queue: int) -> bool:
        """Whether something is to be done at the far end of a queue's link."""
        end = self._ends[queue]
        later = any(change["delay_ns"] or change["loss"] for change in end["changes"])
        return bool(end["rate_bps"] or end["delay_ns"] or end["loss"] or later)

    def _place(self, interface: Interface) -> dict[str, Any]:
        far = self._far(interface)
        delay = (self._hosts[far.host], _ifb(far), 0x1_0000)
        return {
            "host": self._hosts[interface.host],
            "device": interface.device,
            "handle": 0x10_0000,
            "propagation": delay if self._delays(interface.queue) else None,
        }

    def _pairs(self) -> Iterator[str]:
        interfaces = self._topology.interfaces
        for near, far in zip(interfaces[::2], interfaces[1::2], strict=True):
            ends = [
                f"{each.device} netns h{self._hosts[each.host]} address {_mac(each.queue)}"
                f" mtu {self._mtu(each)}"
                for each in (near, far)
            ]
            yield f"link add name {ends[0]} type veth peer name {ends[1]}"

    def _mtu(self, interface: Interface) -> int:
        """Both ends of a veth pair must take what the other one sends."""
        queues = (interface.queue, interface.queue ^ 1)
        if self._ideal.intersection(queues):
            return LARGEST_MTU_BYTES
        return int(self._ends[interface.queue]["mtu_bytes"])

    def _device(self, interface: Interface) -> Iterator[str]:
        device, far = interface.device, self._far(interface)
        yield f"addr add {interface.address}/24 dev {device}"
        yield f"link set dev {device} gso_max_segs 1 up"
        yield (
            f"neigh replace {interface.peer_address} lladdr {_mac(far.queue)} dev {device}"
            " nud permanent"
        )
        if self._delays(far.queue):
            yield f"link add {_ifb(interface)} type ifb"
            yield f"link set dev {_ifb(interface)} up"

    def _routes(self) -> dict[str, dict[str, None]]:
        """Host to its lines: a way for each address in use, answers included; as in `render`."""
        interfaces = self._topology.interfaces
        lines: dict[str, dict[str, None]] = {}
        for sender in [*self._resolved["flows"], *self._resolved["probes"]]:
            out = self._topology.route(sender["from"], sender["to"]) or []
            back = self._topology.route(sender["to"], sender["from"]) or []
            ways = []
            if out:
                ways.append((interfaces[out[-1]].peer_address, out))
            if out and back:
                ways.append((interfaces[out[0]].address, back))
            for address, queues in ways:
                for interface in (interfaces[queue] for queue in queues):
                    if interface.peer_address.rpartition(".")[0] != address.rpartition(".")[0]:
                        line = (
                            f"route replace {address}/32 via {interface.peer_address}"
                            f" dev {interface.device}"
                        )
                        lines.setdefault(interface.host, {})[line] = None
        return lines

    def _changes(self) -> Iterator[dict[str, Any]]:
        """What tc is told later: a step for each host, instant and link end."""
        for interface in self._topology.interfaces:
            end, far = dict(self._ends[interface.queue]), self._far(interface)
            here, there = self._hosts[interface.host], self._hosts[far.host]
            for change in self._ends[interface.queue]["changes"]:
                end |= {
                    key: change[key]
                    for key in change.keys() & end.keys()
                    if change[key] is not None
                }
                steps = []
                if change["rate_bps"]:
                    line = f"class change dev {interface.device} parent 1: classid 1:1 {_htb(end)}"
                    steps.append(self._step(here, "tc", [line]))
                if self._delays(interface.queue):
                    line = f"qdisc change dev {_ifb(far)} root handle {DELAY_HANDLE} {_netem(end)}"
                    steps.append(self._step(there, "tc", [line]))
                for step in steps:
                    yield {"at_ns": change["at_ns"], "step": step}

    def _tc(self, interface: Interface) -> Iterator[str]:
        """The queue of an interface, then the delay of what arrives at it."""
        end, device = self._ends[interface.queue], interface.device
        qdisc = units.render_qdisc(end["qdisc"])
        stab = _stab(end)
        if end["rate_bps"]:
            yield f"qdisc add dev {device} root handle 1:{stab} htb default 1"
            yield f"class add dev {device} parent 1: classid 1:1 {_htb(end)}"
            yield f"qdisc add dev {device} parent 1:1 handle {QUEUE_HANDLE} {qdisc}"
        else:
            yield f"qdisc add dev {device} root handle {QUEUE_HANDLE}{stab} {qdisc}"
        far = self._far(interface)
        if self._delays(far.queue):
            end, ifb = self._ends[far.queue], _ifb(interface)
            redirect = f"action mirred egress redirect dev {ifb}"
            yield f"qdisc add dev {ifb} root handle {DELAY_HANDLE}{_stab(end)} {_netem(end)}"
            yield f"qdisc add dev {device} handle ffff: ingress"
            yield f"filter add dev {device} parent ffff: matchall {redirect}"


def _htb(end: Mapping[str, Any]) -> str:
    """A transmitter: no credit, so a packet starts when the one before it has ended."""
    rate = units.format_rate(end["rate_bps"])
    return f"htb rate {rate} ceil {rate} burst 1b cburst 1b quantum {LARGEST_MTU_BYTES}"


def _ifb(interface: Interface) -> str:
    return f"ifb-{interface.device}"


def _mac(queue: int) -> str:
    number = queue + 1
    return f"02:00:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"


def _stab(end: Mapping[str, Any]) -> str:
    more = end["overhead_bytes"] - _ETHERNET_BYTES
    return f" stab overhead {more}" if more else ""


def _netem(end: Mapping[str, Any]) -> str:
    """What happens after the queue: delay, loss, and the transmission of a finite rate."""
    words = [f"netem limit {NEVER_DROPS}"]
    if end["delay_ns"] or end["changes"]:
        words.append(f"delay {units.format_time(end['delay_ns'])}")
    if end["loss"]:
        words.append(f"loss {100 * end['loss']:.10g}%")
    if end["rate_bps"]:
        words.append(f"rate {units.format_rate(end['rate_bps'])}")
    return " ".join(words)
