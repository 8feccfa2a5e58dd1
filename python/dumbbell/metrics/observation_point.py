"""Where on the path of a flow a capture was made, estimated from round trips.

From an observation point (RFC 7011 section 2) the downstream round trip goes to the receiver of the
data and back, the upstream round trip to their sender and back. A capture shows both: the time from
a segment to its acknowledgement, and the time from a segment of the other direction (such as the
SYN/ACK) to its acknowledgement. The sum of their minima is the round trip of the path (RFC 9312
section 3.8.2 describes the same for QUIC).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from dumbbell.metrics.captured import CapturedFlows
from dumbbell.tables import Array, Run

NEAR = 0.1
"""Share of the round trip up to which the observation point is considered to be at that end."""
_NS_PER_S = 1e9


class ObservationPoint(enum.Enum):
    """Position of a capture on the path of a flow."""

    SENDER = "sender"
    BETWEEN = "between"
    RECEIVER = "receiver"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SeenFrom:
    """Observation points of the flows at a place.

    Attributes:
        point: Observation point of each flow.
        ahead_s: Minimum round trip to the receiver of the data, s, shape (n,); NaN if none was
            seen.
        behind_s: Minimum round trip to the sender of the data, s, shape (n,); NaN if none was seen.
    """

    point: tuple[ObservationPoint, ...]
    ahead_s: Array
    behind_s: Array


def seen_from(run: Run, queue: int, place: int, flows: CapturedFlows) -> SeenFrom:
    """Estimate the observation points of the flows at a place.

    Args:
        run: An imported capture; without ``captured_intervals`` all points are unknown.
        queue: Index of the queue.
        place: Code of the place at the queue.
        flows: The flows as `captured_flows` returns them for that place.
    """
    least = _least_ns(run, queue, place)
    keys = list(
        zip(flows.flow.tolist(), flows.connection.tolist(), flows.is_reply.tolist(), strict=True)
    )
    nan = float("nan")
    ahead = [least.get(key, nan) / _NS_PER_S for key in keys]
    behind = [least.get((*key[:2], 1 - key[2]), nan) / _NS_PER_S for key in keys]
    points = tuple(_point(a, b) for a, b in zip(ahead, behind, strict=True))
    return SeenFrom(points, np.array(ahead), np.array(behind))


def _point(ahead_s: float, behind_s: float) -> ObservationPoint:
    whole_s = ahead_s + behind_s
    if not whole_s > 0:  # comparisons with NaN are false
        return ObservationPoint.UNKNOWN
    if behind_s <= NEAR * whole_s:
        return ObservationPoint.SENDER
    return ObservationPoint.RECEIVER if ahead_s <= NEAR * whole_s else ObservationPoint.BETWEEN


def _least_ns(run: Run, queue: int, place: int) -> dict[tuple[int, int, int], int]:
    """Minimum round trip of each direction, by flow, connection and direction."""
    if "captured_intervals" not in run.tables:
        return {}
    table = run.columns("captured_intervals")
    keep = (table["queue"] == queue) & (table["place"] == place) & (table["round_trips"] > 0)
    names = ("flow", "connection", "is_reply", "round_trip_min_ns")
    least: dict[tuple[int, int, int], int] = {}
    for *key, value in zip(*(table[name][keep].tolist() for name in names), strict=True):
        flow, connection, is_reply = key
        found = (flow, connection, is_reply)
        least[found] = min(value, least.get(found, value))
    return least
