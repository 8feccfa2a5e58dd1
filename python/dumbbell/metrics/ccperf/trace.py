"""Rows computed from every segment, by the packets recorded at the sender's own link.

They need ``record_packets`` at both ends of that link; without it they are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.ccperf.row import row
from dumbbell.metrics.ccperf.series import route, tcp_series
from dumbbell.metrics.path import NS_PER_S
from dumbbell.tables import Run

__all__ = [
    "mean_idt_ewma_l4",
    "mean_recovery_time_l4",
]

IDT_GAIN = 1 / 8
"""Weight of a new inter-departure time in the moving average, as that of RFC 6298's SRTT."""
_SEQUENCE_NUMBERS = 2**32
_SMALLEST_SEGMENT_BYTES = 100
"""A smaller packet on the wire is a SYN or a pure acknowledgement."""


@dataclass(frozen=True, slots=True)
class Trace:
    """Segments of a sender and the acknowledgements that it received, in order of time.

    Attributes:
        sent_ns: When each segment with payload left the sender.
        sent_seq: Sequence number of each segment, unwrapped.
        acked_ns: When each packet from the receiver arrived.
        acked_seq: Acknowledgement number of each of these packets.
    """

    sent_ns: NDArray[np.int64]
    sent_seq: NDArray[np.int64]
    acked_ns: NDArray[np.int64]
    acked_seq: NDArray[np.int64]


def trace(run: Run, flow: str | int) -> Trace | None:
    """The flow's segments at its sender's link; None where they were not recorded."""
    ends = route(run, flow)[0], route(run, flow, back=True)[-1]
    if not all(queue.record_packets for queue in ends):
        return None
    first, last = (queue.index for queue in ends)
    sent: dict[str, str | int] = {"queue": first, "event": "dequeue", "flow": flow}
    is_full = run.column("packets", "bytes", **sent) > _SMALLEST_SEGMENT_BYTES
    back: dict[str, str | int] = {"queue": last, "event": "dequeue", "flow": flow}
    return Trace(
        run.column("packets", "t_ns", **sent)[is_full],
        _unwrapped(run.column("packets", "seq", **sent)[is_full]),
        run.column("packets", "t_ns", **back),
        _unwrapped(run.column("packets", "seq", **back)),
    )


def recovery_times_ms(found: Trace) -> NDArray[np.float64]:
    """Duration of each recovery, in order; shape (recoveries,).

    A recovery begins with the first retransmission outside a recovery, and ends with the
    acknowledgement of all data sent before it. A recovery in progress at the end is left out.
    """
    resent = np.flatnonzero(found.sent_seq <= np.maximum.accumulate(_before(found.sent_seq)))
    times, until_ns = [], -1
    acked_so_far = np.maximum.accumulate(found.acked_seq)
    for index in resent:
        began_ns = int(found.sent_ns[index])
        if began_ns < until_ns:
            continue
        recovery_point = int(found.sent_seq[:index].max())
        place = int(np.searchsorted(acked_so_far, recovery_point, side="right"))
        if place >= acked_so_far.size:
            break
        until_ns = int(found.acked_ns[place])
        times.append((until_ns - began_ns) / 1e6)
    return np.array(times)


@row("ms", "flow", "less", is_published=True)
def mean_recovery_time_l4(run: Run, flow: str | int) -> float:
    """Mean length of a loss recovery, timeouts in it included.

    A recovery lasts from its first retransmission to the acknowledgement of all data sent before
    it. NaN without recoveries, or without the recorded packets of the sender's link.
    """
    found = trace(run, flow)
    times = recovery_times_ms(found) if found else np.empty(0)
    return float(times.mean()) if times.size else float("nan")


@row("ms", "flow", is_published=True)
def mean_idt_ewma_l4(run: Run, flow: str | int) -> float:
    """Mean, sampled, of the moving average of times between segments leaving the sender.

    A new sample has a weight of one eighth. NaN without the recorded packets of the sender's link.
    """
    found = trace(run, flow)
    if found is None or found.sent_ns.size < 2:
        return float("nan")
    gaps_ms = np.diff(found.sent_ns) / 1e6
    smooth = np.empty_like(gaps_ms)
    level = gaps_ms[0]
    for index, gap in enumerate(gaps_ms):
        level += IDT_GAIN * (gap - level)
        smooth[index] = level
    at_ns = tcp_series(run, flow).t_s * NS_PER_S
    place = np.searchsorted(found.sent_ns[1:], at_ns, side="right") - 1
    return float(smooth[place[place >= 0]].mean())


def _before(seq: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each segment's predecessor; -1 before the first."""
    return np.concatenate((np.array([-1], dtype=np.int64), seq[:-1]))


def _unwrapped(seq: NDArray[np.int64]) -> NDArray[np.int64]:
    """Unwrap 32-bit sequence numbers."""
    out: NDArray[np.int64] = np.unwrap(
        seq.astype(np.float64), period=float(_SEQUENCE_NUMBERS)
    ).astype(np.int64)
    return out
