"""Which flows of a run have what CCPerf's tables need: samples, and the sender's packets."""

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.errors import DumbbellError
from dumbbell.metrics.ccperf.series import bottleneck, route
from dumbbell.metrics.path import resolved_of
from dumbbell.tables import Run


@dataclass(frozen=True, slots=True)
class RecordedFlows:
    """TCP flows of a run with samples and recorded packets.

    Attributes:
        flows: Indices of these flows.
        bottlenecks: Indices of their bottlenecks.
        are_all: Whether all TCP flows of the run are among them, and there is one.
    """

    flows: frozenset[int]
    bottlenecks: frozenset[int]
    are_all: bool


def recorded_flows(run: Run) -> RecordedFlows:
    """Find the flows whose sender's link has ``record_packets`` at both ends.

    There are none in a run without ``sample_interval``.
    """
    described = resolved_of(run)
    over_tcp = [place for place, flow in enumerate(described.flows) if flow.tcp is not None]
    if not described.sample_interval_ns or not over_tcp:
        return RecordedFlows(frozenset(), frozenset(), are_all=False)
    found = frozenset(place for place in over_tcp if _is_recorded(run, place))
    narrow = frozenset(place for flow in found for place in _bottleneck(run, flow))
    return RecordedFlows(found, narrow, are_all=len(found) == len(over_tcp))


def _is_recorded(run: Run, flow: int) -> bool:
    ends = route(run, flow)[0], route(run, flow, back=True)[-1]
    return all(queue.record_packets for queue in ends)


def _bottleneck(run: Run, flow: int) -> list[int]:
    """The flow's bottleneck; none if nothing limits its rate."""
    try:
        return [bottleneck(run, flow)]
    except DumbbellError:
        return []
