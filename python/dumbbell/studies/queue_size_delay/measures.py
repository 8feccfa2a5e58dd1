"""Reduction of a run of the study."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics import loss_ratio, max_delay_s, ping_rtt_ms, sojourn_cdf
from dumbbell.metrics.path import resolved_of
from dumbbell.replication import Replications
from dumbbell.studies.queue_size_delay import arms, published
from dumbbell.studies.queue_size_delay.limits import largest_delay_ms
from dumbbell.tables import NO_INSTANT, Run

Floats = NDArray[np.float64]
A = TypeVar("A", bound=Hashable)

LATE = 0.9
"""Share of m/mu: a packet with a longer delay counts as finding the queue nearly full."""


@dataclass(frozen=True, slots=True, eq=False)
class Delays:
    """The numbers of a run.

    Attributes:
        peak_ms: Maximum one-way delay of any packet of the stream, exact.
        ping_peak_ms: Maximum round-trip time of the pings; NaN if all were lost.
        loss: Share of packets that the queue dropped.
        late: Share of accepted packets with a delay above `LATE` of m/mu.
        rtt_ms: Round-trip time of each ping in order, shape (pings,); NaN where lost.
    """

    peak_ms: float
    ping_peak_ms: float
    loss: float
    late: float
    rtt_ms: Floats


def delays(run: Run) -> Delays:
    """Return the numbers of a run."""
    answered = ping_rtt_ms(run)
    limit_bytes = resolved_of(run).queue(arms.QUEUE).limit_bytes or 0
    edges, share = sojourn_cdf(run, arms.QUEUE)
    level_s = LATE * largest_delay_ms(limit_bytes) / 1e3
    below = float(np.interp(level_s, edges, share)) if edges.size else float("nan")
    return Delays(
        peak_ms=1e3 * max_delay_s(run, arms.FLOW),
        ping_peak_ms=float(answered.max()) if answered.size else float("nan"),
        loss=loss_ratio(run, arms.QUEUE),
        late=1.0 - below,
        rtt_ms=_rtt_by_number(run),
    )


def _rtt_by_number(run: Run) -> Floats:
    rtt_ms = np.full(published.PING_COUNT, np.nan)
    if run.probe_names:
        found = run.column("probes", "rtt_ns", probe=arms.PING)
        rtt_ms[: found.size] = np.where(found == NO_INSTANT, np.nan, found / 1e6)
    return rtt_ms


@dataclass(frozen=True, slots=True, eq=False)
class DelaysOfRuns:
    """Several runs of one experiment, one value per run; attributes as in `Delays`, shape (runs,).

    Attributes:
        rtt_ms: Round-trip time of each ping, shape (runs, pings).
        first: The first run.
    """

    peak_ms: Floats
    ping_peak_ms: Floats
    loss: Floats
    late: Floats
    rtt_ms: Floats
    first: Run

    @property
    def n(self) -> int:
        """Return the number of runs."""
        return int(self.peak_ms.size)

    @property
    def growth_ms(self) -> Floats:
        """Return the last ping's delay minus the first's, of runs with both answered."""
        growth = self.rtt_ms[:, -1] - self.rtt_ms[:, 0]
        return growth[np.isfinite(growth)]


def many(done: Replications[A, Delays]) -> dict[A, DelaysOfRuns]:
    """Return the runs of each arm, of replications that keep the first."""
    return {
        arm: DelaysOfRuns(
            peak_ms=done.values(arm, "peak_ms"),
            ping_peak_ms=done.values(arm, "ping_peak_ms"),
            loss=done.values(arm, "loss"),
            late=done.values(arm, "late"),
            rtt_ms=np.array([each.rtt_ms for each in done.of(arm)]),
            first=done.run(arm),
        )
        for arm in done.arms
    }
