"""Effect of buffer size on delay: an overloaded token bucket and pings.

Ten seconds of overload behind eight queue sizes, with the source of queueing theory and with
ITGSend's actual traffic. The source's statements about the worst case are judged packet by packet,
and the load is swept. The printed first seconds behind 2 mb cannot result from ten seconds at the
printed load, so the load that explains them is fitted. The backend ``kernel`` runs the same
experiments on the Linux kernel in virtual time, with its ``tbf``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from dumbbell.claims import Judged
from dumbbell.metrics import asked_and_measured
from dumbbell.report import Figure, LoadRow, Report, Topology
from dumbbell.spec import Experiment
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.queue_size_delay import (
    arms,
    claims,
    figures,
    listing,
    live,
    measured,
    published,
    text,
)
from dumbbell.studies.queue_size_delay.arms import RANDOM, SourceBehindQueue, SourceKind
from dumbbell.studies.queue_size_delay.measures import DelaysOfRuns, delays, many
from dumbbell.studies.queue_size_delay.original_programs import QueueSizePrograms
from dumbbell.studies.queue_size_delay.printed_numbers import PRINTED
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Preset, Presets, Runner, nothing_of
from dumbbell.tables import Run

SWEPT = "40kb"
"""The queue size of the load sweep."""
SHOWN = "200kb"
"""The size whose first seconds are drawn packet by packet."""
INFINITY = 8.0
"""Load that approximates an infinite load."""
LATE_AT = (1.25, 2.0, 4.0)
"""Loads at which the share of late packets is claimed; near 1, ten seconds are too short."""
LISTING_LOADS = (1.02, 1.04, 1.06, 1.08, 1.1, 1.12)
LISTING_OVERSLEEPS_US = (100.0, 115.0, 130.0, 145.0, 160.0)
"""Senders tried for the listing: the source of queueing theory at several loads, and ITGSend with
several oversleeps."""
_ONCE: Amount[str] = Amount(1)
_ALL = (*published.LIMITS, published.LARGE)

ByArm = Mapping[SourceBehindQueue, DelaysOfRuns]


@dataclass(frozen=True, slots=True)
class QueueSizePreset(Preset):
    """Number of replications; every run is ten seconds of traffic, as published.

    Attributes:
        ideal: Runs of each size with the ideal source in the simulator.
        ditg: Runs with the D-ITG source: at least the 119 needed for intervals of 98.3 %.
        listing: Runs of each sender tried for the listing.
        loads: Runs at each load of the sweep, over these loads.
        kernel: Runs of each of these sizes and sources on the kernel; maxima need ten.
        own_programs: Runs of each of these sizes with ITGSend and ping, on the kernel.
    """

    ideal: Amount[str]
    ditg: Amount[str]
    listing: Amount[str]
    loads: Amount[float]
    kernel: Amount[str]
    own_programs: Amount[str]


PRESETS = Presets(
    quick=QueueSizePreset(
        ideal=Amount(60),
        ditg=Amount(240),
        listing=Amount(200),
        loads=Amount(40, over=(0.5, 0.7, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, INFINITY)),
        kernel=Amount(10, over=("10kb", "80kb", published.LARGE)),
        own_programs=Amount(3, over=("10kb", "80kb", published.LARGE)),
    ),
    full=QueueSizePreset(
        ideal=Amount(400),
        ditg=Amount(1200),
        listing=Amount(200),
        loads=Amount(
            400,
            over=(
                *(0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0),
                INFINITY,
            ),
        ),
        kernel=Amount(20, over=_ALL),
        own_programs=Amount(10, over=_ALL),
    ),
)


class QueueSizeRuns(Part[ByArm]):
    """Every size with both sources, compared with m/mu and theory."""

    name = "queue sizes"

    def __init__(self, options: StudyOptions, preset: QueueSizePreset, backend: str) -> None:
        """Set the experiments.

        Args:
            options: Seed and backends. If the simulator is not requested, its runs are only
                compared with the kernel's and not judged.
            preset: The amounts.
            backend: The backend.
        """
        self.backend = backend
        self.is_asked = backend in options.backends
        is_whole = backend == "sim" and self.is_asked
        self.amounts = {
            kind: amount if is_whole else preset.kernel
            for kind, amount in ((SourceKind.IDEAL, preset.ideal), (SourceKind.DITG, preset.ditg))
        }
        self.sizes = _ALL if is_whole else preset.kernel.over
        self.experiments = arms.behind(RANDOM, self.sizes, options.seed)
        if is_whole:
            self.experiments |= arms.behind((SourceKind.DITG,), published.IN_BITS, options.seed)

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run: the kernel's runs are also compared with the simulator's."""
        return self.backend == "sim" or self.backend in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """Return every size with both sources."""
        return self.experiments.values() if self.backend == "kernel" else ()

    def run(self, runner: Runner) -> ByArm:
        """See `Part`."""
        found: dict[SourceBehindQueue, DelaysOfRuns] = {}
        for kind, amount in self.amounts.items():
            done = runner.replicate(
                {arm: each for arm, each in self.experiments.items() if arm.kind is kind},
                delays,
                amount,
                task=f"{self.name}, {arms.SOURCES[kind]}",
                backend=self.backend,
                keep=1,
            )
            found |= many(done)
        return found

    def judge(self, found: ByArm) -> Iterator[Judged]:
        """Judge the source's statements about the eight sizes, and about 2 mb."""
        if not self.is_asked:
            return
        for kind in RANDOM:
            by_limit = of_kind(found, kind)
            for limit in self.sizes:
                if limit != published.LARGE or kind is SourceKind.IDEAL:
                    yield claims.judge_peak(by_limit[limit], kind, limit, self.backend)
            if len(published.LIMITS.keys() & by_limit.keys()) > 1:
                yield claims.judge_order(by_limit, kind, self.backend)
        if self.backend == "sim":
            for limit in published.LIMITS:
                yield claims.judge_ping_law(
                    found[SourceBehindQueue(SourceKind.IDEAL, limit)], limit
                )
            for limit in published.LIMITS:
                yield claims.judge_measured(found[SourceBehindQueue(SourceKind.DITG, limit)], limit)

    def loads(self, found: ByArm) -> Iterator[LoadRow]:
        """Return the load behind 2 mb, where no packet is dropped at first."""
        for kind in RANDOM:
            for row in asked_and_measured(found[SourceBehindQueue(kind, published.LARGE)].first):
                what = f"{arms.SOURCES[kind]}: {row.what}"
                yield LoadRow(what, row.asked, row.measured, row.unit, row.note)

    def runs(self, found: ByArm) -> Mapping[str, Run]:
        """Return the runs whose digests are stored."""
        return {f"{arm.kind} {arm.limit}": each.first for arm, each in found.items()}


