"""The job file of a guest: what sets up hosts, links and queues.

Links, addresses and routes are values (`dumbbell.spec.host_links`), which the guest makes by
itself; queues and their changes are lines of ``tc``, which it runs.

| of the description | in the guest |
| --- | --- |
| host i | network namespace ``hi``, with one end of a veth pair for each of its links |
| queues, rates, delays, loss, `changes` | lines of `dumbbell.spec.queue_lines` |
| steps of a trace | changes (`dumbbell.spec.trace_changes`) |
| queues whose packets follow from no schedule | copies of arriving packets: `observed_queues` |
| addresses, routes | those of `dumbbell.spec.render`; neighbours are permanent, so no ARP |

Packets with a size on the wire are sent as payloads 42 bytes shorter, so sizes are at least 42;
they are not fragmented (MTU 65535). If the delay of a link with a rate decreases, `netem` keeps the
order of packets in flight; the simulator lets later packets overtake.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dumbbell import units
from dumbbell.backends.kernel.capabilities import USUAL, Capabilities
from dumbbell.backends.kernel.dualpi2 import check_dualpi2, disciplines, set_up_below
from dumbbell.backends.kernel.login import Login, subnet_routes
from dumbbell.backends.kernel.observed_queues import (
    copies_links,
    copies_name,
    most_watched_packets,
    watched_queues,
)
from dumbbell.backends.kernel.offloads import check_offloads, counts_once
from dumbbell.backends.kernel.tcp import (
    check_tcp,
    common_settings,
    gso_max_segs,
    host_settings,
    route_options,
)
from dumbbell.backends.kernel.traffic import PROCESS, Player
from dumbbell.errors import SpecError
from dumbbell.spec import Resolved
from dumbbell.spec.fields import OVERHEADS_BYTES
from dumbbell.spec.host_links import (
    HOST_BITS,
    NET_BITS,
    NO_OPTIONS,
    DeviceAddress,
    DeviceUp,
    HostLink,
    Neighbour,
    Route,
    RouteOptions,
    VethEnd,
    VethPair,
)
from dumbbell.spec.programs import programs_of
from dumbbell.spec.queue_lines import (
    DELAY_HANDLE,
    QUEUE_HANDLE,
    changed,
    delay_change_lines,
    delay_lines,
    egress_lines,
    ifb_links,
    ifb_name,
    is_delayed,
    queue_lines,
    rate_change_lines,
)
from dumbbell.spec.topology import Interface, Topology
from dumbbell.spec.trace_changes import check_trace, has_traces, traces_as_changes

LARGEST_MTU_BYTES = 65_535
MOST_FLOWS = 10_000
"""Limit, since each flow needs its own port."""

_NS_PER_US = 1000
_ETHERNET_BYTES = OVERHEADS_BYTES["ethernet"]
_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    "net/ipv4/ip_default_ttl": "255",
    "net/ipv4/icmp_ratelimit": "0",
    "net/ipv4/tcp_no_metrics_save": "1",
    "net/ipv6/conf/all/disable_ipv6": "1",
    "net/ipv6/conf/default/disable_ipv6": "1",
}
_LOGIN_SETTINGS = {"net/ipv4/ip_default_ttl": "64"}
"""Linux's default, which ping prints."""


def check_kernel_can(resolved: Mapping[str, Any], has: Capabilities = USUAL) -> None:
    """Refuse features that the guest does not implement.

    Args:
        resolved: The description.
        has: What its kernel has besides what all have.

    Raises:
        SpecError: The kernel cannot run it.
    """
    for index, link in enumerate(resolved["links"]):
        for direction in ("forward", "reverse"):
            path = f"links[{index}].{direction}"
            _check_end(path, link[direction])
            check_dualpi2(path, link[direction], has.dualpi2)
    if len(resolved["flows"]) > MOST_FLOWS:
        raise SpecError("flows", len(resolved["flows"]), f"at most {MOST_FLOWS} on the kernel")
    if has_traces(resolved):
        # What a link's rate is refused for, its trace's rates are too.
        resolved = traces_as_changes(resolved, 0)
    check_tcp(resolved, has)
    check_offloads(resolved)
    _check_sizes(resolved)
    _check_own_links(resolved)
    _check_stamps(resolved)


