"""Queues, interfaces and routes that follow from hosts and links.

Every link has two queues, one for each direction: link i forward (a to b) is queue 2 i, its
reverse is queue 2 i + 1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

LINKS_A_NET = 254
MOST_LINKS = 246 * LINKS_A_NET
"""Number of networks of the form 10.x.y.0/24 from 10.10.1.0 on."""


@dataclass(frozen=True, slots=True)
class Interface:
    """A host's end of a link, as on a testbed.

    Attributes:
        queue: Index of the egress queue.
        host: Its host.
        peer: Host at the other end.
        device: ``eth1``, ``eth2`` and so on in the order of links; ``eth0`` is left to the
            testbed's control network.
        address: IPv4 address, in a network of 24 bits of its own for each link.
        peer_address: Address of the other end.
    """

    queue: int
    host: str
    peer: str
    device: str
    address: str
    peer_address: str


@dataclass(frozen=True)
class Topology:
    """Hosts and the pairs that links join.

    Attributes:
        hosts: Names, in their order.
        pairs: (a, b) of each link, in their order.
    """

    hosts: tuple[str, ...]
    pairs: tuple[tuple[str, str], ...]
    _next: dict[str, dict[str, int]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """(from, to) of each queue."""
        return tuple(direction for a, b in self.pairs for direction in ((a, b), (b, a)))

    @property
    def queue_names(self) -> list[str]:
        """``a->b`` of each queue; the second of parallel links is ``a->b#2``."""
        seen: dict[str, int] = {}
        names = []
        for start, end in self.directions:
            name = f"{start}->{end}"
            seen[name] = seen.get(name, 0) + 1
            names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
        return names

    @cached_property
    def interfaces(self) -> tuple[Interface, ...]:
        """The interface of each queue, in the order of queues."""
        devices: dict[str, int] = {}
        interfaces = []
        for queue, (host, peer) in enumerate(self.directions):
            devices[host] = devices.get(host, 0) + 1
            net, subnet = divmod(queue // 2, LINKS_A_NET)
            prefix = f"10.{10 + net}.{subnet + 1}"
            own, other = (1, 2) if queue % 2 == 0 else (2, 1)
            interfaces.append(
                Interface(
                    queue=queue,
                    host=host,
                    peer=peer,
                    device=f"eth{devices[host]}",
                    address=f"{prefix}.{own}",
                    peer_address=f"{prefix}.{other}",
                )
            )
        return tuple(interfaces)

    def connected(self) -> dict[str, str]:
        """A representative host of the connected component of each host."""
        parent = {host: host for host in self.hosts}

        def root(host: str) -> str:
            while parent[host] != host:
                parent[host] = parent[parent[host]]
                host = parent[host]
            return host

        for a, b in self.pairs:
            parent[root(a)] = root(b)
        return {host: root(host) for host in self.hosts}

    def next_queues(self, destination: str) -> dict[str, int]:
        """At each host that can reach the destination, the queue to take.

        Paths are shortest in hops, found breadth first from the destination; among links to a
        host one hop nearer the earliest is taken. The engine computes the same.
        """
        if destination not in self._next:
            self._next[destination] = self._towards(destination)
        return self._next[destination]

    @cached_property
    def _entering(self) -> dict[str, list[tuple[int, str]]]:
        """(queue, host it leaves) of the queues towards each host."""
        entering: dict[str, list[tuple[int, str]]] = {host: [] for host in self.hosts}
        for queue, (start, end) in enumerate(self.directions):
            entering[end].append((queue, start))
        return entering

    def _towards(self, destination: str) -> dict[str, int]:
        distance = {destination: 0}
        chosen: dict[str, int] = {}
        waiting = deque([destination])
        while waiting:
            host = waiting.popleft()
            for queue, start in self._entering[host]:
                if start not in distance:
                    distance[start] = distance[host] + 1
                    waiting.append(start)
                if distance[start] == distance[host] + 1:
                    chosen[start] = min(chosen.get(start, queue), queue)
        return chosen

    def route(self, start: str, end: str) -> list[int] | None:
        """The queues on the path from one host to another; None if there is no path."""
        if start == end:
            return []
        # Most hosts have one link, so the route to a host is that to its neighbour, and there are
        # few of these.
        ways_in = self._entering[end]
        last, goal = ways_in[0] if len(ways_in) == 1 else (None, end)
        chosen = self.next_queues(goal)
        directions = self.directions
        queues = []
        host = start
        while host != goal:
            if host not in chosen:
                return None
            queues.append(chosen[host])
            host = directions[chosen[host]][1]
        return queues if last is None else [*queues, last]


def hosts_of(pairs: Iterable[Sequence[str]]) -> list[str]:
    """The hosts that links name, in the order of their first appearance."""
    return list(dict.fromkeys(host for pair in pairs for host in pair))
