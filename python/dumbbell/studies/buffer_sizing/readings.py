"""Interpretations of the source outside its grid that may explain the printed levels.

They were chosen after runs over the grid had shown which printed levels are not reproduced. A
reading that gives a set of levels is therefore an explanation, not a reproduction, and each reading
is an additional assumption (`dumbbell.studies.buffer_sizing.printed_numbers` counts them).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dumbbell.spec import Experiment
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Stack, Workload

GIGABIT = 1_000_000_000
FULL_PACKET_BYTES = 1500
"""Largest IP packet of an Ethernet."""
GUEST = "target2-guest"
"""Node whose interface has the pfifo, if a shaper is in the virtualisation host below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """All assumptions about one experiment.

    Attributes:
        workload: Workload of the experiment.
        stack: TCP of all hosts.
        per_host: Number of persistent flows, or users, per source node.
        sizes: Size distribution of mice or transfers.
        think_s: Mean thinking time of users.
        hosts: Source nodes.
        access_bps: Rate of all links but the bottleneck. Bursts arrive at the bottleneck at this
            rate.
        bottleneck_bps: Rate of the bottleneck.
        is_one_way: Whether only the end towards the sink of each link has a netem, so that
            acknowledgements are not delayed.
        host_queue_packets: Queue limit of a shaper in the virtualisation host; the guest's pfifo is
            then upstream of it and runs at the rate of the other links. None without a shaper.
        packet_bytes: Largest IP packet.
        has_rack: Whether loss detection is by time (RACK, in Linux since 4.4) or, as before, by
            three duplicate acknowledgements; tail loss probes are older.
        min_rto: Minimum RTO, in an experiment file's syntax; empty for the stack's default.
        gro: GRO interval of the bottleneck's router, in an experiment file's syntax. Its pfifo then
            holds super-packets, which are not segmented before the sink, so a capture behind it
            counts each as one packet. Empty without merging.
    """

    workload: Workload
    stack: Stack
    per_host: int
    sizes: str
    think_s: float = float(arms.THINK_S)
    hosts: int = published.SOURCES
    access_bps: int = published.LINK_BPS
    bottleneck_bps: int = published.BOTTLENECK_BPS
    is_one_way: bool = False
    host_queue_packets: int | None = None
    packet_bytes: int = FULL_PACKET_BYTES
    has_rack: bool = True
    min_rto: str = ""
    gro: str = ""

    @property
    def parameters(self) -> dict[str, float | str]:
        """Return the parameters as a verdict names them."""
        below = self.host_queue_packets
        return {
            "source nodes": self.hosts,
            "flows or users of each": self.per_host,
            "sizes": self.sizes,
            "thinking time (s)": self.think_s,
            "other links (Mbit/s)": self.access_bps / 1e6,
            "bottleneck (Mbit/s)": self.bottleneck_bps / 1e6,
            "delays": "one way" if self.is_one_way else "both ways",
            "queue below (packets)": "none" if below is None else below,
            "largest packet (bytes)": self.packet_bytes,
            "RACK": "yes" if self.has_rack else "no",
            "least timeout": self.min_rto or "as usual",
            "GRO at the router": self.gro or "off",
        }

    @property
    def unusual(self) -> dict[str, float | str]:
        """Return parameters that differ from the nominal point; flows, nodes and sizes always."""
        usual = Reading(
            workload=self.workload, stack=self.stack, per_host=self.per_host, sizes=self.sizes
        ).parameters
        always = ("source nodes", "flows or users of each", "sizes")
        return {
            name: value
            for name, value in self.parameters.items()
            if name in always or value != usual[name]
        }

    @property
    def tcp(self) -> dict[str, Any]:
        """Return the TCP options of each flow."""
        return {
            **arms.STACKS[self.stack],
            **({} if self.has_rack else {"rack": False}),
            **({"min_rto": self.min_rto} if self.min_rto else {}),
        }


@dataclass(frozen=True, slots=True)
class ReadingRun:
    """One run of a reading."""

    reading: Reading
    buffer: Buffer


def both_buffers(reading: Reading, *, seed: int, duration_s: float) -> dict[ReadingRun, Experiment]:
    """Return the runs of a reading: they differ in the buffer only, and have the same arrivals."""
    return {
        ReadingRun(reading, buffer): experiment(reading, packets, seed=seed, duration_s=duration_s)
        for buffer, packets in arms.BUFFERS.items()
    }


def experiment(
    reading: Reading, buffer_packets: int, *, seed: int, duration_s: float
) -> Experiment:
    """Return one of the four experiments under a reading; see `arms.experiment`."""
    return Experiment.read(
        {
            "name": f"buffer-sizing-{buffer_packets}",
            "seed": seed,
            "duration": f"{duration_s:g}s",
            "links": _links(reading, buffer_packets),
            "flows": _flows(reading),
        }
    )


def _flows(reading: Reading) -> list[dict[str, Any]]:
    flows = []
    for host in arms.tree(reading.hosts).sources:
        if reading.workload == "persistent":
            numbers = range(1, reading.per_host + 1)
            flows += [_flow(f"long-{host}-{at}", host, reading, arms.GREEDY) for at in numbers]
            flows.append(_flow(f"mice-{host}", host, reading, arms.arrivals_of(reading.sizes)))
        else:
            source = arms.users_of(reading.sizes, reading.think_s)
            numbers = range(1, reading.per_host + 1)
            flows += [_flow(f"user-{host}-{at}", host, reading, source) for at in numbers]
    return flows


def _flow(name: str, host: str, reading: Reading, source: Mapping[str, Any]) -> dict[str, Any]:
    return arms.flow(name, host, reading.tcp, source)