def watched_packets(resolved: Mapping[str, Any]) -> int:
    """Upper bound of the number of packets observed in a run."""
    return most_watched_packets(Resolved(resolved))


def job(
    resolved_json: str,
    replication: int,
    output: Path,
    tools: Mapping[str, str],
    *,
    login: Login | None = None,
    shell: Mapping[str, Any] | None = None,
    programs: Mapping[str, Any] | None = None,
    controllers: list[dict[str, Any]] | None = None,
    player: Player = PROCESS,
    tool_library: Path | None = None,
) -> str:
    """The job file of one replication.

    Args:
        resolved_json: Canonical description.
        replication: Number of the replication (its random streams).
        output: Folder for results.
        tools: Path of ``tc``, and of ``irtt`` if a probe needs it.
        login: Settings of hosts in which programs run.
        shell: Settings of a shell session (`guest/src/shell/orders.rs`), which replaces the
            description's traffic.
        programs: Job entries of the description's programs (`program_jobs`).
        controllers: Modules to load: path, name, flows.
        player: What reads and writes for flows and probes.
        tool_library: Library by which ``tc`` is loaded once (`dumbbell.backends.kernel.
            tool_library`); without it ``tc`` is started anew for each host.
    """
    resolved = json.loads(resolved_json)
    if has_traces(resolved):
        resolved = traces_as_changes(resolved, replication)
        resolved_json = json.dumps(resolved)
    made = _Job(resolved, tools, login)
    more = {
        **{"shell": shell, "programs": programs, "controllers": controllers},
        "traffic_module": None if player.module is None else str(player.module),
        "requires_module": player.is_required,
        "tool_library": None if tool_library is None else str(tool_library),
    }
    return made.to_json(resolved_json, replication, output, more)


def links_of_hosts(
    resolved_json: str, login: Login | None = None
) -> tuple[list[VethPair], list[list[HostLink]]]:
    """The links of a job, and by host what else it gets before the lines of ``tc``.

    Args:
        resolved_json: Canonical description.
        login: As in `job`.
    """
    made = _Job(json.loads(resolved_json), {}, login)
    return list(made.pairs()), made.host_links()


def _check_end(path: str, end: Mapping[str, Any]) -> None:
    check_trace(path, end)
    _check_delay(f"{path}.delay", end["delay_ns"])
    for index, change in enumerate(end["changes"]):
        _check_delay(f"{path}.changes[{index}].delay", change["delay_ns"] or 0)
        rate_bps = change["rate_bps"]
        if rate_bps is not None and bool(rate_bps) != bool(end["rate_bps"]):
            raise SpecError(
                f"{path}.changes[{index}].rate",
                units.format_rate(rate_bps) if rate_bps else "inf",
                "no change from or to rate inf on the kernel",
            )
    if end["capture_flows"]:
        allowed = "false on the kernel: write a `capture` and `dumbbell analyze` it"
        raise SpecError(f"{path}.capture_flows", True, allowed)
    if end["loss_every_pkts"]:
        raise SpecError(f"{path}.loss_every", end["loss_every_pkts"], "0 on the kernel")
    if end["rate_bps"] and end["qdisc"]["kind"] == "netem":
        raise SpecError(f"{path}.qdisc", "netem", 'netem with rate = "inf" on the kernel')
    if end["rate_bps"] and end["qdisc"]["kind"] == "noqueue":
        allowed = 'noqueue with rate = "inf" on the kernel, which has it as the root alone'
        raise SpecError(f"{path}.qdisc", "noqueue", allowed)
    for qdisc in disciplines(end["qdisc"]):
        if qdisc.get("linux_3_14"):
            raise SpecError(
                f"{path}.qdisc",
                "linux_3_14",
                "today's pie on the kernel: the word is not one of tc",
                "dq_rate_estimator",
            )


