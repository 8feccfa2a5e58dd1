"""The parts of the study: each with what it runs, claims and shows.

In the simulator: the ideal source against theory, the run as published, the load that explains what
was printed and the run at that load, and the same traffic for as long as it was measured elsewhere.
On the Linux kernel in virtual time: some of it, each replication beside the simulator's own. Both
backends draw arrivals and sizes from the same named streams, so what the traffic varies by from run
to run cancels in the difference, and a few runs say much about whether the two agree.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dumbbell.claims import Judged
from dumbbell.metrics import asked_and_measured
from dumbbell.report import Figure, LoadRow
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.shape import Amount, Arm, Part, Preset, Presets, Runner
from dumbbell.studies.statistical_multiplexing import (
    arms,
    claims,
    controlled,
    elsewhere,
    figures,
    published,
)
from dumbbell.studies.statistical_multiplexing.fit import Fit, fewest_runs, fit_load_and_base_rtt
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    Compared,
    Floats,
    Ideal,
    means_behind_buckets_ms,
    pinged,
    quartiles_ms,
    stayed,
)
from dumbbell.sweep import Replications
from dumbbell.tables import Run

D = TypeVar("D")
PACKETS, PACKETS_ON_KERNEL = 1.2e6, 5e4
"""Of a replication with the ideal source; on the kernel each takes some 80 microseconds of CPU."""
ONE: Amount[str] = Amount(1)
PRECISION = 0.01
"""Relative half-width of the ideal means' intervals: half of the claims' margin."""


@dataclass(frozen=True, slots=True)
class Sizes(Preset):
    """How much is run.

    Attributes:
        ideal: With the ideal source, over numbers of streams.
        nominal: As published.
        fit: Over loads, in packets/s of each sender.
        fitted: As published, at the fitted load.
        elsewhere: For as long as was measured elsewhere.
        ideal_on_kernel: With the ideal source on the kernel, over numbers of streams.
        controls: The same in the simulator, for each of them.
        on_kernel: As published on the kernel, at each load: published numbers need ten.
    """

    ideal: Amount[int]
    nominal: Amount[str]
    fit: Amount[float]
    fitted: Amount[str]
    elsewhere: Amount[str]
    ideal_on_kernel: Amount[int]
    controls: Amount[int]
    on_kernel: Amount[str]


PRESETS = Presets(
    quick=Sizes(
        ideal=Amount(16, at_most=48, precision=PRECISION, over=(2,)),
        nominal=Amount(100),
        fit=Amount(60, over=(68.0, 76.0, 84.0, 92.0)),
        fitted=Amount(100),
        elsewhere=Amount(60),
        ideal_on_kernel=Amount(6, over=(2,)),
        controls=Amount(192),
        on_kernel=Amount(10),
    ),
    full=Sizes(
        ideal=Amount(80, at_most=640, precision=PRECISION, over=(2, 4, 8, 16)),
        nominal=Amount(1000),
        fit=Amount(400, over=tuple(np.arange(60.0, 112.0, 4.0).tolist())),
        fitted=Amount(1000),
        elsewhere=Amount(1000),
        ideal_on_kernel=Amount(64, over=(2, 4, 8)),
        controls=Amount(1536),
        on_kernel=Amount(40),
    ),
)


@dataclass(frozen=True)
class OnBoth(Generic[D]):
    """The same arms on both backends.

    Attributes:
        kernel: Replications there.
        sim: The same replications here, and perhaps more.
    """

    kernel: D
    sim: D


class IdealSource(Part[Ideal]):
    """Theory's system, against theory."""

    def __init__(self, streams: int, amount: Amount[int]) -> None:
        """What is run: so many streams."""
        self.name = f"ideal source, {streams} streams"  # type: ignore[misc]
        self.streams, self.amount = streams, amount

    def run(self, runner: Runner) -> Ideal:
        """See `Part`."""
        both = arms.ideal_arms(self.streams, PACKETS, runner.seed)
        return run_ideal(runner, both, self.amount, task=self.name)

    def judge(self, found: Ideal) -> Iterable[Judged]:
        """Four rows, two facts."""
        return claims.ideal(self.streams, claims.IdealMeans.of(found), "sim")


class LoadFit(Part[Fit]):
    """The load and base RTT that explain the printed quartiles."""

    name = "fit"

    def __init__(self, amount: Amount[float]) -> None:
        """Over which loads, how much."""
        self.amount = amount

    def is_wanted(self, options: StudyOptions) -> bool:
        """In the simulator, where there are runs enough for the quartiles' covariances."""
        runs = options.replications or self.amount.runs
        return "sim" in options.backends and runs >= fewest_runs(len(published.QUARTILES))

    def run(self, runner: Runner) -> Fit:
        """See `Part`."""
        experiments = {
            (load, arm.key): arm.experiment
            for load in self.amount.over
            for arm in arms.published_arms(
                runner.seed, packets_per_second=load, duration_s=arms.PINGED_S
            )
        }
        found = runner.replicate(
            experiments, quartiles_ms, self.amount, task=self.name, complete=True
        )
        self.n = found.n
        printed = np.array([each.ms for each in published.QUARTILES])
        return fit_load_and_base_rtt(
            printed, {load: quartile_rows(found, load) for load in self.amount.over}
        )

    def judge(self, found: Fit) -> Iterable[Judged]:
        """A calibration: it counts nowhere."""
        yield claims.load(found, self.n)


