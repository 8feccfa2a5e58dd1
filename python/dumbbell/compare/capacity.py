"""The most that a rate of a run can be, by its description: what a margin of it is a share of."""

from __future__ import annotations

import math
from collections.abc import Iterable

from dumbbell.compare.measures import MeasureSubject
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import named_groups
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Flow, Queue


def possible_bps(quantity: Quantity, described: Resolved) -> float:
    """The smallest rate on the way of what a quantity is of, of links, shapers and policers.

    Of a queue its own; of the network that of the narrowest of its flows' ways. Infinite where
    nothing limits it, and of what has no way in the description.

    Args:
        quantity: Of a run of it.
        described: Where its name is one of the description's.
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