def _check_delay(path: str, delay_ns: int) -> None:
    if delay_ns % _NS_PER_US:
        # tc of iproute2 6.1 reads netem's delay in microseconds and refuses ns.
        raise SpecError(path, units.format_time(delay_ns), "whole microseconds on the kernel")


def _topology(resolved: Mapping[str, Any]) -> Topology:
    hosts = tuple(host["name"] for host in resolved["hosts"])
    return Topology(hosts, tuple((link["a"], link["b"]) for link in resolved["links"]))


def _is_ideal(flow: Mapping[str, Any]) -> bool:
    return bool(flow["source"].get("size_at") == "wire")


def _ideal_queues(resolved: Mapping[str, Any], topology: Topology) -> set[int]:
    """Queues that packets with a size on the wire traverse."""
    flows = [flow for flow in resolved["flows"] if _is_ideal(flow)]
    return {queue for flow in flows for queue in topology.route(flow["from"], flow["to"]) or ()}


def _check_sizes(resolved: Mapping[str, Any]) -> None:
    """Sizes on the wire need links that count 14 bytes of overhead, and no fragments on the same
    links.
    """
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


def _check_own_links(resolved: Mapping[str, Any]) -> None:
    """Refuse bursts that the sender's own link would send faster than its rate (`counts_once`)."""
    topology, ends = _topology(resolved), _ends(resolved)
    for index, flow in enumerate(resolved["flows"]):
        tcp, route = flow["tcp"], topology.route(flow["from"], flow["to"])
        if not tcp or tcp["gso_max_segs"] == 1 or not route:
            continue
        end = ends[route[0]]
        if counts_once(end):
            bytes_more = f"{end['overhead_bytes']}B"
            raise SpecError(
                f"flows[{index}].tcp.gso_max_segs",
                tcp["gso_max_segs"],
                f"1 on the kernel where the sender's own link has an overhead of {bytes_more}: its "
                "disciplines count it once a burst; or ethernet (14B) there",
            )


_STAMPED_FQ = {"ce_threshold_ns": "ce_threshold", "maxrate_bps": "maxrate"}
"""Parameters for which `fq` uses a packet's timestamp: field to tc's word."""


def _check_stamps(resolved: Mapping[str, Any]) -> None:
    """Refuse parameters of `fq` whose effect depends on a timestamp from another host.

    The kernel keeps TCP's timestamp between network namespaces (`mono_delivery_time`), but not
    between machines, so these parameters would have another effect in the guest.
    """
    topology, ends = _topology(resolved), _ends(resolved)
    for flow in resolved["flows"]:
        if not flow["tcp"]:
            continue
        ways = [
            topology.route(start, end) or []
            for start, end in [(flow["from"], flow["to"]), (flow["to"], flow["from"])]
        ]
        for queue in (queue for way in ways for queue in way[1:]):
            for qdisc in disciplines(ends[queue]["qdisc"]):
                for field, word in _STAMPED_FQ.items() if qdisc["kind"] == "fq" else ():
                    if qdisc.get(field) is not None:
                        raise SpecError(
                            f"links[{queue // 2}].{('forward', 'reverse')[queue % 2]}.qdisc",
                            f"fq {word}",
                            f"fq without {word} on the kernel where {flow['name']}, over TCP, "
                            "comes from another host: there it counts from when TCP sent it",
                        )


