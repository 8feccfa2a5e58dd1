"""How flows share what there is: capacity used, and how equally."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dumbbell.metrics.flow import goodput_bps
from dumbbell.metrics.path import NS_PER_S, capacity_bits, resolved_of
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

_SECTION = "Sharing"
Flows = str | int | Sequence[str | int]


@metric("bit/s", _SECTION)
def total_goodput_bps(run: Run, flows: Flows | None = None) -> float:
    """Sum of the goodputs (`goodput_bps`) of some flows; of all when None, zero of none."""
    return float(sum(goodput_bps(run, each) for each in _listed(run, flows)))


@metric("bit/s", _SECTION)
def path_capacity_bps(run: Run, flow: str | int) -> float:
    """Rate of the narrowest link on a flow's way, its mean over the measured window.

    Changes of a rate are integrated; a discipline that shapes counts where it is slower than the
    link. Bits on the wire. Infinite where nothing limits the rate.
    """
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    measured_s = (described.duration_ns - described.warm_up_ns) / NS_PER_S
    way = described.route(of_flow.from_, of_flow.to)
    return min((capacity_bits(run, queue.index) / measured_s for queue in way), default=np.inf)


@metric("1", _SECTION)
def capacity_share(run: Run, flows: Flows) -> float:
    """Goodput over the rate of the narrowest link on the way (`path_capacity_bps`).

    Of several flows together: the sum of theirs, which is meant for flows between the same two
    hosts. Headers and what is sent again keep it below 1. NaN where nothing limits the rate.
    """
    listed = _listed(run, flows)
    capacity_bps = np.array([path_capacity_bps(run, each) for each in listed])
    if not len(listed) or not np.isfinite(capacity_bps).all():
        return float("nan")
    return float(sum(goodput_bps(run, each) for each in listed) / capacity_bps.mean())


@metric("1", _SECTION)
def jain_index(run: Run, flows: Flows | None = None) -> float:
    """Jain's index of the goodputs of some flows: (sum x)^2 / (n sum x^2).

    1 when all have the same, 1/n when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    When None, of all greedy flows over TCP: the others take no more than their source offers, and
    being given less is not their network's doing. NaN of fewer than two flows, or of flows that got
    nothing.
    """
    if flows is None:
        described = resolved_of(run).flows
        flows = [index for index, flow in enumerate(described) if flow.source.kind == "greedy"]
    x = np.array([goodput_bps(run, each) for each in _listed(run, flows)])
    squares = float((x**2).sum())
    if x.size < 2 or not squares > 0.0:
        return float("nan")
    return float(x.sum()) ** 2 / (x.size * squares)


def _listed(run: Run, flows: Flows | None) -> Sequence[str | int]:
    if flows is None:
        return range(len(run.flow_names))
    return [flows] if isinstance(flows, str | int) else flows
