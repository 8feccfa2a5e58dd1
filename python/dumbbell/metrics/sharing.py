"""How flows share the capacity: used capacity and fairness."""

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
    """Sum of the goodputs (`goodput_bps`) of some flows; of all flows if None."""
    return float(sum(goodput_bps(run, each) for each in _listed(run, flows)))


@metric("bit/s", _SECTION)
def path_capacity_bps(run: Run, flow: str | int) -> float:
    """Mean rate of the slowest link on a flow's path over the measured window.

    Changes of a rate are integrated. A shaping discipline or a policer counts, by its long-term
    rate, if it is slower than the link. Bits on the wire. Infinite if no link has a rate.
    """
    described = resolved_of(run)
    of_flow = described.flow(run.flow(flow))
    measured_s = (described.duration_ns - described.warm_up_ns) / NS_PER_S
    way = described.route(of_flow.from_, of_flow.to)
    return min((passed_bits(run, queue.index) / measured_s for queue in way), default=np.inf)


@metric("1", _SECTION)
def capacity_share(run: Run, flows: Flows) -> float:
    """Goodput over the rate of the slowest link on the path (`path_capacity_bps`).

    For several flows, which should be between the same two hosts, the sum of their goodputs counts.
    Headers and retransmissions keep it below 1. NaN if no link has a rate.
    """
    listed = _listed(run, flows)
    capacity_bps = np.array([path_capacity_bps(run, each) for each in listed])
    if not len(listed) or not np.isfinite(capacity_bps).all():
        return float("nan")
    return float(sum(goodput_bps(run, each) for each in listed) / capacity_bps.mean())


@metric("1", _SECTION)
def goodput_share(run: Run, flows: Flows) -> float:
    """Goodput of some flows over that of all flows (`total_goodput_bps`), from 0 to 1.

    NaN if no data arrived.
    """
    return _share(run, flows, _Goodputs.of(run).bps)


@metric("1", _SECTION)
def goodput_share_of_greedy(run: Run, flows: Flows) -> float:
    """Goodput of some greedy flows over that of all greedy flows, from 0 to 1.

    Compares congestion controllers independently of other traffic, such as transfers and paced
    sources, whose rate is limited by the source. NaN if one of the flows is not greedy, or if no
    data arrived.
    """
    found = _Goodputs.of(run)
    if not all(found.is_greedy[run.flow(each)] for each in _listed(run, flows)):
        return float("nan")
    return _share(run, flows, found.bps[found.is_greedy])


@metric("1", _SECTION)
def jain_index(run: Run, flows: Flows | None = None) -> float:
    """Jain's index of the goodputs of some flows: (sum x)^2 / (n sum x^2).

    1 if all flows have the same goodput, 1/n if one flow has all (Jain, Chiu and Hawe, DEC-TR-301,
    1984). If None, of all greedy TCP flows, because the rate of other flows is limited by their
    source. NaN for fewer than two flows, or if no data arrived.
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
    """Goodputs of all flows, cached for the latest run, because every share needs them."""

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
"""The latest run of each thread, as a weak reference."""


def _share(run: Run, flows: Flows, among: NDArray[np.float64]) -> float:
    whole = float(among.sum())
    return total_goodput_bps(run, flows) / whole if whole > 0.0 else float("nan")


def _listed(run: Run, flows: Flows | None) -> Sequence[str | int]:
    if flows is None:
        return range(len(run.flow_names))
    return [flows] if isinstance(flows, str | int) else flows
