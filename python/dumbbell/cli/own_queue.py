"""Says when the queue that was meant to be looked at is one that its own sender keeps short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.metrics.path import link_end, own_rate_bps, topology_of

_ROUTER = "router"


def own_bottlenecks(spec: Mapping[str, Any]) -> dict[int, list[str]]:
    """Queues of senders' own hosts that are the slowest on the way, each with its flows.

    Only of flows that keep TCP small queues; a netem that takes time is none.

    Args:
        spec: A resolved description.
    """
    topology = topology_of(spec)
    found: dict[int, list[str]] = {}
    for flow in spec["flows"]:
        if flow["transport"] != "tcp" or not flow["tcp"]["small_queues"]:
            continue
        way = topology.route(flow["from"], flow["to"]) or []
        rates = [own_rate_bps(link_end(spec, queue)) or float("inf") for queue in way]
        if not way or rates[0] == float("inf") or rates[0] > min(rates):
            continue
        end = link_end(spec, way[0])
        if end["rate_bps"] or end["qdisc"]["kind"] != "netem":
            found.setdefault(way[0], []).append(flow["name"])
    return found


def own_queue_notes(spec: Mapping[str, Any]) -> list[str]:
    """A note for each of them, with the link to be added."""
    names = topology_of(spec).queue_names
    taken = {host["name"] for host in spec["hosts"]}
    router = next(
        name for name in (_ROUTER, *(f"{_ROUTER}-{k}" for k in range(2, 100_000)))
        if name not in taken
    )  # fmt: skip
    notes = []
    for queue, flows in own_bottlenecks(spec).items():
        host, far = topology_of(spec).directions[queue]
        many = len(flows) > 1
        which = ", ".join(flows[:3]) + (f" and {len(flows) - 3} more" if len(flows) > 3 else "")
        notes.append(
            f"{names[queue]} is the slowest queue of {which} and in {'their' if many else 'its'} "
            "sender's own host. There Linux's TCP keeps it short, whatever its qdisc: about a "
            "millisecond of each flow, two packets at least (TCP small queues). For the queue of a "
            f'router put one before it: [[links]] with a = "{host}", b = "{router}", and in the '
            f'link to {far} "{router}" in place of "{host}".'
        )
    return notes