def _links(reading: Reading, buffer_packets: int) -> list[dict[str, Any]]:
    rate = f"{reading.access_bps}bit"
    below = reading.host_queue_packets
    root = "target2" if below is None else GUEST
    links = [
        {**link, "rate": rate, "b": root if link["b"] == "target2" else link["b"]}
        for link in arms.tree(reading.hosts).links
    ]
    buffer = {"qdisc": f"pfifo limit {buffer_packets}"}
    bottleneck = {
        "a": "target2",
        "b": "target1",
        "rate": f"{reading.bottleneck_bps}bit",
        "delay": f"{published.DELAYS_MS['bottleneck']}ms",
        "forward": buffer if below is None else {"qdisc": f"pfifo limit {below}"},
    }
    links.insert(0, bottleneck)
    if below is not None:
        links.append({"a": GUEST, "b": "target2", "rate": rate, "forward": buffer})
    if reading.gro:
        links = [_merging(link, root, reading.gro) for link in links]
    if reading.is_one_way:
        links = [_one_way(link) for link in links]
    return [link | {"mtu": f"{reading.packet_bytes}B"} for link in links]


def _one_way(link: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the delay of one end. Every link of the tree is written towards the sink."""
    if "delay" not in link:
        return dict(link)
    others = {name: value for name, value in link.items() if name != "delay"}
    return others | {"forward": {**link.get("forward", {}), "delay": link["delay"]}}


def _merging(link: Mapping[str, Any], root: str, gro: str) -> dict[str, Any]:
    """Merge frames arriving at the router; frames leaving it are not segmented."""
    key = "gro" if link["b"] == root else "tso" if link["a"] in (root, "target1") else ""
    offload = {"gro": gro, "tso": True}.get(key)
    forward = link.get("forward", {}) | ({key: offload} if key else {})
    return {**link, "forward": forward} if forward else dict(link)


# --- what was tried ----------------------------------------------------------------------------


def _persistent(stack: Stack, per_host: int, sizes: str, **more: Any) -> Reading:
    return Reading(workload="persistent", stack=stack, per_host=per_host, sizes=sizes, **more)


def _users(stack: Stack, per_host: int, sizes: str = "", **more: Any) -> Reading:
    return Reading(
        workload="closed-loop",
        stack=stack,
        per_host=per_host,
        sizes=sizes or arms.pareto(1.2, arms.MEAN_TRANSFER_BYTES),
        **more,
    )


_OLD_AND_BURSTY: Mapping[str, Any] = MappingProxyType(
    {"hosts": published.BINARY_TREE_SOURCES, "access_bps": GIGABIT, "has_rack": False}
)
LINUX_ONE_SIZE = (
    _persistent("testbed", 7, "constant 40000B"),
    _persistent("testbed", 6, "constant 15000B", hosts=published.BINARY_TREE_SOURCES),
)
LINUX_BURSTY = (_persistent("testbed", 6, "constant 15000B", **_OLD_AND_BURSTY),)
LINUX_ONE_WAY = tuple(
    _persistent("testbed", count, "constant 15000B", **_OLD_AND_BURSTY, is_one_way=True)
    for count in (6, 7)
)
NS_2_ONE_SIZE = (
    _persistent("ns-2", 9, "constant 22000B"),
    *(
        _persistent("ns-2", count, "constant 22000B", hosts=published.BINARY_TREE_SOURCES)
        for count in (7, 8)
    ),
)
NS_2_SMALL_PACKETS = (
    _persistent(
        "ns-2", 8, "constant 15000B", hosts=published.BINARY_TREE_SOURCES, packet_bytes=1040
    ),
)
LINUX_BETWEEN = (_users("testbed", 34),)
LINUX_HOST_SHAPER = (_users("testbed", 34, host_queue_packets=100),)
LINUX_ONE_WAY_USERS = (
    _users(
        "testbed", 100, arms.pareto(1.2, 72_000), think_s=10, is_one_way=True, **_OLD_AND_BURSTY
    ),
)
LINUX_SHAPER_GONE = (
    _users(
        "testbed",
        54,
        arms.pareto(1.2, 150_000),
        think_s=3,
        bottleneck_bps=published.LINK_BPS,
        **_OLD_AND_BURSTY,
    ),
)
LINUX_GRO = (
    _persistent("testbed", 6, "constant 15000B", **_OLD_AND_BURSTY, is_one_way=True, gro="50us"),
)
LINUX_GRO_USERS = (
    _users("testbed", 34, access_bps=GIGABIT, gro="50us"),
    _users(
        "testbed",
        100,
        arms.pareto(1.2, 72_000),
        think_s=10,
        is_one_way=True,
        **_OLD_AND_BURSTY,
        gro="50us",
    ),
)
NS_2_BETWEEN = (_users("ns-2", 104),)
NS_2_LEAST_TIMEOUT = (_users("ns-2", 45, min_rto="200ms"),)

READINGS: tuple[Reading, ...] = (
    *LINUX_ONE_SIZE,
    *LINUX_BURSTY,
    *LINUX_ONE_WAY,
    *NS_2_ONE_SIZE,
    *NS_2_SMALL_PACKETS,
    *LINUX_BETWEEN,
    *LINUX_HOST_SHAPER,
    *LINUX_ONE_WAY_USERS,
    *LINUX_SHAPER_GONE,
    *LINUX_GRO,
    *LINUX_GRO_USERS,
    *NS_2_BETWEEN,
    *NS_2_LEAST_TIMEOUT,
)
"""All readings, each once."""
