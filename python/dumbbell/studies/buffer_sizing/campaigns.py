"""The study's runs: the four experiments at a point of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.measured import Seen, measured, seen
from dumbbell.studies.reproduction import replications
from dumbbell.tables import Run

Floats = NDArray[np.float64]
POOLED = 3
"""Replications whose flows the CDFs show."""


@dataclass(slots=True)
class Found:
    """What was found at one point of the grid.

    Attributes:
        values: Number to a value a replication.
        flows: ``WORKLOAD BUFFER`` to the flows of the first replications.
        first: ``WORKLOAD BUFFER`` to the first run; only where asked for.
        n: Replications.
    """

    values: Mapping[str, Floats]
    flows: dict[str, list[Seen]]
    first: Mapping[str, Run]
    n: int


@dataclass(slots=True)
class _Pool:
    replications: int
    flows: dict[str, dict[int, Seen]] = field(default_factory=dict)

    def measure(self, runs: Mapping[str, Run]) -> dict[str, float]:
        reduced = {name: seen(run) for name, run in runs.items()}
        for name, run in runs.items():
            if run.replication < self.replications:
                self.flows.setdefault(name, {})[run.replication] = reduced[name]
        return measured(runs, reduced)

    def ordered(self) -> dict[str, list[Seen]]:
        return {name: [of[at] for at in sorted(of)] for name, of in self.flows.items()}


def collect(
    options: StudyOptions,
    point: Point,
    *,
    runs: int,
    duration_s: float,
    keep: int = 0,
    pooled: int = 0,
    backend: str = "sim",
) -> Found:
    """Run the four experiments at one point so many times.

    Args:
        options: Seed, threads, cancellation; its ``replications`` go before ``runs``.
        point: Of the grid.
        runs: Replications.
        duration_s: Of each run.
        keep: Replications whose runs are kept.
        pooled: Replications whose flows are kept, 2 MB each and experiment.
        backend: Where.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A replication failed.
    """
    experiments = {
        f"{workload} {buffer}": arms.experiment(
            point, workload, packets, seed=options.seed, duration_s=duration_s
        )
        for workload in arms.WORKLOADS
        for buffer, packets in arms.BUFFERS.items()
    }
    pool = _Pool(pooled)
    done = replications(
        options,
        experiments,
        pool.measure,
        at_least=options.replications or runs,
        task=f"{point.stack}, {point.load} load",
        backend=backend,
        complete=True,
        keep=keep,
    )
    first = done.runs[0] if done.runs else {}
    return Found(done.values, pool.ordered(), first, done.n)
