"""How flows share what there is: capacity used, and how equally."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.flow import goodput_bps
from dumbbell.metrics.path import NS_PER_S, passed_bits, resolved_of
from dumbbell.metrics.registry import metric
from dumbbell.tables import Run

__all__ = [
    "capacity_share",
    "goodput_share",
    "goodput_share_of_greedy",
    "jain_index",
    "path_capacity_bps",
    "total_goodput_bps",
]

_SECTION = "Sharing"
Flows = str | int | Sequence[str | int]


@metric("bit/s", _SECTION)
def total_goodput_bps(run: Run, flows: Flows | None = None) -> float:
    """Sum of the goodputs (`goodput_bps`) of some flows; of all when None, zero of none."""
    return float(sum(goodput_bps(run, each) for each in _listed(run, flows)))


@metric("bit/s", _SECTION)
def path_capacity_bps(run: Run, flow: str | int) -> float:
    """Rate of the narrowest link on a flow's way, its mean over the measured window.

    Changes of a rate are integrated; a discipline that shapes and a policer count where they are
    slower than the link, over a long time: without their bursts. Bits on the wire. Infinite where
    nothing limits the rate.
    """
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    measured_s = (described.duration_ns - described.warm_up_ns) / NS_PER_S
    way = described.route(of_flow.from_, of_flow.to)
    return min((passed_bits(run, queue.index) / measured_s for queue in way), default=np.inf)


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
def goodput_share(run: Run, flows: Flows) -> float:
    """Goodput of some flows over that of all flows (`total_goodput_bps`), from 0 to 1.

    NaN where nothing arrived.
    """
    return _share(run, flows, _Goodputs.of(run).bps)


@metric("1", _SECTION)
def goodput_share_of_greedy(run: Run, flows: Flows) -> float:
    """Goodput of some greedy flows over that of all greedy flows, from 0 to 1.

    Which of two congestion controllers takes how much, whatever transfers and paced traffic there
    is beside them: those take no more than their source offers. NaN where one of the flows is not
    greedy, or where nothing arrived.
    """
    found = _Goodputs.of(run)
    if not all(found.is_greedy[run.flow(each)] for each in _listed(run, flows)):
        return float("nan")
    return _share(run, flows, found.bps[found.is_greedy])


@metric("1", _SECTION)
def jain_index(run: Run, flows: Flows | None = None) -> float:
    """Jain's index of the goodputs of some flows: (sum x)^2 / (n sum x^2).

    1 when all have the same, 1/n when one has everything (Jain, Chiu and Hawe, DEC-TR-301, 1984).
    When None, of all greedy flows over TCP: the others take no more than their source offers, and
    being given less is not their network's doing. NaN of fewer than two flows, or of flows that got
    nothing.
    """
    if flows is None:
        flows = [int(index) for index in np.flatnonzero(_Goodputs.of(run).is_greedy)]
    x = np.array([goodput_bps(run, each) for each in _listed(run, flows)])
    squares = float((x**2).sum())
    if x.size < 2 or not squares > 0.0:
        return float("nan")
    return float(x.sum()) ** 2 / (x.size * squares)


@dataclass(frozen=True, slots=True, eq=False)
class _Goodputs:
    """Of all flows, kept for the latest run: each share of a thousand asks for them."""

    bps: NDArray[np.float64]
    is_greedy: NDArray[np.bool_]

    @classmethod
    def of(cls, run: Run) -> _Goodputs:
        latest = getattr(_latest, "of", None)
        if latest is not None and latest[0]() is run:
            return cast(_Goodputs, latest[1])
        described = resolved_of(run).flows
        found = cls(
            np.array([goodput_bps(run, index) for index in range(len(described))]),
            np.array([flow.source.kind == "greedy" for flow in described], dtype=bool),
        )
        _latest.of = ref(run), found
        return found


_latest = threading.local()
"""Of each thread the run that was asked about last, which it does not keep alive."""


def _share(run: Run, flows: Flows, among: NDArray[np.float64]) -> float:
    whole = float(among.sum())
    return total_goodput_bps(run, flows) / whole if whole > 0.0 else float("nan")


def _listed(run: Run, flows: Flows | None) -> Sequence[str | int]:
    if flows is None:
        return range(len(run.flow_names))
    return [flows] if isinstance(flows, str | int) else flows
