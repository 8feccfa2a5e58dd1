"""Placement of hosts and links in columns from senders to receivers.

A router is as tall as the rows of its links, so that every link of a tree is a straight horizontal
line with room for the queue's text above (forward) and below (reverse).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from dumbbell.report.topology import Link, Topology

_MOST_LEAVES_DRAWN = 3
"""If a router has more identical end hosts than this, they are drawn as one box."""


@dataclass(frozen=True)
class Node:
    """A box: a host, or several identical end hosts.

    Attributes:
        name: As printed in the box.
        count: Number of hosts it represents.
        column: Column; 0 is leftmost.
        top: First row it covers (rows may be fractional).
        rows: Rows it covers.
    """

    name: str
    count: int
    column: int
    top: float
    rows: float


@dataclass(frozen=True)
class Edge:
    """A link between boxes: ``left_to_right`` tells which direction is drawn above.

    Attributes:
        link: One of the links it represents.
        left: Index of the left box.
        right: Index of the right box.
        y_left: Row coordinate at the left box.
        y_right: Row coordinate at the right box.
        adjacent: Whether the boxes stand in neighbouring columns.
        left_to_right: Whether ``link.forward`` runs from left to right.
    """

    link: Link
    left: int
    right: int
    y_left: float
    y_right: float
    adjacent: bool
    left_to_right: bool


@dataclass(frozen=True)
class Layout:
    """Boxes and edges in units of columns and rows."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    columns: int
    rows: float


def lay_out(topology: Topology) -> Layout:
    """Place every host of a topology. Deterministic; accepts any graph."""
    return _Placement(topology).layout()


