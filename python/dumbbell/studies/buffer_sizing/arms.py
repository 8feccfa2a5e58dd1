"""The tree, the traffic, and the grid of all parameters that the source does not give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from dumbbell.spec import Experiment
from dumbbell.studies.buffer_sizing import published

Stack = Literal["testbed", "ns-2"]
Load = Literal["light", "medium", "heavy"]
Workload = Literal["persistent", "closed-loop"]
Buffer = Literal["small", "large"]
WORKLOADS: Mapping[Workload, str] = MappingProxyType(
    {"persistent": "persistent flows with mice", "closed-loop": "users in closed loops"}
)
"""Workloads, with their names on the page."""
BUFFERS: Mapping[Buffer, int] = MappingProxyType(
    {"small": published.SMALL_PACKETS, "large": published.LARGE_PACKETS}
)
BOTTLENECK = "target2->target1"
PACKET_BYTES = 1514
PAYLOAD_BYTES = 1448

STACKS: Mapping[Stack, Mapping[str, Any]] = MappingProxyType(
    {
        # The defaults of a Linux host: SACK, initial window 10, CUBIC.
        "testbed": {"profile": "linux-6.1", "congestion_control": "cubic"},
        # ns-2's NewReno: no SACK, no timestamps, no delayed acknowledgements, a minimum RTO of 1 s;
        # the initial window of RFC 2581.
        "ns-2": {
            "profile": "rfc",
            "congestion_control": "reno",
            "initial_window": 2,
            "sack": False,
            "timestamps": False,
            "delayed_ack": False,
            "hystart": False,
        },
    }
)
"""Two interpretations, because the source does not name its congestion control."""

GREEDY: Mapping[str, str] = MappingProxyType({"kind": "greedy"})
PERSISTENT_PER_HOST: Mapping[Load, int] = MappingProxyType({"light": 5, "medium": 14, "heavy": 43})
"""43 on each of 18 hosts give the 772 flows for which B = CT/sqrt(N) turns 500 into 18 packets; the
other loads are a third and a ninth of that."""
USERS_PER_HOST: Mapping[Load, int] = MappingProxyType({"light": 13, "medium": 26, "heavy": 52})
"""Without queueing and losses, the offered load is about half, one and two times the bottleneck
rate."""
MICE_PER_S = 2
"""Rate of mice per host."""
MEAN_MOUSE_BYTES = 15_000
MEAN_TRANSFER_BYTES = 30_000
THINK_S = 1
START_JITTER = "1s"
"""The source started 18 programs by hand, so they did not start at the same instant."""


@dataclass(frozen=True, slots=True)
class Point:
    """A setting of the parameters that the source does not give.

    Attributes:
        stack: TCP of all hosts.
        load: Number of flows.
        hosts: Source nodes: 18 according to the text (three below each h2), or 14 for a binary
            tree.
        tail: Shape of the Pareto distribution of sizes; a smaller shape has a heavier tail.
    """

    stack: Stack = "testbed"
    load: Load = "medium"
    hosts: int = published.SOURCES
    tail: float = 1.2

    @property
    def parameters(self) -> dict[str, float | str]:
        """Return the parameters as a verdict names them."""
        return {
            "TCP": self.stack,
            "load": self.load,
            "source nodes": self.hosts,
            "tail of the sizes": self.tail,
        }


GRID: tuple[Point, ...] = tuple(
    replace(each, stack=stack)
    for each in (
        Point(),
        Point(load="light"),
        Point(load="heavy"),
        Point(hosts=published.BINARY_TREE_SOURCES),
        Point(tail=1.5),
    )
    for stack in STACKS
)
"""The grid, fixed before anything was judged; the nominal points of both stacks come first."""
LIGHT = tuple(point for point in GRID if point.load == "light")
"""The part of the grid with the shortest run time."""


@dataclass(frozen=True, slots=True)
class Case:
    """An experiment that is run with both buffers.

    Attributes:
        point: The free parameters.
        workload: Persistent flows with mice, or users in closed loops.
    """

    point: Point
    workload: Workload

    @property
    def is_nominal(self) -> bool:
        """Whether it differs from the nominal point at most in the stack."""
        return self.point == Point(self.point.stack)


@dataclass(frozen=True, slots=True)
class Setup:
    """One run of a case."""

    case: Case
    buffer: Buffer


def cases(points: Iterable[Point]) -> tuple[Case, ...]:
    """Return both workloads at each point."""
    return tuple(Case(point, workload) for point in points for workload in WORKLOADS)


def both_buffers(case: Case, *, seed: int, duration_s: float) -> dict[Setup, Experiment]:
    """Return the runs of a case: they differ in the buffer only, and have the same arrivals."""
    return {
        Setup(case, buffer): experiment(
            case.point, case.workload, packets, seed=seed, duration_s=duration_s
        )
        for buffer, packets in BUFFERS.items()
    }


@dataclass(frozen=True, slots=True)
class Tree:
    """The topology: hosts by level, and links towards the sink."""

    sources: tuple[str, ...]
    links: tuple[Mapping[str, Any], ...]


@cache
def tree(hosts: int) -> Tree:
    """Return the tree of 14 or 18 source nodes: two h1, four h2, two or three h3 below each h2."""
    delays = published.DELAYS_MS
    fast = f"{published.LINK_BPS}bit"
    links: list[dict[str, Any]] = [
        {"a": "target1", "b": "sink", "rate": fast, "delay": f"{delays['sink']}ms"}
    ]
    names = {level: [f"{level}-{at}" for at in (1, 2, 3, 4)] for level in ("h1", "h2")}
    names["h1"] = names["h1"][:2]
    names["h3"] = [f"h3-{at}" for at in range(1, hosts - 6 + 1)]
    parents = {"h1": ["target2"], "h2": names["h1"], "h3": names["h2"]}
    for level, of_level in names.items():
        above = parents[level]
        for at, name in enumerate(of_level):
            link = {"a": name, "b": above[at * len(above) // len(of_level)]}
            links.append(link | {"rate": fast, "delay": f"{delays[level]}ms"})
    return Tree(tuple(name for of_level in names.values() for name in of_level), tuple(links))


def experiment(
    point: Point, workload: Workload, buffer_packets: int, *, seed: int, duration_s: float
) -> Experiment:
    """Return one of the four experiments.

    Args:
        point: The free parameters.
        workload: Persistent flows with mice, or users in closed loops.
        buffer_packets: Limit of the bottleneck's pfifo.
        seed: Seed of all random streams; flows of the same name have the same arrivals with either
            buffer.
        duration_s: The source's 150 s, or a shortened run.
    """
    flows: list[dict[str, Any]] = []
    for host in tree(point.hosts).sources:
        if workload == "persistent":
            flows += persistent(host, point)
            flows.append(flow(f"mice-{host}", host, STACKS[point.stack], mice(point.tail)))
        else:
            flows += users(host, point, USERS_PER_HOST[point.load])
    return network(flows, buffer_packets, hosts=point.hosts, seed=seed, duration_s=duration_s)


def persistent(host: str, point: Point) -> list[dict[str, Any]]:
    """Return the persistent flows of one source node."""
    return [
        flow(f"long-{host}-{at}", host, STACKS[point.stack], GREEDY)
        for at in range(1, PERSISTENT_PER_HOST[point.load] + 1)
    ]


def users(host: str, point: Point, count: int) -> list[dict[str, Any]]:
    """Return `count` users in closed loops at one source node."""
    return [
        flow(f"user-{host}-{at}", host, STACKS[point.stack], closed_loop(point.tail))
        for at in range(1, count + 1)
    ]


def network(
    flows: list[dict[str, Any]],
    buffer_packets: int,
    *,
    hosts: int,
    seed: int,
    duration_s: float,
    warm_up_s: float = 0,
) -> Experiment:
    """Return the tree with any traffic."""
    bottleneck = {
        "a": "target2",
        "b": "target1",
        "rate": f"{published.BOTTLENECK_BPS}bit",
        "delay": f"{published.DELAYS_MS['bottleneck']}ms",
        "forward": {"qdisc": f"pfifo limit {buffer_packets}"},
    }
    return Experiment.read(
        {
            "name": f"buffer-sizing-{buffer_packets}",
            "seed": seed,
            "duration": f"{duration_s:g}s",
            "warm_up": f"{warm_up_s:g}s",
            "links": [bottleneck, *tree(hosts).links],
            "flows": flows,
        }
    )


def typed(packets: int) -> Experiment:
    """Return the tree with one persistent flow per source node, for printing its commands."""
    flows = [
        flow(f"long-{host}-1", host, STACKS["testbed"], GREEDY)
        for host in tree(published.SOURCES).sources
    ]
    return network(flows, packets, hosts=published.SOURCES, seed=1, duration_s=published.DURATION_S)


def greedy_flows(count: int, controller: str) -> list[dict[str, Any]]:
    """Return `count` greedy flows of a Linux controller, spread over the 18 sources."""
    sources = tree(published.SOURCES).sources
    return [
        {
            "name": f"long-{at}",
            "from": sources[at % len(sources)],
            "to": "sink",
            "start_jitter": START_JITTER,
            "tcp": {"congestion_control": controller},
            "source": {"kind": "greedy"},
        }
        for at in range(count)
    ]


def mice(tail: float) -> dict[str, Any]:
    """Return the short transfers of one host: a Poisson process."""
    return arrivals_of(pareto(tail, MEAN_MOUSE_BYTES))


def closed_loop(tail: float) -> dict[str, Any]:
    """Return one user: heavy-tailed sizes, exponential think times."""
    return users_of(pareto(tail, MEAN_TRANSFER_BYTES), THINK_S)


def arrivals_of(sizes: str) -> dict[str, Any]:
    """Return the short transfers of one host, with any distribution of sizes."""
    return {"kind": "arrivals", "gap": f"exponential {MICE_PER_S}pps", "size": sizes}


def users_of(sizes: str, think_s: float) -> dict[str, Any]:
    """Return one user, with any distribution of sizes and mean think time."""
    return {"kind": "closed_loop", "size": sizes, "think": f"exponential {think_s:g}s"}


def pareto(shape: float, mean_bytes: float) -> str:
    """Return a Pareto distribution of sizes with that mean."""
    return f"pareto {shape:g} {mean_bytes * (shape - 1) / shape:g}B"


def flow(name: str, host: str, tcp: Mapping[str, Any], source: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flow of one source node to the sink."""
    return {
        "name": name,
        "from": host,
        "to": "sink",
        "start_jitter": START_JITTER,
        "tcp": dict(tcp),
        "source": dict(source),
    }