def quartile_rows(found: Replications[tuple[float, str], Floats], load: float) -> Floats:
    """Six quartiles a row, the arms of a row from runs of their own as the source's were."""
    sm, tdm = (np.array(found.of((load, arm))) for arm in published.ARMS)
    return np.column_stack([sm, np.roll(tdm, -1, axis=0)])


class Published(Part[AsPublished]):
    """The testbed's run, against what was printed: with its parameters, or at the fitted load."""

    def __init__(self, label: str, amount: Amount[str], fit: LoadFit | None = None) -> None:
        """Under which label, how much; at whose load, where it is not the nominal one."""
        self.name = f"{label} load"  # type: ignore[misc]
        self.label, self.amount, self.fit = label, amount, fit

    def is_wanted(self, options: StudyOptions) -> bool:
        """At the fitted load only where there is one."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def run(self, runner: Runner) -> AsPublished:
        """The pinged 200 s of each replication, which is all that was printed; one run whole."""
        settings = self.fit.found.settings if self.fit else {}
        whole = arms.published_arms(runner.seed, **settings)
        self.whole = first_runs(
            runner.replicate(whole, pinged, ONE, task=self.name, keep=1, fixed=True)
        )
        at_load = arms.published_arms(runner.seed, duration_s=arms.PINGED_S, **settings)
        return runner.replicate(at_load, pinged, self.amount, task=self.name, keep=1)

    def judge(self, found: AsPublished) -> Iterable[Judged]:
        """What was printed and, at the fitted load, not used for the fit."""
        return claims.as_published(found, self.label, "sim", fitted=self.fit is not None)

    def figures(self, found: AsPublished) -> Iterable[Figure]:
        """The source's own figures."""
        yield figures.rtt_cdf(found, self.label, self.fit.found if self.fit else None)
        if self.fit is None:
            yield figures.queue_length_cdf(self.whole, f"at the {self.name}")

    def loads(self, found: AsPublished) -> Iterable[LoadRow]:
        """Of the first run with the published parameters."""
        return [
            LoadRow(f"{arm}: {row.what}", row.asked, row.measured, row.unit, row.note)
            for arm, run in self.whole.items()
            for row in asked_and_measured(run)
            if self.fit is None
        ]

    def runs(self, found: AsPublished) -> Mapping[str, Run]:
        """The whole ones."""
        return {f"{self.label} {arm}": run for arm, run in self.whole.items()}


class Elsewhere(Part[Replications[str, dict[str, float]]]):
    """The same traffic for as long as a real kernel was measured with it."""

    name = "as long as was measured"

    def __init__(self, amount: Amount[str]) -> None:
        """How much is run."""
        self.amount = amount

    def run(self, runner: Runner) -> Replications[str, dict[str, float]]:
        """See `Part`."""
        measured = arms.arms_measured_elsewhere(runner.seed)
        return runner.replicate(measured, means_behind_buckets_ms, self.amount, task=self.name)

    def judge(self, found: Replications[str, dict[str, float]]) -> Iterator[Judged]:
        """Every mean that was measured."""
        for shaper in elsewhere.SHAPERS:
            for arm in published.ARMS:
                means_ms = found.values(arm, lambda means, name=shaper.name: means[name])  # type: ignore[misc]
                yield from claims.measured_elsewhere(arm, shaper, means_ms)


class OnKernel(Part[OnBoth[D]], ABC):
    """What is run on the kernel, beside the simulator."""

    def is_wanted(self, options: StudyOptions) -> bool:
        """Where the kernel is asked for."""
        return "kernel" in options.backends

    @abstractmethod
    def compared(self, found: OnBoth[D]) -> Iterable[Compared]:
        """Mean delays on which both backends should agree."""