class Agreement(Part[None]):
    """The same replications on both backends."""

    name = "both backends"

    def __init__(self, kernel: QueueSizeRuns, sim: QueueSizeRuns) -> None:
        """Set the compared parts."""
        self.kernel, self.sim = kernel, sim

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether both were run."""
        return self.kernel.is_finished and self.sim.is_finished

    def run(self, runner: Runner) -> None:
        """Return nothing: no further runs are needed."""

    def judge(self, found: None) -> Iterator[Judged]:
        """Judge worst cases and ping peaks."""
        for kind in RANDOM:
            kernel, sim = (of_kind(part.found, kind) for part in (self.kernel, self.sim))
            yield from claims.judge_agreement(kernel, sim, kind)


class LoadSweep(Part[Mapping[float, DelaysOfRuns]]):
    """The load swept behind one size."""

    name = "loads"

    def __init__(self, seed: int, amount: Amount[float]) -> None:
        """Set the experiments."""
        self.amount = amount
        self.experiments = {
            rho: arms.experiment(
                SourceKind.IDEAL,
                SWEPT,
                seed,
                packets_per_second=packets_per_second(rho),
                warm_up_s=2,
            )
            for rho in amount.over
        }

    def run(self, runner: Runner) -> Mapping[float, DelaysOfRuns]:
        """See `Part`."""
        done = runner.replicate(self.experiments, delays, self.amount, task=self.name, keep=1)
        return many(done)

    def judge(self, found: Mapping[float, DelaysOfRuns]) -> Iterator[Judged]:
        """Judge the worst case, and the share of packets near it."""
        yield claims.judge_as_bad_as_infinity(
            found[published.RHO], found[INFINITY], INFINITY, SWEPT
        )
        for rho in LATE_AT:
            yield claims.judge_late(found[rho], rho, packets_per_second(rho), SWEPT)

    def figures(self, found: Mapping[float, DelaysOfRuns]) -> Iterator[Figure]:
        """Draw worst case and late packets against load."""
        swept = {rho: each for rho, each in found.items() if rho < INFINITY}
        yield figures.peak_against_load(swept, SWEPT)
        yield figures.late_against_load(swept, SWEPT)


class PrintedListing(Part[DelaysOfRuns]):
    """The printed first seconds behind 2 mb: at the nominal load, and at the fitted load."""

    name = "fitted load"

    def __init__(
        self, seed: int, amount: Amount[str], fit: listing.LoadFit, sizes: QueueSizeRuns
    ) -> None:
        """Set the experiments; ``sizes`` has the nominal load."""
        self.amount, self.fit, self.sizes = amount, fit, sizes
        self.experiment = arms.experiment(
            SourceKind.IDEAL, published.LARGE, seed, packets_per_second=fit.packets_per_second
        )

    def run(self, runner: Runner) -> DelaysOfRuns:
        """See `Part`."""
        one = {"fitted": self.experiment}
        done = runner.replicate(one, delays, self.amount, task=self.name, keep=1)
        return many(done)["fitted"]

    def judge(self, found: DelaysOfRuns) -> Iterator[Judged]:
        """Judge the nominal load against the listing, and report the fitted load."""
        yield claims.judge_load_as_asked(self.fit)
        for kind, where in (
            (SourceKind.IDEAL, "at the nominal load"),
            (SourceKind.DITG, "with what ITGSend sends when asked for that load"),
        ):
            yield claims.judge_growth(
                self.sizes.found[SourceBehindQueue(kind, published.LARGE)], kind, where
            )
        yield claims.judge_fit(self.fit)

    def figures(self, found: DelaysOfRuns) -> Iterator[Figure]:
        """Draw the listing over the bands of runs."""
        nominal = {
            f"nominal, {arms.SOURCES[kind]}": self.sizes.found[
                SourceBehindQueue(kind, published.LARGE)
            ]
            for kind in RANDOM
        }
        shown = {**nominal, f"fitted: rho = {self.fit.rho:.2f}": found}
        yield figures.transient(shown, (published.RHO, self.fit.rho))


class OneSender(Part[Mapping[str, DelaysOfRuns]]):
    """All printed pings behind 2 mb together, compared with senders that send less."""

    name = "senders for the listing"

    def __init__(self, seed: int, amount: Amount[str]) -> None:
        """Set the experiments."""
        self.amount = amount
        asked = 8 * published.MEAN_PAYLOAD_BYTES / published.RATE_BPS
        self.experiments = {
            f"load {rho:g}": arms.experiment(
                SourceKind.IDEAL, published.LARGE, seed, packets_per_second=rho / asked
            )
            for rho in LISTING_LOADS
        } | {
            f"oversleep {oversleep_us:g} \u00b5s": arms.experiment(
                SourceKind.DITG, published.LARGE, seed, oversleep_us=oversleep_us
            )
            for oversleep_us in LISTING_OVERSLEEPS_US
        }

    def run(self, runner: Runner) -> Mapping[str, DelaysOfRuns]:
        """See `Part`."""
        return many(runner.replicate(self.experiments, delays, self.amount, task=self.name, keep=1))

    def judge(self, found: Mapping[str, DelaysOfRuns]) -> Iterator[Judged]:
        """Report the choice of the base RTT, and judge whether one sender explains all pings."""
        yield claims.judge_base_rtt()
        yield claims.judge_listing(found)


class MeasuredLarge(Part[Mapping[int, DelaysOfRuns]]):
    """Three runs behind 2 mb on a real kernel, each at the rate in its sender's log.

    Behind the small sizes the peak hardly depends on the rate; behind 2 mb it does.
    """

    name = "as a real kernel sent"

    def __init__(self, seed: int, amount: Amount[str]) -> None:
        """Set the experiments."""
        self.amount = amount
        asked_us = 1e6 / published.PACKETS_PER_SECOND
        self.experiments = {
            number: arms.experiment(
                SourceKind.DITG, published.LARGE, seed, oversleep_us=1e6 / pps - asked_us
            )
            for number, pps in enumerate(measured.LARGE_SENT_PPS)
        }

    def run(self, runner: Runner) -> Mapping[int, DelaysOfRuns]:
        """See `Part`."""
        return many(runner.replicate(self.experiments, delays, self.amount, task=self.name, keep=1))

    def judge(self, found: Mapping[int, DelaysOfRuns]) -> Iterator[Judged]:
        """Compare each run with ours."""
        for number, each in found.items():
            yield claims.judge_measured_large(each, number)


class ConstantSource(Part[Mapping[str, DelaysOfRuns]]):
    """Constant gaps and sizes: exact results of the source's model, D/D/1."""

    name = "constant gaps and sizes"

    def __init__(self, seed: int) -> None:
        """Set the experiments: nothing is random, so each runs once."""
        self.experiments = {
            limit: arms.experiment(SourceKind.CONSTANT, limit, seed, pings=False)
            for limit in (SWEPT, SHOWN)
        }
        self.recorded = {
            kind: arms.experiment(kind, SHOWN, seed, pings=False, record_packets=True)
            for kind in (SourceKind.CONSTANT, SourceKind.IDEAL)
        }
        self.shown: dict[SourceKind, Run] = {}

    def run(self, runner: Runner) -> Mapping[str, DelaysOfRuns]:
        """See `Part`."""
        done = runner.replicate(self.experiments, delays, _ONCE, task=self.name, fixed=True, keep=1)
        recorded = runner.replicate(
            self.recorded, nothing_of, _ONCE, task="packet by packet", fixed=True, keep=1
        )
        self.shown = {kind: recorded.run(kind) for kind in recorded.arms}
        return many(done)

    def judge(self, found: Mapping[str, DelaysOfRuns]) -> Iterator[Judged]:
        """Judge exact numbers."""
        for limit, each in found.items():
            yield from claims.judge_constant(each, limit)

    def figures(self, found: Mapping[str, DelaysOfRuns]) -> Iterator[Figure]:
        """Draw the first seconds, beside random gaps and sizes."""
        yield figures.first_seconds(
            self.shown[SourceKind.CONSTANT], self.shown[SourceKind.IDEAL], SHOWN
        )


