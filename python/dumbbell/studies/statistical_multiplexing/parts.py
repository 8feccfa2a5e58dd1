"""The parts of the study: each with what it runs, claims and shows.

In the simulator: the ideal source against theory, the run as published, the load that explains what
was printed and the run at that load, and the same traffic for as long as it was measured elsewhere.
On the Linux kernel in virtual time: some of it, each replication beside the simulator's own. Both
backends draw arrivals and sizes from the same named streams, so what the traffic varies by from run
to run cancels in the difference, and a few runs say much about whether the two agree.
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
"""Of a replication with the ideal source; on the kernel each takes some 80 microseconds of CPU."""
ONE: Amount[str] = Amount(1)
PRECISION = 0.01
"""Relative half-width of the ideal means' intervals: half of the claims' margin."""


@dataclass(frozen=True, slots=True)
class MultiplexingPreset(Preset):
    """How much is run.

    Attributes:
        ideal: With the ideal source, over numbers of streams.
        nominal: As published.
        fit: Over loads, in packets/s of each sender.
        oversleep: Over what each sleep of a sender is too long by, ms.
        fitted: As published, with fitted senders of either kind.
        elsewhere: For as long as was measured elsewhere.
        ideal_on_kernel: With the ideal source on the kernel, over numbers of streams.
        controls: The same in the simulator, for each of them.
        on_kernel: As published on the kernel, at each load: published numbers need ten.
        own_programs: As published by ITGSend and ping themselves, on the kernel.
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
        kernel: Replications there.
        sim: The same replications here, and perhaps more.
    """

    kernel: D
    sim: D


class IdealSource(Part[Ideal]):
    """Theory's system, against theory."""

    def __init__(self, streams: int, amount: Amount[int]) -> None:
        """What is run: `streams` streams."""
        self.name = f"ideal source, {streams} streams"
        self.streams, self.amount = streams, amount

    def run(self, runner: Runner) -> Ideal:
        """See `Part`."""
        both = arms.ideal_arms(self.streams, PACKETS, runner.seed)
        return run_ideal(runner, both, self.amount, task=self.name)

    def judge(self, found: Ideal) -> Iterable[Judged]:
        """Four rows, two facts."""
        return claims.ideal(self.streams, claims.IdealMeans.of(found), "sim")


@dataclass(frozen=True, eq=False)
class Explaining:
    """Runs with one kind of sender, and which of them explain the printed quartiles.

    Attributes:
        quartiles_ms: Value of the sender's number to the six quartiles of each run with an empty
            path of no delay, shape (runs, 6).
        fit: Which value, with which base RTT, is best.
        n: Replications at each value.
    """

    quartiles_ms: Mapping[float, Floats]
    fit: QuartileFit
    n: int


class SenderFit(Part[Explaining]):
    """The senders, and base RTT, that explain the printed quartiles."""

    def __init__(self, sender: Sender, amount: Amount[float]) -> None:
        """Which senders, over which values of their number, how much."""
        self.name = fit_name(sender)
        self.sender, self.amount = sender, amount

    def is_wanted(self, options: StudyOptions) -> bool:
        """In the simulator, where there are runs enough for the quartiles' covariances."""
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
        """A calibration: it counts nowhere."""
        yield claims.calibrated(self.sender, found.fit, found.n)

    def arguments(self) -> dict[str, float]:
        """Of `arms.as_published`, at the best fit."""
        fit = self.found.fit
        best = self.sender.arguments(fit.of_sender.value)
        return {**best, "base_rtt_ms": fit.base_rtt_ms.value}

    def arguments_on_kernel(self) -> dict[str, float]:
        """The same, the delay of a link, half of the base RTT, in whole microseconds: tc's unit."""
        fit = self.found.fit
        return self.arguments() | {"base_rtt_ms": 2e-3 * round(500 * fit.base_rtt_ms.value)}


