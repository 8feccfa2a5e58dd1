"""Reduction of a run of the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.ccperf import tables
from dumbbell.replication import Replications
from dumbbell.studies.traffic_policing import arms
from dumbbell.studies.traffic_policing.arms import Member
from dumbbell.studies.traffic_policing.bucket import STEADY_FROM_S, Excess, excess
from dumbbell.tables import Run

Floats = NDArray[np.float64]
Rows = Mapping[str, float]
"""Values by row of the source's tables; NaN if unknown."""


@dataclass(frozen=True, slots=True)
class Policed:
    """The numbers of a run through the token bucket.

    Attributes:
        rows: Rows of the source's tables.
        after_cliff_mbps: Rate on the wire from `STEADY_FROM_S` on; exact.
        excess: Departures beyond the tokens' rates; None if packets were not recorded.
    """

    rows: Rows
    after_cliff_mbps: float
    excess: Excess | None


def policed(run: Run) -> Policed:
    """Return the numbers of a run."""
    is_recorded = run.column("packets", "t_ns", queue=arms.QUEUE).size > 0
    return Policed(
        rows=rows_of(run),
        after_cliff_mbps=rate_after_cliff_mbps(run),
        excess=excess(run, arms.QUEUE) if is_recorded else None,
    )


def rows_of(run: Run) -> Rows:
    """Return every row of the three tables; the first column of each."""
    return {name: values[0] for table in tables(run) for name, values in table.values.items()}


def rate_after_cliff_mbps(run: Run) -> float:
    """Return the rate on the wire from `STEADY_FROM_S` to the end; exact."""
    t_s = run.column("queue_samples", "t_ns", queue=arms.QUEUE) / 1e9
    sent = run.column("queue_samples", "departed_bytes", queue=arms.QUEUE)
    since = int(np.searchsorted(t_s, STEADY_FROM_S - 1e-9))
    return float(8e-6 * (sent[-1] - sent[since]) / (t_s[-1] - t_s[since]))


@dataclass(frozen=True, slots=True)
class EnsembleRun:
    """Every member of an ensemble, run once: members contain no randomness.

    Attributes:
        members: Members in order, beginning with the unchanged experiment.
        results: Results, one per member.
    """

    members: Sequence[Member]
    results: Sequence[Policed]

    @classmethod
    def of(cls, members: Sequence[Member], found: Replications[Member, Policed]) -> EnsembleRun:
        """Make it of replications whose arms are members."""
        return cls(members, [found.first(member) for member in members])

    @property
    def n(self) -> int:
        """Return the number of members."""
        return len(self.results)

    def row(self, name: str) -> Floats:
        """Return a row of the source's tables, one value per member."""
        return self.values(lambda of: of.rows[name])

    def values(self, quantity: Callable[[Policed], float]) -> Floats:
        """Return a number of each member; shape (n,)."""
        return np.array([quantity(each) for each in self.results])

    @property
    def excesses(self) -> list[Excess]:
        """Return the excesses of members whose packets were recorded."""
        return [each.excess for each in self.results if each.excess is not None]
