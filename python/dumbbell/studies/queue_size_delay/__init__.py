"""How buffer size sets delay: an overloaded token bucket and pings.

Ten seconds of overload behind eight queue sizes, with queueing theory's source and with what
ITGSend really sends; the source's sentences about the worst case, judged packet by packet; a sweep
over the load; then the printed first seconds of a queue of 2 mb, which ten seconds at the printed
load cannot give, and the load that would. With the backend ``kernel`` the same on the Linux kernel
in virtual time, with its own ``tbf``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dumbbell.backends import simulate
from dumbbell.metrics import asked_and_measured
from dumbbell.report import Figure, LoadRow, Report, Topology
from dumbbell.spec import Experiment
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.queue_size_delay import (
    arms,
    figures,
    judging,
    listing,
    measured,
    published,
    text,
)
from dumbbell.studies.queue_size_delay.campaigns import Arm, collect
from dumbbell.studies.reproduction import Reproduction
from dumbbell.tables import Run

KINDS = ("ideal", "ditg")
SWEPT = "40kb"
"""The size behind which the load is swept."""
SHOWN = "200kb"
"""The size whose first seconds are drawn packet by packet."""
INFINITY = 8.0
"""Load that stands for an infinite one."""
LATE_AT = (1.25, 2.0, 4.0)
"""Loads at which the share of late packets is claimed; near one ten seconds are too few."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How much is run.

    Attributes:
        runs: Replications of each size with the ideal source in the simulator.
        ditg_runs: With the D-ITG source: at least the 119 that intervals of 98.3 % take.
        sweep_runs: Replications at each load.
        rhos: Loads of the sweep; `INFINITY` is added.
        kernel_runs: Replications of each size and source on the kernel.
    """

    runs: int
    ditg_runs: int
    sweep_runs: int
    rhos: tuple[float, ...]
    kernel_runs: int


QUICK = Preset(60, 240, 40, (0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0), published.RUNS)
FULL = Preset(
    400, 1200, 400, (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0), 20
)


class QueueSizeDelay(Reproduction):
    """The study; see the module."""

    id = "queue-size-delay"
    title = "How long does a full buffer make you wait?"
    summary = "Peak delay behind an overloaded token bucket against queue size: m/µ, pings, theory"

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.preset = QUICK if options.quick else FULL
        self.fit = listing.fit_load()
        self.sim: dict[str, Arm] = {}
        self.kernel: dict[str, Arm] = {}
        self.by_rho: dict[float, Arm] = {}
        self.fitted: Arm | None = None
        self.constant: Run | None = None
        self.random: Run | None = None

    def on_kernel(self) -> Iterable[Experiment]:
        """Every size with both sources."""
        return _by_size(self.options.seed, KINDS).values()

    def run_all(self) -> None:
        """In the simulator, then on the kernel."""
        if "sim" in self.options.backends:
            self.run_sizes()
            self.run_loads()
            self.run_listing()
            self.run_measured_large()
            self.run_constant()
        if "kernel" in self.options.backends:
            self.run_kernel()

    def run_sizes(self) -> None:
        """Every size with both sources, against m/mu, theory and a real kernel."""
        seed = self.options.seed
        ideal, ditg = _by_size(seed, ("ideal",)), _by_size(seed, ("ditg",))
        for limit in published.IN_BITS:
            ditg[f"ditg {limit}"] = arms.experiment("ditg", limit, seed)
        options, preset = self.options, self.preset
        self.sim = collect(options, ideal, preset.runs, "queue sizes, ideal source")
        self.sim |= collect(options, ditg, preset.ditg_runs, "queue sizes, D-ITG source")
        self.judge_sizes(self.sim, "sim")
        for limit in published.LIMITS:
            self.judged.append(judging.judge_ping_law(self.sim[f"ideal {limit}"], limit))
        for limit in published.LIMITS:
            self.judged.append(judging.judge_measured(self.sim[f"ditg {limit}"], limit))

    def judge_sizes(self, found: Mapping[str, Arm], backend: str) -> None:
        """What the source says of the eight sizes, and of 2 mb."""
        for kind in KINDS:
            by_limit = _of(found, kind)
            for limit in published.LIMITS:
                self.judged.append(judging.judge_peak(by_limit[limit], kind, limit, backend))
            self.judged.append(judging.judge_order(by_limit, kind, backend))
        large = found[f"ideal {published.LARGE}"]
        self.judged.append(judging.judge_peak(large, "ideal", published.LARGE, backend))

    def run_loads(self) -> None:
        """The load swept behind one size."""
        rhos = {rho: _packets_per_second(rho) for rho in (*self.preset.rhos, INFINITY)}
        experiments = {
            f"{rho:g}": arms.experiment(
                "ideal", SWEPT, self.options.seed, packets_per_second=pps, warm_up_s=2
            )
            for rho, pps in rhos.items()
        }
        found = collect(self.options, experiments, self.preset.sweep_runs, "loads")
        self.by_rho = {rho: found[f"{rho:g}"] for rho in rhos}
        self.judged.append(
            judging.judge_as_bad_as_infinity(
                self.by_rho[published.RHO], self.by_rho[INFINITY], INFINITY, SWEPT
            )
        )
        for rho in LATE_AT:
            self.judged.append(judging.judge_late(self.by_rho[rho], rho, rhos[rho], SWEPT))

    def run_listing(self) -> None:
        """The printed first seconds behind 2 mb: at the nominal load, and as fitted."""
        experiment = arms.experiment(
            "ideal",
            published.LARGE,
            self.options.seed,
            packets_per_second=self.fit.packets_per_second,
        )
        found = collect(self.options, {"fitted": experiment}, self.preset.runs, "fitted load")
        self.fitted = found["fitted"]
        self.judged.append(judging.judge_fit(self.fit))
        for kind, where in (
            ("ideal", "at the nominal load"),
            ("ditg", "with what ITGSend sends when asked for that load"),
        ):
            arm = self.sim[f"{kind} {published.LARGE}"]
            self.judged.append(judging.judge_growth(arm, f"growth-{kind}", where))
        note = "the load was fitted to the listing"
        self.judged.append(
            judging.judge_growth(self.fitted, "growth-fitted", "at the fitted load", note)
        )

    def run_measured_large(self) -> None:
        """A real kernel's three runs behind 2 mb, each at the rate that its sender logged.

        Behind the small sizes the rate hardly moves the peak; behind 2 mb it decides it.
        """
        experiments = {
            f"run {number}": arms.experiment(
                "ditg", published.LARGE, self.options.seed, oversleep_us=1e6 / pps - 1e6 / asked
            )
            for number, pps in enumerate(measured.LARGE_SENT_PPS, start=1)
            for asked in (published.PACKETS_PER_SECOND,)
        }
        found = collect(self.options, experiments, self.preset.ditg_runs, "as a real kernel sent")
        for number, arm in enumerate(found.values()):
            self.judged.append(judging.judge_measured_large(arm, number))

    def run_constant(self) -> None:
        """Constant gaps and sizes: what the source's own model, D/D/1, says exactly."""
        seed = self.options.seed
        experiments = {
            limit: arms.experiment("constant", limit, seed, pings=False) for limit in (SWEPT, SHOWN)
        }
        found = collect(self.options, experiments, 2, "constant gaps and sizes")
        for limit, arm in found.items():
            self.judged.append(judging.judge_peak(arm, "constant", limit, "sim"))
            self.judged.append(judging.judge_constant_loss(arm, limit))
        self.constant, self.random = (
            simulate(arms.experiment(kind, SHOWN, seed, pings=False, record_packets=True))
            for kind in ("constant", "ideal")
        )

    def run_kernel(self) -> None:
        """Every size with both sources on the kernel, beside the same replications here."""
        runs = self.preset.kernel_runs
        experiments = _by_size(self.options.seed, KINDS)
        beside = self.sim or collect(self.options, experiments, runs, "queue sizes")
        self.kernel = collect(self.options, experiments, runs, "queue sizes", "kernel")
        self.judge_sizes(self.kernel, "kernel")
        for kind in KINDS:
            for quantity in ("peak_ms", "ping_peak_ms"):
                self.judged.append(
                    judging.judge_agreement(
                        _of(self.kernel, kind), _of(beside, kind), kind, quantity
                    )
                )
        self.sim = beside

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        ids = list(dict.fromkeys(one.claim.id for one in self.judged))
        judged = sorted(self.judged, key=lambda one: ids.index(one.claim.id))
        nominal = {
            kind: found[f"{kind} {published.LARGE}"].first
            for kind in KINDS
            for found in (self.sim or self.kernel,)
        }
        return Report(
            study=self.id,
            title=self.title,
            summary=text.summary(judged, self.fit),
            source=published.SOURCE,
            topologies=[Topology.of("Client, router, server", arms.experiment("ditg", "2mb", 1))],
            judged=judged,
            figures=self.drawn(),
            loads=[
                LoadRow(
                    f"{arms.SOURCES[kind]}: {row.what}", row.asked, row.measured, row.unit, row.note
                )
                for kind, run in nominal.items()
                for row in asked_and_measured(run)
            ],
            commands=text.commands(self.options.seed),
            notes=text.notes(
                self.sim,
                next(iter(self.kernel.values())).n if self.kernel else 0,
                self.interrupted,
            ),
            meta=self.meta(),
            provenance=nominal["ideal"].provenance,
            tables={
                f"{kind}-{published.LARGE}-{name}": run.named_columns(name)
                for kind, run in nominal.items()
                for name in ("flows", "queues", "probes")
            },
        )

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        drawn = []
        ditg, ideal = _of(self.sim, "ditg"), _of(self.sim, "ideal")
        kernel = _of(self.kernel, "ditg") if self.kernel else None
        if ditg:
            drawn.append(figures.peak_against_size(ditg, kernel))
            drawn.append(figures.peak_over_largest({"ideal": ideal, "ditg": ditg}))
        if self.by_rho:
            swept = {rho: arm for rho, arm in self.by_rho.items() if rho < INFINITY}
            drawn.append(figures.peak_against_load(swept, SWEPT))
            drawn.append(figures.late_against_load(swept, SWEPT))
        if self.fitted:
            shown = {
                "nominal, ideal source": ideal[published.LARGE],
                "nominal, D-ITG source": ditg[published.LARGE],
                f"fitted: rho = {self.fit.rho:.2f}": self.fitted,
            }
            drawn.append(figures.transient(shown, (published.RHO, self.fit.rho)))
        if self.constant and self.random:
            drawn.append(figures.first_seconds(self.constant, self.random, SHOWN))
        if f"ditg {next(iter(published.IN_BITS))}" in self.sim:
            drawn.append(figures.other_reading(ditg))
        return drawn

    def meta(self) -> dict[str, object]:
        """What is the same whenever the study is repeated with these options."""
        found = {"sim": self.sim, "kernel": self.kernel}
        first = {
            backend: {name: arm.first for name, arm in by_name.items()}
            for backend, by_name in found.items()
            if by_name
        }
        versions = {
            backend: next(iter(runs.values())).meta["versions"] for backend, runs in first.items()
        }
        lateness = [run.meta["longest_lateness_ns"] for run in first.get("kernel", {}).values()]
        return {
            **self.asked(),
            "versions": next(iter(versions.values())) if len(versions) == 1 else versions,
            **({"longest_lateness_ns": max(lateness)} if lateness else {}),
            "experiment": arms.experiment("ditg", "2mb", self.options.seed).resolved(),
            "digests_of_replication_0": {
                backend: {name: run.meta["digest"] for name, run in runs.items()}
                for backend, runs in first.items()
            },
            "fitted_rho": self.fit.rho,
        }


def _by_size(seed: int, kinds: tuple[str, ...]) -> dict[str, Experiment]:
    """``KIND LIMIT`` to its experiment."""
    return {
        f"{kind} {limit}": arms.experiment(kind, limit, seed)
        for kind in kinds
        for limit in (*published.LIMITS, published.LARGE)
    }


def _of(found: Mapping[str, Arm], kind: str) -> dict[str, Arm]:
    """Limit to the runs of one source."""
    return {
        name.removeprefix(f"{kind} "): arm
        for name, arm in found.items()
        if name.startswith(f"{kind} ")
    }


def _packets_per_second(rho: float) -> float:
    """Of the ideal source; 1.25 as printed means the 2000 packets/s asked."""
    if rho == published.RHO:
        return published.PACKETS_PER_SECOND
    return rho * published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)


STUDY: Study = QueueSizeDelay