def fit_name(sender: Sender) -> str:
    """Of the part, and of its task."""
    return f"fit of the {sender.parameter}"


class JointSenderFit(Part[Mapping[Sender, Explaining]]):
    """Does any of the senders explain all printed quartiles together?"""

    name = "quartiles together"

    def __init__(self, fits: Sequence[SenderFit]) -> None:
        """Of all senders that were tried; nothing more is run."""
        self.fits = fits

    def is_wanted(self, options: StudyOptions) -> bool:
        """Once all of them were."""
        return all(fit.is_finished for fit in self.fits)

    def run(self, runner: Runner) -> Mapping[Sender, Explaining]:
        """What the fits have seen."""
        return {fit.sender: fit.found for fit in self.fits}

    def judge(self, found: Mapping[Sender, Explaining]) -> Iterable[Judged]:
        """One claim over all of them."""
        yield claims.together({sender: each.quartiles_ms for sender, each in found.items()})


def quartile_rows(found: Replications[tuple[float, str], Floats], value: float) -> Floats:
    """Six quartiles a row, the arms of a row from runs of their own as the source's were."""
    sm, tdm = (np.array(found.of((value, arm))) for arm in published.ARMS)
    return np.column_stack([sm, np.roll(tdm, -1, axis=0)])


class Published(Part[AsPublished]):
    """The testbed's run, against what was printed: as typed, or with fitted senders."""

    def __init__(self, amount: Amount[str], fit: SenderFit | None = None) -> None:
        """How much; with which senders, where they are not the nominal ones."""
        self.amount, self.fit = amount, fit
        self.label, self.where = label_and_where(fit)
        self.name = task_name(self.label)

    def is_wanted(self, options: StudyOptions) -> bool:
        """With fitted senders only where there is a fit."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def run(self, runner: Runner) -> AsPublished:
        """The pinged 200 s of each replication, which is all that was printed; one run whole."""
        settings = self.fit.arguments() if self.fit else {}
        whole = arms.published_arms(runner.seed, **settings)
        self.whole = first_runs(
            runner.replicate(whole, pinged, ONE, task=self.name, keep=1, fixed=True)
        )
        at_load = arms.published_arms(runner.seed, duration_s=arms.PINGED_S, **settings)
        return runner.replicate(at_load, pinged, self.amount, task=self.name, keep=1)

    def judge(self, found: AsPublished) -> Iterable[Judged]:
        """What was printed and, with fitted senders, not used for the fit."""
        fitted = self.fit is not None
        return claims.as_published(found, self.label, self.where, "sim", fitted=fitted)

    def figures(self, found: AsPublished) -> Iterable[Figure]:
        """The source's own figures."""
        yield figures.rtt_cdf(found, self.label, self.where, self.theory())
        if self.fit is None:
            yield figures.queue_length_cdf(self.whole, self.where)

    def theory(self) -> Poisson | None:
        """What theory is about these senders, if any is."""
        if self.fit is None:
            return Poisson(published.PACKETS_PER_SECOND, 0.0)
        fit = self.fit.found.fit
        if not self.fit.sender.is_poisson:
            return None
        return Poisson(fit.of_sender.value, fit.base_rtt_ms.value)

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


NOMINAL = "nominal"


def label_and_where(fit: SenderFit | None) -> tuple[str, str]:
    """Of runs as published: with what ids begin, and what completes a sentence."""
    if fit is None:
        return NOMINAL, "at the nominal load"
    return fit.sender.label, fit.sender.where


def task_name(label: str) -> str:
    """Of runs as published; replications are of a task, so one name is for both backends."""
    return f"{label} load"


class KernelLengthRuns(Part[Replications[str, dict[str, float]]]):
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
        for shaper in external_measurements.SHAPERS:
            for arm in published.ARMS:
                means_ms = found.values(arm, lambda means, name=shaper.name: means[name])  # type: ignore[misc]
                yield from claims.measured_elsewhere(arm, shaper, means_ms)


