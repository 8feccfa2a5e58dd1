"""Rates and capacities of a run's queues, from its description."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dumbbell import _engine
from dumbbell.errors import DumbbellError
from dumbbell.spec import Resolved
from dumbbell.spec.resolved import Queue
from dumbbell.tables import Run

NS_PER_S = 1e9


_latest: dict[int, Resolved] = {}
"""Cache of one description, by identity: metrics of thousands of flows read it dozens of times
each, and the parsed view caches derived values."""


def resolved_of(run: Run) -> Resolved:
    """The run's description with types: ``resolved_of(run).queue("a->b").limit_bytes``.

    Raises:
        DumbbellError: The run was imported and has no description.
    """
    if run.spec is None:
        raise DumbbellError("this metric needs the description, which an imported run has not")
    latest = _latest.get(id(run.spec))
    if latest is None or latest.mapping is not run.spec:
        latest = Resolved(run.spec)
        _latest.clear()
        _latest[id(run.spec)] = latest
    return latest


def capacity_bits(run: Run, queue: str | int) -> float:
    """Bits that a queue's link can send in the measured window, changes of its rate included.

    The slower of transmitter and discipline counts. Infinite if neither has a rate at some time.
    """
    end = resolved_of(run).queue(run.queue(queue))
    return _bits(run, end, end.qdisc.shaped_bps)


def passed_bits(run: Run, queue: str | int) -> float:
    """Like `capacity_bits`, but limited by the policer in front of the queue.

    A policer counts by its rate, without the burst.
    """
    end = resolved_of(run).queue(run.queue(queue))
    return _bits(run, end, end.qdisc.shaped_bps, end.police.rate_bps if end.police else 0)


def traced_bits(run: Run, queue: str | int, edges_ns: Sequence[int]) -> NDArray[np.float64]:
    """Capacity of a link with a trace between consecutive edges, bits.

    Args:
        run: A run.
        queue: A queue whose link has a trace.
        edges_ns: Times since the run's start, not decreasing.

    Returns:
        Shape (edges - 1,); infinite where the rate is not limited.
    """
    described = resolved_of(run)
    end = described.queue(run.queue(queue))
    drawn = (described.seed, run.replication, end.name, described.duration_ns)
    return _engine.trace_bits(json.dumps(end.mapping), drawn, edges_ns)


def _bits(run: Run, end: Queue, *limits_bps: int) -> float:
    """Capacity by the link's rate and the constant rates; a rate of 0 means no limit."""
    described = resolved_of(run)
    start, stop = described.warm_up_ns, described.duration_ns
    if end.trace is not None:
        traced = float(traced_bits(run, end.index, [start, stop])[0])
        return min(
            traced, *((stop - start) / NS_PER_S * each for each in limits_bps if each), np.inf
        )
    steps = [(0, end.rate_bps)]
    steps += [(each.at_ns, each.rate_bps) for each in end.changes if each.rate_bps is not None]
    total = 0.0
    for (since, rate), (until, _) in zip(steps, [*steps[1:], (stop, 0)], strict=True):
        span_ns = min(until, stop) - max(since, start)
        if span_ns > 0:
            slowest = min((each for each in (rate, *limits_bps) if each), default=0)
            total += span_ns / NS_PER_S * slowest if slowest else float("inf")
    return total