class _Placement:
    """The graph with identical leaves folded, then columns, then rows."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.neighbours: dict[str, list[str]] = {host: [] for host in topology.hosts}
        for link in topology.links:
            self.neighbours[link.a].append(link.b)
            self.neighbours[link.b].append(link.a)
        self.first_role: dict[str, str] = {}
        for sender, receiver in topology.traffic:
            self.first_role.setdefault(sender, "sender")
            self.first_role.setdefault(receiver, "receiver")

    @cached_property
    def core(self) -> list[str]:
        """Return hosts with more than one neighbour; none in a single link."""
        return [host for host, near in self.neighbours.items() if len(set(near)) > 1]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Return every representative leaf with the leaves it represents (itself included)."""
        alike: dict[tuple[object, ...], list[str]] = {}
        for link in self.topology.links:
            for leaf, router, out, back in (
                (link.a, link.b, link.forward, link.reverse),
                (link.b, link.a, link.reverse, link.forward),
            ):
                if len(self.neighbours[leaf]) == 1 and router in self.core:
                    key = (router, self.first_role.get(leaf), out.text, back.text)
                    alike.setdefault(key, []).append(leaf)
        return {leaves[0]: leaves for leaves in alike.values() if len(leaves) > _MOST_LEAVES_DRAWN}

    @cached_property
    def drawn(self) -> list[str]:
        """Return hosts that get a box."""
        folded = {leaf for first, leaves in self.groups.items() for leaf in leaves if leaf != first}
        return [host for host in self.topology.hosts if host not in folded]

    @cached_property
    def column_of(self) -> dict[str, int]:
        """Return columns in the direction of traffic: every hop of a path is right of the one
        before.
        """
        after = self._after()
        column: dict[str, int] = {}

        def longest_way_to(host: str) -> int:
            if host not in column:
                before = [one for one, others in after.items() if host in others]
                column[host] = max((longest_way_to(one) + 1 for one in before), default=0)
            return column[host]

        for host in after:
            longest_way_to(host)
        # A sender that joins midway is placed beside its router, not at the far left.
        for host, others in after.items():
            if others and not any(host in near for near in after.values()):
                column[host] = min(column[other] for other in others) - 1
        self._place_the_silent(column)
        least = min(column.values(), default=0)
        return {host: place - least for host, place in column.items()}

    def _after(self) -> dict[str, set[str]]:
        """Return each host with its next hops; cycles are broken, in order of first appearance."""
        after: dict[str, set[str]] = {}
        for sender, receiver in self.topology.traffic:
            path = _shortest_path(sender, receiver, self.neighbours)
            for one, other in pairwise(path):
                after.setdefault(one, set())
                after.setdefault(other, set())
                if not _reaches(other, one, after):
                    after[one].add(other)
        return after

    def _place_the_silent(self, column: dict[str, int]) -> None:
        """Place hosts without traffic one column right of a neighbour that has a place."""
        waiting = deque(list(column) or self.topology.hosts[:1])
        for host in waiting:
            column.setdefault(host, 0)
        while waiting:
            host = waiting.popleft()
            for near in self.neighbours[host]:
                if near not in column:
                    column[near] = column[host] + 1
                    waiting.append(near)
        for host in self.topology.hosts:
            column.setdefault(host, 0)

    def _rows_of(self) -> dict[str, float]:
        """Return the rows a box needs: the larger count of links on its two sides."""
        column, drawn = self.column_of, set(self.drawn)

        @cache
        def side(host: str, step: int) -> float:
            near = [n for n in self.neighbours[host] if n in drawn]
            beside = [n for n in near if column[n] == column[host] + step]
            # Only hosts attached to this host alone take its rows: a shared host is reached by one
            # line.
            return sum(max(1.0, side(n, step)) if alone(n, host, step) else 1.0 for n in beside)

        def alone(child: str, parent: str, step: int) -> bool:
            back = {n for n in self.neighbours[child] if column[n] == column[child] - step}
            return parent in self.core and back <= {parent}

        return {host: max(1.0, side(host, -1), side(host, 1)) for host in self.drawn}

    def layout(self) -> Layout:
        """Stack each column, centre it, and join the boxes."""
        rows = self._rows_of()
        tallest = max(
            (
                sum(rows[h] for h in self.drawn if self.column_of[h] == place)
                for place in set(self.column_of.values())
            ),
            default=1.0,
        )
        index: dict[str, int] = {}
        nodes: list[Node] = []
        for place in sorted(set(self.column_of.values())):
            hosts = self._in_order(place)
            top = (tallest - sum(rows[host] for host in hosts)) / 2
            for host in hosts:
                leaves = self.groups.get(host, [host])
                name = host if len(leaves) == 1 else f"{leaves[0]} … {leaves[-1]}"
                index[host] = len(nodes)
                nodes.append(Node(name, len(leaves), place, top, rows[host]))
                top += rows[host]
        edges = self._edges(nodes, index)
        return Layout(
            tuple(nodes), tuple(edges), max(self.column_of.values(), default=0) + 1, tallest
        )

    def _in_order(self, place: int) -> list[str]:
        """Return the hosts of a column, grouped by router, otherwise in the order of the
        description.
        """
        hosts = [host for host in self.drawn if self.column_of[host] == place]
        order = {host: number for number, host in enumerate(self.topology.hosts)}

        def key(host: str) -> tuple[int, int]:
            near = [order[n] for n in self.neighbours[host] if n in self.core]
            return (min(near, default=-1) if host not in self.core else order[host], order[host])

        return sorted(hosts, key=key)

    def _edges(self, nodes: list[Node], index: Mapping[str, int]) -> list[Edge]:
        edges: list[Edge] = []
        parallel: dict[frozenset[str], int] = {}
        for link in self.topology.links:
            if link.a not in index or link.b not in index:
                continue
            forward = self.column_of[link.a] <= self.column_of[link.b]
            left, right = (link.a, link.b) if forward else (link.b, link.a)
            seen = parallel[frozenset((left, right))] = (
                parallel.get(frozenset((left, right)), -1) + 1
            )
            one, other = nodes[index[left]], nodes[index[right]]
            small, large = (one, other) if one.rows <= other.rows else (other, one)
            count = sum({n.a, n.b} == {left, right} for n in self.topology.links)
            y_small = small.top + small.rows * (seen + 0.5) / count
            y_large = min(max(y_small, large.top + 0.3), large.top + large.rows - 0.3)
            y_left, y_right = (y_small, y_large) if small is one else (y_large, y_small)
            adjacent = self.column_of[right] - self.column_of[left] == 1
            edges.append(Edge(link, index[left], index[right], y_left, y_right, adjacent, forward))
        return edges


def _shortest_path(start: str, end: str, neighbours: Mapping[str, list[str]]) -> list[str]:
    """Return hosts from ``start`` to ``end`` by fewest hops; empty when there is no path."""
    came_from: dict[str, str | None] = {start: None}
    waiting = deque([start])
    while waiting:
        host = waiting.popleft()
        for near in neighbours.get(host, ()):
            if near not in came_from:
                came_from[near] = host
                waiting.append(near)
    if end not in came_from:
        return []
    path: list[str] = []
    step: str | None = end
    while step is not None:
        path.append(step)
        step = came_from[step]
    return path[::-1]


def _reaches(start: str, end: str, after: Mapping[str, set[str]]) -> bool:
    """Whether ``end`` can be reached from ``start`` along ``after``."""
    seen, waiting = {start}, [start]
    while waiting:
        host = waiting.pop()
        if host == end:
            return True
        new = after.get(host, set()) - seen
        seen |= new
        waiting.extend(new)
    return False
