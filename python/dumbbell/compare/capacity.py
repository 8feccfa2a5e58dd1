"""The capacity that bounds a rate, from the description; margins of rates are relative to it."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import named_groups
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Flow, Queue


def possible_bps(quantity: Quantity, described: Resolved) -> float:
    """The smallest rate of the links, shapers and policers on a quantity's path.

    For a queue it is the queue's own rate; for the network, the smallest over its flows' paths.
    Infinite if nothing limits the rate or the description has no path for the quantity.

    Args:
        quantity: A quantity of one of its runs.
        described: The resolved description.
    """
    match quantity.of:
        case MeasureSubject.QUEUE:
            return _least([described.queue(quantity.name)])
        case MeasureSubject.FLOW | MeasureSubject.FLOWS:
            place = named_groups(described.mapping)[quantity.name][0]
            return _of_flow(described.flow(place), described)
        case MeasureSubject.NETWORK:
            ways = (_of_flow(flow, described) for flow in described.flows)
            return min(ways, default=math.inf)
        case _:
            return math.inf


def _of_flow(flow: Flow, described: Resolved) -> float:
    return _least(described.route(flow.from_, flow.to))


def _least(queues: Iterable[Queue]) -> float:
    return min((rate for each in queues if (rate := each.most_passed_bps)), default=math.inf)
