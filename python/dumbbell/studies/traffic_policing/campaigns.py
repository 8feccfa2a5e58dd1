"""The study's runs, reduced to the numbers that claims, tables and figures are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics.ccperf import tables
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.reproduction import every_run
from dumbbell.studies.traffic_policing import arms
from dumbbell.studies.traffic_policing.bucket import STEADY_FROM_S, Excess, excess
from dumbbell.tables import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Arm:
    """Runs of one experiment, a value a member of the ensemble.

    Attributes:
        values: Row of the source's tables to its values.
        excess: What left beyond the tokens' rates; empty where packets were not recorded.
        after_cliff_mbps: Rate on the wire from `STEADY_FROM_S` on.
        first: The run with the source's own settings.
    """

    values: Mapping[str, Floats]
    excess: Sequence[Excess]
    after_cliff_mbps: Floats
    first: Run

    @property
    def n(self) -> int:
        """How many runs."""
        return int(self.after_cliff_mbps.size)


@dataclass(slots=True)
class _Gathered:
    values: dict[int, dict[str, float]] = field(default_factory=dict)
    excess: dict[int, Excess] = field(default_factory=dict)
    after: dict[int, float] = field(default_factory=dict)
    first: Run | None = None


def collect(
    options: StudyOptions,
    experiments: Mapping[str, Sequence[Experiment]],
    task: str,
    backend: str = "sim",
) -> dict[str, Arm]:
    """Run every member of every arm once: nothing in them is random.

    Args:
        options: Threads, progress, cancellation.
        experiments: Arm to its members, the source's own settings first.
        task: Name in the progress.
        backend: Where.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A run failed.
    """
    jobs = [
        (name, place, each) for name, of in experiments.items() for place, each in enumerate(of)
    ]
    gathered = {name: _Gathered() for name in experiments}

    once = [(experiment, 0) for _, _, experiment in jobs]
    for index, run in every_run(options, once, task=task, backend=backend):
        name, place, _ = jobs[index]
        into = gathered[name]
        into.values[place] = measured(run)
        into.after[place] = rate_after_cliff_mbps(run)
        if run.column("packets", "t_ns", queue=arms.QUEUE).size:
            into.excess[place] = excess(run, arms.QUEUE)
        if place == 0:
            into.first = run
    return {name: _arm(each) for name, each in gathered.items()}


def measured(run: Run) -> dict[str, float]:
    """Every row of the three tables; the first column of each."""
    return {name: values[0] for table in tables(run) for name, values in table.values.items()}


def rate_after_cliff_mbps(run: Run) -> float:
    """Rate on the wire from `STEADY_FROM_S` to the end; exact."""
    t_s = run.column("queue_samples", "t_ns", queue=arms.QUEUE) / 1e9
    sent = run.column("queue_samples", "departed_bytes", queue=arms.QUEUE)
    since = int(np.searchsorted(t_s, STEADY_FROM_S - 1e-9))
    return float(8e-6 * (sent[-1] - sent[since]) / (t_s[-1] - t_s[since]))


def _arm(gathered: _Gathered) -> Arm:
    places = sorted(gathered.values)
    names = gathered.values[0]
    if gathered.first is None:
        raise ValueError("an arm has at least the run with the source's own settings")
    return Arm(
        values={
            name: np.array([gathered.values[place][name] for place in places]) for name in names
        },
        excess=[gathered.excess[place] for place in sorted(gathered.excess)],
        after_cliff_mbps=np.array([gathered.after[place] for place in places]),
        first=gathered.first,
    )
