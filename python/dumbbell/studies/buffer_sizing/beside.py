"""A shortened run of the four experiments on the Linux kernel, and the same in the simulator.

Both backends get the same description and draw the same arrivals, sizes and thinking times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims.legacy import Claim, Judged, Kind, judge_hardly_matters
from dumbbell.metrics import completion_time_s, loss_ratio, mean_wait_s, utilization_bits
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.stats import difference_interval, student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Point, Workload
from dumbbell.studies.reproduction import every_run
from dumbbell.tables import Run

Floats = NDArray[np.float64]
POINT = Point("testbed", "light")
DURATION_S = 20.0
_TWO_BACKENDS = "The same description on both backends"
QUANTITIES: Mapping[str, tuple[str, float, str]] = {
    "utilization": ("Utilization", 0.05, "1"),
    "dropped": ("Share of packets dropped", 0.02, "1"),
    "wait": ("Mean wait at the bottleneck", 10.0, "ms"),
    "small-completion": ("Median completion time of small transfers", 0.2, "s"),
}
"""Quantity to what it is called, the margin within which backends agree, and its unit."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What both backends measured.

    Attributes:
        values: (``WORKLOAD BUFFER``, backend) to quantity to a value a replication.
        n: Replications.
        first: A run of the kernel.
    """

    values: Mapping[tuple[str, str], Mapping[str, Floats]]
    n: int
    first: Run


def experiment(workload: Workload, packets: int, *, seed: int) -> Experiment:
    """One of the four, shortened.

    Args:
        workload: As in `dumbbell.studies.buffer_sizing.arms`.
        packets: Of the buffer.
        seed: Of the study.
    """
    return arms.experiment(POINT, workload, packets, seed=seed, duration_s=DURATION_S)


def run_both(options: StudyOptions, runs: int) -> Beside:
    """Run the shortened four on the kernel and in the simulator.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A run failed.
    """
    experiments = {
        f"{workload} {buffer}": experiment(workload, packets, seed=options.seed)
        for workload in arms.WORKLOADS
        for buffer, packets in arms.BUFFERS.items()
    }
    jobs = [
        (name, each, replication)
        for replication in range(options.replications or runs)
        for name, each in experiments.items()
    ]
    values: dict[tuple[str, str], dict[str, Floats]] = {}
    first: Run | None = None
    for backend in ("sim", "kernel"):
        got: dict[int, dict[str, float]] = {}
        numbered = [(each, replication) for _, each, replication in jobs]
        for place, run in every_run(options, numbered, task="shortened", backend=backend):
            got[place] = _numbers(run)
            first = run if place == 0 else first
        for name in experiments:
            of = [got[place] for place, (each, _, _) in enumerate(jobs) if each == name]
            values[name, backend] = {
                quantity: np.array([each[quantity] for each in of]) for quantity in QUANTITIES
            }
    if first is None:
        raise ValueError("there is at least one run")
    return Beside(values, options.replications or runs, first)


def _numbers(run: Run) -> dict[str, float]:
    size = run.column("transfers", "bytes")
    taken = completion_time_s(run)
    small = np.isfinite(taken) & (size >= 0) & (size <= published.LARGE_BYTES)
    return {
        "utilization": utilization_bits(run, arms.BOTTLENECK),
        "dropped": loss_ratio(run, arms.BOTTLENECK),
        "wait": 1e3 * mean_wait_s(run, arms.BOTTLENECK),
        "small-completion": float(np.median(taken[small])) if small.any() else float("nan"),
    }


def judge(beside: Beside) -> list[Judged]:
    """Do both backends agree, experiment by experiment?"""
    judged = []
    for name in dict.fromkeys(name for name, _ in beside.values):
        sim, kernel = beside.values[name, "sim"], beside.values[name, "kernel"]
        for quantity, (words, margin, unit) in QUANTITIES.items():
            claim = Claim(
                id=f"agreement-{name.replace(' ', '-')}-{quantity}",
                statement=f"Simulator and Linux kernel agree: {words.lower()}, {name} buffer",
                source=_TWO_BACKENDS,
                kind=Kind.HARDLY_MATTERS,
                margin=margin,
                unit=unit,
            )
            difference = difference_interval(sim[quantity], kernel[quantity])
            note = f"simulator less kernel; kernel's mean {kernel[quantity].mean():.3g}"
            judged.append(judge_hardly_matters(claim, difference, backend="kernel", note=note))
    return judged


def table(beside: Beside) -> ValueTable:
    """Both backends side by side."""
    names = dict.fromkeys(name for name, _ in beside.values)
    where = {"sim": "simulator", "kernel": "Linux kernel"}
    columns = [f"{name}, {words}" for name in names for words in where.values()]
    rows = []
    for quantity, (words, _, unit) in QUANTITIES.items():
        estimates = [
            student_interval(beside.values[name, backend][quantity])
            for name in names
            for backend in where
        ]
        cells = [f"{of.value:.3g} ± {of.half_width:.2g}" for of in estimates]
        rows.append(ValueRow(words, unit, cells))
    caption = (
        f"Means of {beside.n} runs of {DURATION_S:g} s, and half of their 95 % intervals, with "
        "Linux's CUBIC: "
        f"{arms.PERSISTENT_PER_HOST['light']} persistent flows or "
        f"{arms.USERS_PER_HOST['light']} users on each of {POINT.hosts} source nodes."
    )
    return ValueTable("Shortened, beside the Linux kernel", columns, rows, caption)
