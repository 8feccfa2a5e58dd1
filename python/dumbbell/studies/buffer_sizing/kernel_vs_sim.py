"""A shortened run of the four experiments on the Linux kernel, and the same in the simulator.

Both backends get the same description and draw the same arrivals, sizes and thinking times. Of runs
equally long on both sides agreement can be judged, whatever the source's length; nothing that the
source says is judged here.
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
"""Of a run on either backend."""
UNITS: Mapping[str, str] = {name: agreed.rule.unit for name, agreed in claims.AGREEMENT.items()}


@dataclass(frozen=True, slots=True)
class ShortenedRun:
    """A run.

    Attributes:
        utilization: Of the bottleneck, share of its rate.
        drop_share: Of the packets that came to it.
        mean_wait_ms: There.
        small_completion_ms: Median of the transfers of up to 100 kB that were completed; NaN
            where none was.
    """

    utilization: float
    drop_share: float
    mean_wait_ms: float
    small_completion_ms: float


def shortened(run: Run) -> ShortenedRun:
    """The numbers of a run."""
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
    """The four, shortened."""
    return {
        setup: experiment
        for workload in arms.WORKLOADS
        for setup, experiment in arms.both_buffers(
            Case(POINT, workload), seed=seed, duration_s=duration_s
        ).items()
    }


class BesideTheKernel(Part[ShortenedOnBothBackends]):
    """Do both backends agree, experiment by experiment?"""

    name = "shortened"

    def __init__(self, seed: int, amount: Amount[str]) -> None:
        """What is run."""
        self.amount = amount
        self.experiments = experiments(seed, amount.length_s or DURATION_S)

    def is_wanted(self, options: StudyOptions) -> bool:
        """Where the kernel is asked for; its simulator then runs too."""
        return "kernel" in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """One of the four: they are alike in what the kernel has to know."""
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
        """Four numbers of each of the four."""
        for setup in self.experiments:
            for quantity in claims.AGREEMENT:
                sides = claims.sides_of(
                    found.sim.values(setup, quantity), found.kernel.values(setup, quantity)
                )
                packets = arms.BUFFERS[setup.buffer]
                yield claims.judge_agreement(setup.case.workload, packets, quantity, sides)

    def tables(self, found: ShortenedOnBothBackends) -> Iterator[ValueTable]:
        """Both backends side by side."""
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
