"""What a capture shows about the loss of a flow, depending on the observation point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dumbbell.metrics.observation_point import ObservationPoint, SeenFrom, seen_from
from dumbbell.report.capture_over_time import SeenPlace

_SAID: Mapping[ObservationPoint, str] = MappingProxyType(
    {
        ObservationPoint.SENDER: "at their sender or next to it. What was lost on the way is seen "
        "only where it was sent again: a loss of 0 says that nothing was, not that nothing was "
        "lost, and what is sent again need not have been lost",
        ObservationPoint.RECEIVER: "at their receiver or next to it. Late segments were lost (or "
        "overtaken) before here and came again; what was given up, and acknowledgements lost "
        "behind here, are not seen",
        ObservationPoint.BETWEEN: "between their ends. Late segments were lost (or overtaken) "
        "before here, repeated ones were lost behind here or sent again needlessly",
        ObservationPoint.UNKNOWN: "nobody can say where: of one direction nothing is "
        "acknowledged in the capture. At a sender only what was sent again is seen, of what was "
        "lost before here only what came late",
    }
)


def loss_notes(seen: SeenPlace) -> list[str]:
    """Return a sentence for each observation point of the TCP flows at a place."""
    found = seen_from(seen.run, seen.queue, seen.place, seen.flows)
    is_tcp = ~np.isnan(seen.flows.loss_by_flag)
    notes = []
    for point, said in _SAID.items():
        rows = [row for row, each in enumerate(found.point) if each is point and is_tcp[row]]
        if rows:
            flows = f"{len(rows)} flows were" if len(rows) > 1 else "1 flow was"
            their = said if len(rows) > 1 else said.replace("their", "its", 1)
            notes.append(f"{seen.label}: {flows} seen {their}{_measured(found, rows, point)}.")
    return notes


def _measured(found: SeenFrom, rows: Sequence[int], point: ObservationPoint) -> str:
    """State which round-trip times located the observation point."""
    if point is ObservationPoint.UNKNOWN:
        return ""
    behind, ahead = (1e3 * float(np.median(each[rows])) for each in (found.behind_s, found.ahead_s))
    return f" (least round trip to the sender {behind:.3g} ms, to the receiver {ahead:.3g} ms)"
