"""What the description says of a run's queues: routes and rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dumbbell.errors import DumbbellError
from dumbbell.spec import Resolved, Topology
from dumbbell.tables import Run

NS_PER_S = 1e9


def spec_of(run: Run) -> Mapping[str, Any]:
    """The run's description.

    Raises:
        DumbbellError: It was imported and has none.
    """
    if run.spec is None:
        raise DumbbellError("this metric needs the description, which an imported run has not")
    return run.spec


def resolved_of(run: Run) -> Resolved:
    """The run's description, read with types: ``resolved_of(run).queue("a->b").limit_bytes``.

    Raises:
        DumbbellError: It was imported and has none.
    """
    return Resolved(spec_of(run))


def link_end(spec: Mapping[str, Any], queue: int) -> Mapping[str, Any]:
    """The directed link end of a queue."""
    link = spec["links"][queue // 2]
    end: Mapping[str, Any] = link["reverse" if queue % 2 else "forward"]
    return end


def topology_of(spec: Mapping[str, Any]) -> Topology:
    """Hosts, queues and routes of a resolved description."""
    pairs = tuple((link["a"], link["b"]) for link in spec["links"])
    return Topology(tuple(host["name"] for host in spec["hosts"]), pairs)


def own_rate_bps(end: Mapping[str, Any]) -> int:
    """Rate of the transmitter, or of a discipline that paces itself; 0 when nothing shapes."""
    return int(end["rate_bps"]) or int(end["qdisc"].get("rate_bps", 0))


def capacity_bits(run: Run, queue: str | int) -> float:
    """Bits that a queue's link can send in the measured window, changes of its rate included.

    Infinite when nothing shapes there at some time.
    """
    spec = spec_of(run)
    end = link_end(spec, run.queue(queue))
    start, stop = spec["warm_up_ns"], spec["duration_ns"]
    steps = [(0, int(end["rate_bps"]))]
    steps += [(c["at_ns"], int(c["rate_bps"])) for c in end["changes"] if c["rate_bps"] is not None]
    paced = int(end["qdisc"].get("rate_bps", 0))
    total = 0.0
    for (since, rate), (until, _) in zip(steps, [*steps[1:], (stop, 0)], strict=True):
        span_ns = min(until, stop) - max(since, start)
        if span_ns > 0:
            # The slower of link and discipline governs; 0 stands for no limit.
            slowest = min((each for each in (rate, paced) if each), default=0)
            total += span_ns / NS_PER_S * slowest if slowest else float("inf")
    return total
