"""Warn if the bottleneck queue is on the sending host, where TCP keeps it short."""

from __future__ import annotations

from itertools import chain, count

from dumbbell.spec import Resolved

_ROUTER = "router"


def own_bottlenecks(described: Resolved) -> dict[int, list[str]]:
    """Queues on senders' hosts that are the slowest on the path, with their flows.

    Only flows with TCP small queues count; a netem with a delay does not.

    Args:
        described: The description that is run.
    """
    found: dict[int, list[str]] = {}
    for flow in described.flows:
        if flow.tcp is None or not flow.tcp.small_queues:
            continue
        way = described.route(flow.from_, flow.to)
        if not way or not way[0].served_bps:
            continue
        own = way[0]
        # A policer drops packets before any queue, also before the sender's own.
        if any(0 < queue.passed_bps < own.served_bps for queue in way):
            continue
        if own.rate_bps == own.served_bps or own.qdisc.kind != "netem":
            found.setdefault(own.index, []).append(flow.name)
    return found


def own_queue_notes(described: Resolved) -> list[str]:
    """A note for each such queue, with the link to add."""
    hosts = frozenset(described.hosts)
    names = chain([_ROUTER], (f"{_ROUTER}-{k}" for k in count(2)))
    router = next(name for name in names if name not in hosts)
    notes = []
    for index, flows in own_bottlenecks(described).items():
        queue = described.queue(index)
        many = len(flows) > 1
        which = ", ".join(flows[:3]) + (f" and {len(flows) - 3} more" if len(flows) > 3 else "")
        notes.append(
            f"{queue.name} is the slowest queue of {which} and in {'their' if many else 'its'} "
            "sender's own host. There Linux's TCP keeps it short, whatever its qdisc: about a "
            "millisecond of each flow, two packets at least (TCP small queues). For the queue of a "
            f'router put one before it: [[links]] with a = "{queue.from_}", b = "{router}", and in '
            f'the link to {queue.to} "{router}" in place of "{queue.from_}".'
        )
    return notes
