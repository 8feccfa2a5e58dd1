"""The parts of the study: each with its runs, claims, tables and figures.

In the simulator: the ideal source against theory, the run as published, the load that explains the
printed numbers with the run at that load, and the same traffic for the duration measured on a real
kernel. On the Linux kernel in virtual time: some of these, each replication paired with the
simulator's. Both backends draw arrivals and sizes from the same named streams, so the variation of
the traffic cancels in the difference, and few runs suffice to judge agreement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from dumbbell.claims import Judged
from dumbbell.metrics import asked_and_measured
from dumbbell.replication import Replications
from dumbbell.report import Figure, LoadRow
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.shape import Amount, Arm, Part, Preset, Presets, Runner
from dumbbell.studies.statistical_multiplexing import (
    arms,
    claims,
    controlled,
    external_measurements,
    figures,
    published,
)
from dumbbell.studies.statistical_multiplexing.figures import Poisson
from dumbbell.studies.statistical_multiplexing.fit import (
    QuartileFit,
    fewest_runs,
    fit_sender_and_base_rtt,
)
from dumbbell.studies.statistical_multiplexing.measures import (
    AsPublished,
    DelayComparison,
    Floats,
    Ideal,
    means_behind_buckets_ms,
    pinged,
    quartiles_ms,
    stayed,
)
from dumbbell.studies.statistical_multiplexing.senders import Sender
from dumbbell.tables import Run

D = TypeVar("D")
PACKETS, PACKETS_ON_KERNEL = 1.2e6, 5e4
"""Packets of a replication with the ideal source; on the kernel each takes about 80 microseconds of
CPU."""
ONE: Amount[str] = Amount(1)
PRECISION = 0.01
"""Relative half-width of the ideal means' intervals: half of the claims' margin."""


@dataclass(frozen=True, slots=True)
class MultiplexingPreset(Preset):
    """Number of replications of each part.

    Attributes:
        ideal: Runs with the ideal source, over numbers of streams.
        nominal: Runs as published.
        fit: Runs over loads, in packets/s of each sender.
        oversleep: Runs over oversleeps of a sender, ms.
        fitted: Runs as published, with fitted senders of either kind.
        elsewhere: Runs of the duration measured on a real kernel.
        ideal_on_kernel: Runs with the ideal source on the kernel, over numbers of streams.
        controls: The same in the simulator, for each of them.
        on_kernel: Runs as published on the kernel, at each load; published numbers need ten.
        own_programs: Runs as published with ITGSend and ping, on the kernel.
    """

    ideal: Amount[int]
    nominal: Amount[str]
    fit: Amount[float]
    oversleep: Amount[float]
    fitted: Amount[str]
    elsewhere: Amount[str]
    ideal_on_kernel: Amount[int]
    controls: Amount[int]
    on_kernel: Amount[str]
    own_programs: Amount[str]


PRESETS = Presets(
    quick=MultiplexingPreset(
        ideal=Amount(16, at_most=48, precision=PRECISION, over=(2,)),
        nominal=Amount(100),
        fit=Amount(60, over=(68.0, 76.0, 84.0, 92.0)),
        oversleep=Amount(60, over=(2.0, 2.5, 3.0, 3.5)),
        fitted=Amount(100),
        elsewhere=Amount(60),
        ideal_on_kernel=Amount(6, over=(2,)),
        controls=Amount(192),
        on_kernel=Amount(10),
        own_programs=Amount(3),
    ),
    full=MultiplexingPreset(
        ideal=Amount(80, at_most=640, precision=PRECISION, over=(2, 4, 8, 16)),
        nominal=Amount(1000),
        fit=Amount(400, over=tuple(np.arange(60.0, 112.0, 4.0).tolist())),
        oversleep=Amount(400, over=tuple(np.linspace(1.0, 5.0, 9).tolist())),
        fitted=Amount(1000),
        elsewhere=Amount(1000),
        ideal_on_kernel=Amount(64, over=(2, 4, 8)),
        controls=Amount(1536),
        on_kernel=Amount(40),
        own_programs=Amount(10),
    ),
)


@dataclass(frozen=True)
class ArmsOnBothBackends(Generic[D]):
    """The same arms on both backends.

    Attributes:
        kernel: Replications on the kernel.
        sim: The same replications in the simulator, and possibly more.
    """

    kernel: D
    sim: D


class IdealSource(Part[Ideal]):
    """The system of queueing theory, compared with theory."""

    def __init__(self, streams: int, amount: Amount[int]) -> None:
        """Set the number of streams and the amount."""
        self.name = f"ideal source, {streams} streams"
        self.streams, self.amount = streams, amount

    def run(self, runner: Runner) -> Ideal:
        """See `Part`."""
        both = arms.ideal_arms(self.streams, PACKETS, runner.seed)
        return run_ideal(runner, both, self.amount, task=self.name)

    def judge(self, found: Ideal) -> Iterable[Judged]:
        """Judge four rows, two facts."""
        return claims.ideal(self.streams, claims.IdealMeans.of(found), "sim")


@dataclass(frozen=True, eq=False)
class Explaining:
    """Runs with one kind of sender, and its fit to the printed quartiles.

    Attributes:
        quartiles_ms: By value of the sender's number, the six quartiles of each run over a path
            without delay, shape (runs, 6).
        fit: The best value with its base RTT.
        n: Replications at each value.
    """

    quartiles_ms: Mapping[float, Floats]
    fit: QuartileFit
    n: int


class SenderFit(Part[Explaining]):
    """The senders and base RTT that explain the printed quartiles."""

    def __init__(self, sender: Sender, amount: Amount[float]) -> None:
        """Set the sender, the amount, and the values of the sender's number."""
        self.name = fit_name(sender)
        self.sender, self.amount = sender, amount

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the simulator runs: only it has enough runs for the quartiles' covariances."""
        runs = options.replications or self.amount.runs
        return "sim" in options.backends and runs >= fewest_runs(len(published.QUARTILES))

    def run(self, runner: Runner) -> Explaining:
        """See `Part`."""
        experiments = {
            (value, arm.key): arm.experiment
            for value in self.amount.over
            for arm in arms.published_arms(
                runner.seed, duration_s=arms.PINGED_S, **self.sender.arguments(value)
            )
        }
        found = runner.replicate(
            experiments, quartiles_ms, self.amount, task=self.name, complete=True
        )
        printed = np.array([each.ms for each in published.QUARTILES])
        rows = {value: quartile_rows(found, value) for value in self.amount.over}
        return Explaining(rows, fit_sender_and_base_rtt(printed, rows), found.n)

    def judge(self, found: Explaining) -> Iterable[Judged]:
        """Report the calibration, which is not counted."""
        yield claims.calibrated(self.sender, found.fit, found.n)

    def arguments(self) -> dict[str, float]:
        """Return the arguments of `arms.as_published` at the best fit."""
        fit = self.found.fit
        best = self.sender.arguments(fit.of_sender.value)
        return {**best, "base_rtt_ms": fit.base_rtt_ms.value}

    def arguments_on_kernel(self) -> dict[str, float]:
        """Return the same, with a link's delay (half the base RTT) in microseconds, as in tc."""
        fit = self.found.fit
        return self.arguments() | {"base_rtt_ms": 2e-3 * round(500 * fit.base_rtt_ms.value)}


