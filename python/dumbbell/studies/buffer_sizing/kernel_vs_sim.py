"""The four experiments, shortened, on the Linux kernel and in the simulator.

Both backends get the same description and the same arrivals, sizes and think times. Runs of equal
length suffice to judge agreement, whatever the source's length. No published statement is judged
here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.claims import Judged
from dumbbell.metrics import completion_time_s, loss_ratio, mean_wait_s, utilization_bits
from dumbbell.replication import Replications
from dumbbell.report import ValueRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms, claims, published
from dumbbell.studies.buffer_sizing.arms import Case, Point, Setup
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

POINT = Point("testbed", "light")
DURATION_S = 20.0
"""Duration of a run on either backend."""
UNITS: Mapping[str, str] = {name: agreed.rule.unit for name, agreed in claims.AGREEMENT.items()}


@dataclass(frozen=True, slots=True)
class ShortenedRun:
    """Numbers of a run.

    Attributes:
        utilization: Utilization of the bottleneck, share of its rate.
        drop_share: Share of the packets arriving there that were dropped.
        mean_wait_ms: Mean wait there.
        small_completion_ms: Median completion time of transfers of up to 100 kB; NaN if none was
            completed.
    """

    utilization: float
    drop_share: float
    mean_wait_ms: float
    small_completion_ms: float


def shortened(run: Run) -> ShortenedRun:
    """Return the numbers of a run."""
    size, taken = run.column("transfers", "bytes"), completion_time_s(run)
    small = np.isfinite(taken) & (size >= 0) & (size <= published.LARGE_BYTES)
    return ShortenedRun(
        utilization_bits(run, arms.BOTTLENECK),
        loss_ratio(run, arms.BOTTLENECK),
        1e3 * mean_wait_s(run, arms.BOTTLENECK),
        1e3 * float(np.median(taken[small])) if small.any() else float("nan"),
    )


@dataclass(frozen=True, slots=True)
class ShortenedOnBothBackends:
    """The same replications on both backends."""

    sim: Replications[Setup, ShortenedRun]
    kernel: Replications[Setup, ShortenedRun]


def experiments(seed: int, duration_s: float) -> dict[Setup, Experiment]:
    """Return the four experiments, shortened."""
    return {
        setup: experiment
        for workload in arms.WORKLOADS
        for setup, experiment in arms.both_buffers(
            Case(POINT, workload), seed=seed, duration_s=duration_s
        ).items()
    }


class BesideTheKernel(Part[ShortenedOnBothBackends]):
    """Whether both backends agree, experiment by experiment."""

    name = "shortened"

    def __init__(self, seed: int, amount: Amount[str]) -> None:
        """Set the experiments to run."""
        self.amount = amount
        self.experiments = experiments(seed, amount.length_s or DURATION_S)

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the kernel is requested; the simulator then runs too."""
        return "kernel" in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """Return one of the four: they do not differ in what the kernel check needs."""
        return list(self.experiments.values())[:1]

    def run(self, runner: Runner) -> ShortenedOnBothBackends:
        """See `Part`."""
        sim, kernel = (
            runner.replicate(
                self.experiments,
                shortened,
                self.amount,
                task=self.name,
                backend=backend,
                complete=True,
                keep=1,
            )
            for backend in ("sim", "kernel")
        )
        return ShortenedOnBothBackends(sim, kernel)

    def judge(self, found: ShortenedOnBothBackends) -> Iterator[Judged]:
        """Judge four numbers of each of the four experiments."""
        for setup in self.experiments:
            for quantity in claims.AGREEMENT:
                sides = claims.sides_of(
                    found.sim.values(setup, quantity), found.kernel.values(setup, quantity)
                )
                packets = arms.BUFFERS[setup.buffer]
                yield claims.judge_agreement(setup.case.workload, packets, quantity, sides)

    def tables(self, found: ShortenedOnBothBackends) -> Iterator[ValueTable]:
        """Return both backends side by side."""
        sides = {"simulator": found.sim, "Linux kernel": found.kernel}
        columns = [
            f"{setup.case.workload}, {arms.BUFFERS[setup.buffer]} packets, {where}"
            for setup in self.experiments
            for where in sides
        ]
        rows = [
            ValueRow(
                agreed.what.capitalize(),
                UNITS[quantity],
                [
                    side.estimate(setup, quantity)
                    for setup in self.experiments
                    for side in sides.values()
                ],
            )
            for quantity, agreed in claims.AGREEMENT.items()
        ]
        caption = (
            f"Whole runs, nothing sampled: means of {found.kernel.n} runs of "
            f"{self.amount.length_s:g} s, and half of their 95 % intervals, with Linux's CUBIC: "
            f"{arms.PERSISTENT_PER_HOST['light']} persistent flows or "
            f"{arms.USERS_PER_HOST['light']} users on each of {POINT.hosts} source nodes."
        )
        yield ValueTable("Shortened, beside the Linux kernel", columns, rows, caption)

    def runs(self, found: ShortenedOnBothBackends) -> Mapping[str, Run]:
        """See `Part`."""
        return {
            f"shortened {setup.case.workload} {setup.buffer}": found.kernel.run(setup)
            for setup in self.experiments
        }