class IdealOnKernel(OnKernel[Ideal]):
    """Theory's system on the kernel: against theory, and against the simulator."""

    def __init__(self, streams: int, amount: Amount[int], controls: Amount[int], seed: int) -> None:
        """So many streams; how much there and here."""
        self.name = f"ideal source, {streams} streams, on the kernel"  # type: ignore[misc]
        self.streams, self.amount, self.controls, self.seed = streams, amount, controls, seed

    def on_kernel(self) -> Iterable[Experiment]:
        """Both arms."""
        return [arm.experiment for arm in ideal_on_kernel(self.streams, self.seed)]

    def run(self, runner: Runner) -> OnBoth[Ideal]:
        """See `Part`; whatever is asked for there, in the simulator it is as often as many."""
        both, task = (
            ideal_on_kernel(self.streams, self.seed),
            f"ideal source, {self.streams} streams",
        )
        kernel = run_ideal(runner, both, self.amount, task=task, backend="kernel")
        often = Amount[int](kernel.n * self.controls.runs // self.amount.runs)
        return OnBoth(kernel, run_ideal(runner, both, often, task=task, fixed=True))

    def judge(self, found: OnBoth[Ideal]) -> Iterator[Judged]:
        """Theory with the simulator as control variate; agreement by pairs."""
        note = controlled.note(found.kernel.n, found.sim.n)
        means = controlled.ideal_means(found.kernel, found.sim)
        yield from claims.ideal(self.streams, means, "kernel", note)
        yield from map(claims.agreement, self.compared(found))

    def gain(self, found: OnBoth[Ideal]) -> Estimate:
        """Mean time in the system of TDM over that of SM."""
        return controlled.gain(found.kernel, found.sim)

    def compared(self, found: OnBoth[Ideal]) -> Iterator[Compared]:
        """Mean times in the system."""
        for arm in published.ARMS:
            kernel, sim = (1e3 * of.values(arm, "sojourn_s") for of in (found.kernel, found.sim))
            yield Compared(
                f"ideal-t-{arm.lower()}-m{self.streams}",
                f"the mean time in the system of {arm} (ideal source, m = {self.streams})",
                f"ideal, m = {self.streams}: {arm}",
                kernel,
                sim[: kernel.size],
            )


class PublishedOnKernel(OnKernel[AsPublished]):
    """The run as published on the kernel, as long as there are pings."""

    def __init__(
        self, label: str, amount: Amount[str], seed: int, fit: LoadFit | None = None
    ) -> None:
        """Under which label, how much; at whose load, where it is not the nominal one."""
        self.name = f"{label} load, on the kernel"  # type: ignore[misc]
        self.label, self.amount, self.seed, self.fit = label, amount, seed, fit

    def is_wanted(self, options: StudyOptions) -> bool:
        """At the fitted load only where there is one."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def arms(self) -> list[Arm[str]]:
        """What is run."""
        settings = self.fit.found.settings_on_kernel if self.fit and self.fit.is_finished else {}
        return arms.published_arms(self.seed, duration_s=arms.PINGED_S, **settings)

    def on_kernel(self) -> Iterable[Experiment]:
        """Both arms; the load does not matter to what can be run."""
        return [arm.experiment for arm in self.arms()]

    def run(self, runner: Runner) -> OnBoth[AsPublished]:
        """See `Part`."""
        kernel, sim = (
            runner.replicate(
                self.arms(),
                pinged,
                self.amount,
                task=f"{self.label} load",
                backend=backend,
                keep=1,
            )
            for backend in ("kernel", "sim")
        )
        return OnBoth(kernel, sim)

    def judge(self, found: OnBoth[AsPublished]) -> Iterator[Judged]:
        """What was printed; agreement by pairs."""
        is_fitted = self.fit is not None
        yield from claims.as_published(found.kernel, self.label, "kernel", fitted=is_fitted)
        yield from map(claims.agreement, self.compared(found))

    def compared(self, found: OnBoth[AsPublished]) -> Iterator[Compared]:
        """Mean round-trip times."""
        n = min(found.kernel.n, found.sim.n)
        suffix = "" if self.fit is None else "-fitted"
        for arm in published.ARMS:
            yield Compared(
                f"rtt-{arm.lower()}{suffix}",
                f"the mean round-trip time of {arm} ({self.label} load)",
                f"{self.label} load: {arm}",
                found.kernel.values(arm, "mean_ms")[:n],
                found.sim.values(arm, "mean_ms")[:n],
            )

    def figures(self, found: OnBoth[AsPublished]) -> Iterable[Figure]:
        """One run on both."""
        if self.fit is None:
            yield figures.rtt_cdf_on_both(found.sim, found.kernel)

    def runs(self, found: OnBoth[AsPublished]) -> Mapping[str, Run]:
        """See `Part`; those in the simulator too where nothing else was run there."""
        return {f"{self.label} {arm}": run for arm, run in first_runs(found.kernel).items()}


def ideal_on_kernel(streams: int, seed: int) -> list[Arm[str]]:
    """Both arms with the ideal source, as they are run on the kernel."""
    return arms.ideal_arms(streams, PACKETS_ON_KERNEL, seed, enlarged=arms.ENLARGED_ON_KERNEL)


def run_ideal(runner: Runner, arms_: list[Arm[str]], amount: Amount[int], **how: Any) -> Ideal:
    """Replications with the ideal source."""
    return runner.replicate(
        arms_, stayed, amount, batch=8, precision_of=("sojourn_s", "queue_pkts"), **how
    )


def gain(found: Ideal) -> Estimate:
    """Mean time in the system of TDM over that of SM."""
    return found.ratio("TDM", "SM", "sojourn_s")


def first_runs(found: AsPublished) -> dict[str, Run]:
    """Arm to the run of replication 0."""
    return {arm: found.run(arm) for arm in found.arms}
