"""Check of the token bucket's bounds, packet by packet on its departures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.path import resolved_of
from dumbbell.tables import Run

STEADY_FROM_S = 3.0
"""Time after which the initial burst and the recovery from the cliff are over."""


@dataclass(frozen=True, slots=True)
class Excess:
    """Maximum over all windows of departed bytes beyond what the window's length allows.

    Attributes:
        rate_bytes: Excess over rate times length: at most the burst.
        burst_bytes: That bound.
        peak_bytes: Excess over peak rate times length: at most the second bucket (tc's mtu).
        peak_bound_bytes: That bound.
    """

    rate_bytes: float
    burst_bytes: float
    peak_bytes: float
    peak_bound_bytes: float


def excess(run: Run, queue: str | int) -> Excess:
    """Return the excess of a `tbf` with a peak rate and recorded packets."""
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
    """Return the maximum over all windows of departed bytes minus rate times window length.

    Both ends are included: the window of two packets is as long as the time between them.
    """
    sent = np.cumsum(size.astype(np.float64))
    allowed = rate_bps / 8e9 * t_ns
    # The sum after a packet, minus the sum before an earlier one (or itself).
    before = np.minimum.accumulate(sent - size - allowed)
    return float((sent - allowed - before).max())