def fit_name(sender: Sender) -> str:
    """Return the name of the part, and of its task."""
    return f"fit of the {sender.parameter}"


class JointSenderFit(Part[Mapping[Sender, Explaining]]):
    """Whether any of the senders explains all printed quartiles together."""

    name = "quartiles together"

    def __init__(self, fits: Sequence[SenderFit]) -> None:
        """Set the fits of all senders; no further runs are needed."""
        self.fits = fits

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether all fits were run."""
        return all(fit.is_finished for fit in self.fits)

    def run(self, runner: Runner) -> Mapping[Sender, Explaining]:
        """Return the results of the fits."""
        return {fit.sender: fit.found for fit in self.fits}

    def judge(self, found: Mapping[Sender, Explaining]) -> Iterable[Judged]:
        """Judge one claim over all of them."""
        yield claims.together({sender: each.quartiles_ms for sender, each in found.items()})


def quartile_rows(found: Replications[tuple[float, str], Floats], value: float) -> Floats:
    """Return six quartiles per row, with arms from separate runs as in the source."""
    sm, tdm = (np.array(found.of((value, arm))) for arm in published.ARMS)
    return np.column_stack([sm, np.roll(tdm, -1, axis=0)])


class Published(Part[AsPublished]):
    """The testbed's run, compared with printed values: as typed, or with fitted senders."""

    def __init__(self, amount: Amount[str], fit: SenderFit | None = None) -> None:
        """Set the amount, and the senders if they are fitted."""
        self.amount, self.fit = amount, fit
        self.label, self.where = label_and_where(fit)
        self.name = task_name(self.label)

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run: with fitted senders, only if there is a fit."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def run(self, runner: Runner) -> AsPublished:
        """Run the 200 s with pings of each replication, which give all printed numbers; one run
        whole.
        """
        settings = self.fit.arguments() if self.fit else {}
        whole = arms.published_arms(runner.seed, **settings)
        self.whole = first_runs(
            runner.replicate(whole, pinged, ONE, task=self.name, keep=1, fixed=True)
        )
        at_load = arms.published_arms(runner.seed, duration_s=arms.PINGED_S, **settings)
        return runner.replicate(at_load, pinged, self.amount, task=self.name, keep=1)

    def judge(self, found: AsPublished) -> Iterable[Judged]:
        """Judge printed values; with fitted senders, those not used for the fit."""
        fitted = self.fit is not None
        return claims.as_published(found, self.label, self.where, "sim", fitted=fitted)

    def figures(self, found: AsPublished) -> Iterable[Figure]:
        """Draw the source's figures."""
        yield figures.rtt_cdf(found, self.label, self.where, self.theory())
        if self.fit is None:
            yield figures.queue_length_cdf(self.whole, self.where)

    def theory(self) -> Poisson | None:
        """Return the senders of the theory curve, if they have one."""
        if self.fit is None:
            return Poisson(published.PACKETS_PER_SECOND, 0.0)
        fit = self.fit.found.fit
        if not self.fit.sender.is_poisson:
            return None
        return Poisson(fit.of_sender.value, fit.base_rtt_ms.value)

    def loads(self, found: AsPublished) -> Iterable[LoadRow]:
        """Return the load of the first run with the published parameters."""
        return [
            LoadRow(f"{arm}: {row.what}", row.asked, row.measured, row.unit, row.note)
            for arm, run in self.whole.items()
            for row in asked_and_measured(run)
            if self.fit is None
        ]

    def runs(self, found: AsPublished) -> Mapping[str, Run]:
        """Return the runs of full length."""
        return {f"{self.label} {arm}": run for arm, run in self.whole.items()}


