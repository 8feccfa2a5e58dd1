"""Where on the way of a flow a capture was made, as far as its round trips tell it.

From an observation point (RFC 7011 section 2) the round trip ahead goes to the receiver of the data
and back, the one behind to their sender and back. Both are in a capture: of a segment to its
acknowledgement one way, and of the answer (the SYN/ACK of the handshake is one) to its own the
other way. Their least values together are the round trip of the path. This is how passive
measurement of round trips splits them (RFC 9312 section 3.8.2 describes the same for QUIC).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from dumbbell.metrics.captured import CapturedFlows
from dumbbell.tables import Array, Run

NEAR = 0.1
"""Share of the round trip up to which an end counts as being here."""
_NS_PER_S = 1e9


class ObservationPoint(enum.Enum):
    """Where a flow was seen."""

    SENDER = "sender"
    BETWEEN = "between"
    RECEIVER = "receiver"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SeenFrom:
    """Where each of the flows of a place was seen.

    Attributes:
        point: Of each flow.
        ahead_s: Least round trip from here to the receiver of the data, s, shape (n,); NaN where
            none was seen.
        behind_s: Least round trip from here to their sender, s, shape (n,); NaN where none was.
    """

    point: tuple[ObservationPoint, ...]
    ahead_s: Array
    behind_s: Array


def seen_from(run: Run, queue: int, place: int, flows: CapturedFlows) -> SeenFrom:
    """Where the flows of a place were seen.

    Args:
        run: An imported capture; without ``captured_intervals`` nothing is known.
        queue: Index of the queue.
        place: Code of the place at it.
        flows: As `captured_flows` gives them for that place.
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
    if not whole_s > 0:  # NaN is not either
        return ObservationPoint.UNKNOWN
    if behind_s <= NEAR * whole_s:
        return ObservationPoint.SENDER
    return ObservationPoint.RECEIVER if ahead_s <= NEAR * whole_s else ObservationPoint.BETWEEN


def _least_ns(run: Run, queue: int, place: int) -> dict[tuple[int, int, int], int]:
    """Least round trip of each direction that has one, by flow, connection and direction."""
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
