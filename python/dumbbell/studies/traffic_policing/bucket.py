"""What a token bucket promises, checked packet by packet on what left it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.path import resolved_of
from dumbbell.tables import Run

STEADY_FROM_S = 3.0
"""From here on the bucket's first burst and the recovery from the cliff are over."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Most that left in any window beyond what its length allows.

    Attributes:
        rate_bytes: Beyond rate times length: at most the burst.
        burst_bytes: That bound.
        peak_bytes: Beyond peak rate times length: at most the second bucket (tc's mtu).
        peak_bound_bytes: That bound.
    """

    rate_bytes: float
    burst_bytes: float
    peak_bytes: float
    peak_bound_bytes: float


def excess(run: Run, queue: str | int) -> Excess:
    """Of a `tbf` with a peak rate and recorded packets."""
    gone = {"queue": queue, "event": "dequeue"}
    t_ns = run.column("packets", "t_ns", **gone)
    size = run.column("packets", "bytes", **gone)
    qdisc = resolved_of(run).queue(queue).qdisc
    return Excess(
        most_beyond(t_ns, size, qdisc.rate_bps),
        float(qdisc.burst_bytes),
        most_beyond(t_ns, size, qdisc.peakrate_bps),
        float(qdisc.mtu_bytes),
    )


def most_beyond(t_ns: NDArray[np.int64], size: NDArray[np.int32], rate_bps: float) -> float:
    """Greatest, over all windows, of the bytes that left in one less rate times its length.

    Both ends are in the window: that of two packets is as long as the time between them.
    """
    sent = np.cumsum(size.astype(np.float64))
    allowed = rate_bps / 8e9 * t_ns
    # After a packet, less before an earlier one (or itself).
    before = np.minimum.accumulate(sent - size - allowed)
    return float((sent - allowed - before).max())