NOMINAL = "nominal"


def label_and_where(fit: SenderFit | None) -> tuple[str, str]:
    """Return the prefix of ids, and a phrase that completes a sentence, for runs as published."""
    if fit is None:
        return NOMINAL, "at the nominal load"
    return fit.sender.label, fit.sender.where


def task_name(label: str) -> str:
    """Return the task of runs as published: common to both backends, to pair replications."""
    return f"{label} load"


class KernelLengthRuns(Part[Replications[str, dict[str, float]]]):
    """The same traffic for the duration measured on a real kernel."""

    name = "as long as was measured"

    def __init__(self, amount: Amount[str]) -> None:
        """Set the amount."""
        self.amount = amount

    def run(self, runner: Runner) -> Replications[str, dict[str, float]]:
        """See `Part`."""
        measured = arms.arms_measured_elsewhere(runner.seed)
        return runner.replicate(measured, means_behind_buckets_ms, self.amount, task=self.name)

    def judge(self, found: Replications[str, dict[str, float]]) -> Iterator[Judged]:
        """Judge every measured mean."""
        for shaper in external_measurements.SHAPERS:
            for arm in published.ARMS:
                means_ms = found.values(arm, lambda means, name=shaper.name: means[name])  # type: ignore[misc]
                yield from claims.measured_elsewhere(arm, shaper, means_ms)