class OnKernel(Part[ArmsOnBothBackends[D]], ABC):
    """What is run on the kernel, beside the simulator."""

    def is_wanted(self, options: StudyOptions) -> bool:
        """Where the kernel is asked for."""
        return "kernel" in options.backends

    @abstractmethod
    def compared(self, found: ArmsOnBothBackends[D]) -> Iterable[DelayComparison]:
        """Mean delays on which both backends should agree."""


class IdealOnKernel(OnKernel[Ideal]):
    """Theory's system on the kernel: against theory, and against the simulator."""

    def __init__(self, streams: int, amount: Amount[int], controls: Amount[int], seed: int) -> None:
        """`streams` streams; how much there and here."""
        self.name = f"ideal source, {streams} streams, on the kernel"
        self.streams, self.amount, self.controls, self.seed = streams, amount, controls, seed

    def on_kernel(self) -> Iterable[Experiment]:
        """Both arms."""
        return [arm.experiment for arm in ideal_on_kernel(self.streams, self.seed)]

    def run(self, runner: Runner) -> ArmsOnBothBackends[Ideal]:
        """See `Part`; whatever is asked for there, in the simulator it is as often as many."""
        both, task = (
            ideal_on_kernel(self.streams, self.seed),
            f"ideal source, {self.streams} streams",
        )
        kernel = run_ideal(runner, both, self.amount, task=task, backend="kernel")
        often = Amount[int](kernel.n * self.controls.runs // self.amount.runs)
        return ArmsOnBothBackends(kernel, run_ideal(runner, both, often, task=task, fixed=True))

    def judge(self, found: ArmsOnBothBackends[Ideal]) -> Iterator[Judged]:
        """Theory with the simulator as control variate; agreement by pairs."""
        note = controlled.note(found.kernel.n, found.sim.n)
        means = controlled.ideal_means(found.kernel, found.sim)
        yield from claims.ideal(self.streams, means, "kernel", note)
        yield from map(claims.agreement, self.compared(found))

    def gain(self, found: ArmsOnBothBackends[Ideal]) -> Estimate:
        """Mean time in the system of TDM over that of SM."""
        return controlled.gain(found.kernel, found.sim)

    def compared(self, found: ArmsOnBothBackends[Ideal]) -> Iterator[DelayComparison]:
        """Mean times in the system."""
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
    """The run as published on the kernel, as long as there are pings."""

    def __init__(self, amount: Amount[str], seed: int, fit: SenderFit | None = None) -> None:
        """How much; with which senders, where they are not the nominal ones."""
        self.amount, self.seed, self.fit = amount, seed, fit
        self.label, self.where = label_and_where(fit)
        self.name = f"{task_name(self.label)}, on the kernel"

    def is_wanted(self, options: StudyOptions) -> bool:
        """With fitted senders only where there is a fit."""
        return super().is_wanted(options) and (self.fit is None or self.fit.is_finished)

    def arms(self) -> list[Arm[str]]:
        """What is run."""
        settings = self.fit.arguments_on_kernel() if self.fit and self.fit.is_finished else {}
        return arms.published_arms(self.seed, duration_s=arms.PINGED_S, **settings)

    def on_kernel(self) -> Iterable[Experiment]:
        """Both arms; the load does not matter to what can be run."""
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
        """What was printed; agreement by pairs."""
        is_fitted = self.fit is not None
        yield from claims.as_published(
            found.kernel, self.label, self.where, "kernel", fitted=is_fitted
        )
        yield from map(claims.agreement, self.compared(found))

    def compared(self, found: ArmsOnBothBackends[AsPublished]) -> Iterator[DelayComparison]:
        """Mean round-trip times."""
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
        """One run on both."""
        if self.fit is None:
            yield figures.rtt_cdf_on_both(found.sim, found.kernel)

    def runs(self, found: ArmsOnBothBackends[AsPublished]) -> Mapping[str, Run]:
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