def _ends(resolved: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [link[key] for link in resolved["links"] for key in ("forward", "reverse")]


class _Job:
    def __init__(
        self, resolved: Mapping[str, Any], tools: Mapping[str, str], login: Login | None
    ) -> None:
        self._resolved = resolved
        self._login = login
        self._tools = tools
        self._topology = _topology(resolved)
        self._ends = _ends(resolved)
        self._hosts = {host: index for index, host in enumerate(self._topology.hosts)}
        self._ideal = _ideal_queues(resolved, self._topology)
        self._watched = watched_queues(Resolved(resolved))

    def to_json(
        self,
        resolved_json: str,
        replication: int,
        output: Path,
        more: Mapping[str, Any],
    ) -> str:
        login = self._login and self._login.for_guest(self._topology)
        return json.dumps(
            {
                **({"login": login} if login else {}),
                **{key: value for key, value in more.items() if value},
                **({"irtt": self._tools["irtt"]} if "irtt" in self._tools else {}),
                "resolved": resolved_json,
                "replication": replication,
                "pairs": [pair.for_guest() for pair in self.pairs()],
                "host_links": [[link.for_guest() for link in of] for of in self.host_links()],
                "steps": list(self._steps()),
                "changes": list(self._changes()),
                "sysctl": _listed(self._settings()),
                "host_sysctl": [_listed(host_settings(self._resolved, h)) for h in self._hosts],
                "output": str(output),
                "flow_addresses": self._addresses("flows"),
                "probe_addresses": self._addresses("probes"),
                "queues": [self._place(interface) for interface in self._topology.interfaces],
                "watched": [
                    {
                        "queue": queue,
                        "host": self._hosts[self._topology.interfaces[queue].host],
                        "device": self._topology.interfaces[queue].device,
                        "copies": copies_name(self._topology.interfaces[queue].device),
                    }
                    for queue in sorted(self._watched)
                ],
            }
        )

    def _settings(self) -> dict[str, str]:
        settings = _SETTINGS | common_settings(self._resolved)
        # Packets that programs send look as on a testbed.
        return settings | _LOGIN_SETTINGS if self._login else settings

    def pairs(self) -> Iterator[VethPair]:
        """The links."""
        interfaces = self._topology.interfaces
        for near, far in zip(interfaces[::2], interfaces[1::2], strict=True):
            yield VethPair(self._veth_end(near), self._veth_end(far))

    def host_links(self) -> list[list[HostLink]]:
        """By host: devices, addresses, neighbours and routes, in the order of their making."""
        routes = self._routes()
        return [
            [
                *(link for each in self._interfaces(host) for link in self._device(each)),
                *routes.get(host, {}),
            ]
            for host in self._hosts
        ]

    def _interfaces(self, host: str) -> list[Interface]:
        return [each for each in self._topology.interfaces if each.host == host]

    def _steps(self) -> Iterator[dict[str, Any]]:
        for host, index in self._hosts.items():
            lines = [line for each in self._interfaces(host) for line in self._tc(each)]
            if lines:
                yield self._step(index, "tc", lines)

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
        """Whether the far end of a queue's link needs a discipline for delay or loss."""
        return is_delayed(self._ends[queue])

    def _place(self, interface: Interface) -> dict[str, Any]:
        far = self._far(interface)
        delay = (self._hosts[far.host], ifb_name(far.device), DELAY_HANDLE << 16)
        return {
            "host": self._hosts[interface.host],
            "device": interface.device,
            "handle": QUEUE_HANDLE << 16,
            "propagation": delay if self._delays(interface.queue) else None,
            "tso": self._ends[interface.queue].get("tso", False),
            "gro": "gro_ns" in self._ends[far.queue],
            **set_up_below(self._ends[interface.queue]),
        }

    def _veth_end(self, interface: Interface) -> VethEnd:
        host = self._hosts[interface.host]
        return VethEnd(host, interface.device, _mac(interface.queue), self._mtu(interface))

    def _mtu(self, interface: Interface) -> int:
        """MTU of a veth pair: both ends must accept the other end's packets."""
        queues = (interface.queue, interface.queue ^ 1)
        if self._ideal.intersection(queues):
            return LARGEST_MTU_BYTES
        return int(self._ends[interface.queue]["mtu_bytes"])

    def _device(self, interface: Interface) -> Iterator[HostLink]:
        device, far = interface.device, self._far(interface)
        yield DeviceAddress(device, interface.address, NET_BITS)
        yield DeviceUp(device, gso_max_segs=self._segments(interface))
        yield Neighbour(device, interface.peer_address, _mac(far.queue))
        if self._delays(far.queue):
            yield from ifb_links(device)
        if interface.queue in self._watched:
            yield from copies_links(device)

    def _segments(self, interface: Interface) -> int:
        """Largest number of segments in a burst.

        Programs and logins have no key for it: if their link would send bursts too fast, their TCP
        sends single segments.
        """
        if self._login and counts_once(self._ends[interface.queue]):
            return 1
        return gso_max_segs(self._resolved, interface.host)

    def _routes(self) -> dict[str, dict[Route, None]]:
        """Routes by host: one per address in use, answers included; as in `render`."""
        interfaces = self._topology.interfaces
        routes: dict[str, dict[Route, None]] = {}
        if self._login:
            for host, route in subnet_routes(self._topology):
                routes.setdefault(host, {})[route] = None
        for sender in self._senders():
            out = self._topology.route(sender["from"], sender["to"]) or []
            back = self._topology.route(sender["to"], sender["from"]) or []
            ways = []
            if out:
                ways.append((interfaces[out[-1]].peer_address, out))
            if out and back:
                ways.append((interfaces[out[0]].address, back))
            for address, queues in ways:
                options = self._route_options(queues)
                for interface in (interfaces[queue] for queue in queues):
                    far = interface.peer_address.rpartition(".")[0] != address.rpartition(".")[0]
                    if far or options != NO_OPTIONS:
                        via = interface.peer_address if far else None
                        route = Route(address, HOST_BITS, interface.device, via, options)
                        routes.setdefault(interface.host, {})[route] = None
                    options = NO_OPTIONS  # for the sender only
        return routes

    def _senders(self) -> Iterator[Mapping[str, str]]:
        """Senders from one host to another."""
        programs = programs_of(self._resolved)
        yield from (*self._resolved["flows"], *self._resolved["probes"])
        yield from (each for each in programs if "to" in each)

    def _route_options(self, queues: list[int]) -> RouteOptions:
        """TCP options of the route on the sending host."""
        interfaces = self._topology.interfaces
        start = interfaces[queues[0]].host
        end = interfaces[queues[-1] ^ 1].host
        smallest = min(self._ends[queue]["mtu_bytes"] for queue in queues)
        is_narrower = smallest < self._ends[queues[0]]["mtu_bytes"]
        over_tcp = any(
            flow["transport"] == "tcp" and {flow["from"], flow["to"]} == {start, end}
            for flow in self._resolved["flows"]
        )
        mtu_bytes = smallest if over_tcp and is_narrower else None
        return route_options(self._resolved, start, end, mtu_bytes)

    def _changes(self) -> Iterator[dict[str, Any]]:
        """Later tc commands: one step per host, instant and link end."""
        for interface in self._topology.interfaces:
            now, far = self._ends[interface.queue], self._far(interface)
            here, there = self._hosts[interface.host], self._hosts[far.host]
            for change in now["changes"]:
                now = changed(now, change)
                steps = []
                if change["rate_bps"]:
                    lines = rate_change_lines(now, interface.device)
                    steps.append(self._step(here, "tc", lines))
                if self._delays(interface.queue):
                    steps.append(self._step(there, "tc", delay_change_lines(now, far.device)))
                for step in steps:
                    yield {"at_ns": change["at_ns"], "step": step}

    def _tc(self, interface: Interface) -> Iterator[str]:
        """Lines for the queue of an interface, then for the delay of its incoming packets."""
        end = self._ends[interface.queue]
        yield from queue_lines(end, interface.device, has_discipline=not set_up_below(end))
        far = self._far(interface)
        delays = self._delays(far.queue)
        if delays:
            yield from delay_lines(self._ends[far.queue], interface.device)
        is_watched = interface.queue in self._watched
        yield from egress_lines(
            self._ends[interface.queue],
            interface.device,
            has_hook=delays,
            copies_to=copies_name(interface.device) if is_watched else None,
        )


def _listed(settings: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"path": path, "value": value} for path, value in settings.items()]


def _mac(queue: int) -> str:
    number = queue + 1
    return f"02:00:00:{number >> 16 & 255:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