class OnKernel(Part[ArmsOnBothBackends[D]], ABC):
    """A part on the kernel, compared with the simulator."""

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the kernel is requested."""
        return "kernel" in options.backends

    @abstractmethod
    def compared(self, found: ArmsOnBothBackends[D]) -> Iterable[DelayComparison]:
        """Return mean delays on which both backends should agree."""


class IdealOnKernel(OnKernel[Ideal]):
    """The system of queueing theory on the kernel, compared with theory and with the simulator."""

    def __init__(self, streams: int, amount: Amount[int], controls: Amount[int], seed: int) -> None:
        """Set the number of streams, and the amounts on kernel and simulator."""
        self.name = f"ideal source, {streams} streams, on the kernel"
        self.streams, self.amount, self.controls, self.seed = streams, amount, controls, seed

    def on_kernel(self) -> Iterable[Experiment]:
        """Return both arms."""
        return [arm.experiment for arm in ideal_on_kernel(self.streams, self.seed)]

    def run(self, runner: Runner) -> ArmsOnBothBackends[Ideal]:
        """See `Part`; the options do not change the simulator's number of runs."""
        both, task = (
            ideal_on_kernel(self.streams, self.seed),
            f"ideal source, {self.streams} streams",
        )
        kernel = run_ideal(runner, both, self.amount, task=task, backend="kernel")
        often = Amount[int](kernel.n * self.controls.runs // self.amount.runs)
        return ArmsOnBothBackends(kernel, run_ideal(runner, both, often, task=task, fixed=True))

    def judge(self, found: ArmsOnBothBackends[Ideal]) -> Iterator[Judged]:
        """Judge theory with the simulator as control variate, and agreement by pairs."""
        note = controlled.note(found.kernel.n, found.sim.n)
        means = controlled.ideal_means(found.kernel, found.sim)
        yield from claims.ideal(self.streams, means, "kernel", note)
        yield from map(claims.agreement, self.compared(found))

    def gain(self, found: ArmsOnBothBackends[Ideal]) -> Estimate:
        """Return the mean time in the system of TDM over that of SM."""
        return controlled.gain(found.kernel, found.sim)

    def compared(self, found: ArmsOnBothBackends[Ideal]) -> Iterator[DelayComparison]:
        """Return mean times in the system."""
        for arm in published.ARMS:
            kernel, sim = (1e3 * of.values(arm, "sojourn_s") for of in (found.kernel, found.sim))
            yield DelayComparison(
                f"ideal-t-{arm.lower()}-m{self.streams}",
                f"the mean time in the system of {arm} (ideal source, m = {self.streams})",
                f"ideal, m = {self.streams}: {arm}",
                kernel,
                sim[: kernel.size],
            )


class PublishedOnKernel(OnKernel[AsPublished]):
    """The run as published on the kernel, for the time with pings."""

    def __init__(self, amount: Amount[str], seed: int, fit: SenderFit | None = None) -> None:
        """Set the amount, and the senders if they are fitted."""
        self.amount, self.seed, self.fit = amount, seed, fit
        self.label, self.where = label_and_where(fit)
        self.name = f"{task_name(self.label)}, on the kernel"

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run: with fitted senders, only if there is a fit."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def arms(self) -> list[Arm[str]]:
        """Return the arms."""
        settings = self.fit.arguments_on_kernel() if self.fit and self.fit.is_finished else {}
        return arms.published_arms(self.seed, duration_s=arms.PINGED_S, **settings)

    def on_kernel(self) -> Iterable[Experiment]:
        """Return both arms; the load is irrelevant to the check."""
        return [arm.experiment for arm in self.arms()]

    def run(self, runner: Runner) -> ArmsOnBothBackends[AsPublished]:
        """See `Part`."""
        kernel, sim = (
            runner.replicate(
                self.arms(),
                pinged,
                self.amount,
                task=task_name(self.label),
                backend=backend,
                keep=1,
            )
            for backend in ("kernel", "sim")
        )
        return ArmsOnBothBackends(kernel, sim)

    def judge(self, found: ArmsOnBothBackends[AsPublished]) -> Iterator[Judged]:
        """Judge printed values, and agreement by pairs."""
        is_fitted = self.fit is not None
        yield from claims.as_published(
            found.kernel, self.label, self.where, "kernel", fitted=is_fitted
        )
        yield from map(claims.agreement, self.compared(found))

    def compared(self, found: ArmsOnBothBackends[AsPublished]) -> Iterator[DelayComparison]:
        """Return mean round-trip times."""
        n = min(found.kernel.n, found.sim.n)
        suffix = "" if self.fit is None else f"-{self.label}"
        for arm in published.ARMS:
            yield DelayComparison(
                f"rtt-{arm.lower()}{suffix}",
                f"the mean round-trip time of {arm}, {self.where}",
                f"{self.label}: {arm}",
                found.kernel.values(arm, "mean_ms")[:n],
                found.sim.values(arm, "mean_ms")[:n],
            )

    def figures(self, found: ArmsOnBothBackends[AsPublished]) -> Iterable[Figure]:
        """Draw one run on both backends."""
        if self.fit is None:
            yield figures.rtt_cdf_on_both(found.sim, found.kernel)

    def runs(self, found: ArmsOnBothBackends[AsPublished]) -> Mapping[str, Run]:
        """See `Part`; includes those in the simulator if it ran nothing else."""
        return {f"{self.label} {arm}": run for arm, run in first_runs(found.kernel).items()}


def ideal_on_kernel(streams: int, seed: int) -> list[Arm[str]]:
    """Return both arms with the ideal source, as run on the kernel."""
    return arms.ideal_arms(streams, PACKETS_ON_KERNEL, seed, enlarged=arms.ENLARGED_ON_KERNEL)


def run_ideal(runner: Runner, arms_: list[Arm[str]], amount: Amount[int], **how: Any) -> Ideal:
    """Run replications with the ideal source."""
    return runner.replicate(
        arms_, stayed, amount, batch=8, precision_of=("sojourn_s", "queue_pkts"), **how
    )


def gain(found: Ideal) -> Estimate:
    """Return the mean time in the system of TDM over that of SM."""
    return found.ratio("TDM", "SM", "sojourn_s")


def first_runs(found: AsPublished) -> dict[str, Run]:
    """Return the run of replication 0 of each arm."""
    return {arm: found.run(arm) for arm in found.arms}