class QueueSizeDelay(Reproduction):
    """The study; see the module."""

    id = "queue-size-delay"
    title = "How long does a full buffer make you wait?"
    summary = "Peak delay behind an overloaded token bucket against queue size: m/µ, pings, theory"
    printed = PRINTED

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        seed, preset = options.seed, PRESETS.of(options)
        self.fit = listing.fit_load()
        self.sim, self.kernel = (
            QueueSizeRuns(options, preset, backend) for backend in ("sim", "kernel")
        )
        self.own = QueueSizePrograms(preset.own_programs, seed, self.beside_own_programs)
        self.parts = [
            self.sim,
            LoadSweep(seed, preset.loads),
            PrintedListing(seed, preset.ideal, self.fit, self.sim),
            OneSender(seed, preset.listing),
            MeasuredLarge(seed, preset.ditg),
            ConstantSource(seed),
            self.kernel,
            Agreement(self.kernel, self.sim),
            self.own,
        ]

    def beside_own_programs(self) -> dict[str, Mapping[str, DelaysOfRuns]]:
        """Return our senders with the same commands, by column heading."""
        sides = {"simulator": self.sim, "our senders on the kernel": self.kernel}
        return {
            head: of_kind(each.found, SourceKind.DITG)
            for head, each in sides.items()
            if each.is_finished
        }

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        sizes = self.sim if self.sim.is_asked else self.kernel
        nominal = {
            kind: sizes.found[SourceBehindQueue(kind, published.LARGE)].first for kind in RANDOM
        }
        kernel_runs = next(iter(self.kernel.found.values())).n if self.kernel.is_finished else 0
        by_limit = of_kind(sizes.found, SourceKind.DITG)
        said = text.answer(self.judged, by_limit)
        report = self.collected(
            summary=text.summary(self.judged, self.fit),
            answer=said.sentence,
            measured=said.measured,
            so=said.so,
            done=text.DONE,
            live=live.hero(self.options.seed),
            advice=text.advice(by_limit),
            source=published.SOURCE,
            source_url=published.SOURCE_URL,
            topologies=[
                Topology.of(
                    "Client, router, server", arms.experiment(SourceKind.DITG, published.LARGE, 1)
                )
            ],
            commands=text.commands(self.options.seed),
            notes=[
                *text.notes(
                    self.sim.found if self.sim.is_finished else {}, kernel_runs, self.interrupted
                ),
                *self.own.why_absent(self.options),
            ],
            meta={
                "experiment": arms.experiment(
                    SourceKind.DITG, published.LARGE, self.options.seed
                ).resolved(),
                "fitted_rho": self.fit.rho,
            },
            tables={
                f"{kind}-{published.LARGE}-{name}": run.named_columns(name)
                for kind, run in nominal.items()
                for name in ("flows", "queues", "probes")
            },
        )
        return replace(report, figures=[*self.by_size(), *report.figures, *self.in_bits()])

    def by_size(self) -> Iterator[Figure]:
        """Draw the source's figure, and the figures that explain it; of both backends."""
        if self.sim.is_asked and self.sim.is_finished:
            found = self.sim.found
            kernel = (
                of_kind(self.kernel.found, SourceKind.DITG) if self.kernel.is_finished else None
            )
            yield figures.peak_against_size(of_kind(found, SourceKind.DITG), kernel)
            yield figures.peak_over_largest({kind: of_kind(found, kind) for kind in RANDOM})

    def in_bits(self) -> Iterator[Figure]:
        """Draw the sizes read as kbit."""
        if self.sim.is_asked and self.sim.is_finished:
            yield figures.other_reading(of_kind(self.sim.found, SourceKind.DITG))


def of_kind(found: ByArm, kind: SourceKind) -> dict[str, DelaysOfRuns]:
    """Return the runs of one source by limit."""
    return {arm.limit: each for arm, each in found.items() if arm.kind is kind}


def packets_per_second(rho: float) -> float:
    """Return the ideal source's rate; 1.25 as printed means the nominal 2000 packets/s."""
    if rho == published.RHO:
        return published.PACKETS_PER_SECOND
    return rho * published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)


STUDY: Study = QueueSizeDelay
