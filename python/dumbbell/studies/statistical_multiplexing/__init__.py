"""One fast queue or many slow ones: the statistical multiplexing gain.

The ideal source first, held against theory. Then the testbed's run with the published
parameters, held against what was printed. It does not fit, so load and base RTT are fitted, and
the run is done again as the fit says. Last, the same traffic for as long as a real kernel was
measured with it. With the backend ``kernel`` the first two parts, and the run at the fitted load,
are run on the Linux kernel in virtual time too, each replication beside the simulator's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dumbbell import theory
from dumbbell.claims.legacy import Judged
from dumbbell.metrics import asked_and_measured
from dumbbell.report import Figure, LoadRow, Report, Topology
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.statistical_multiplexing import (
    figures,
    judging,
    kernel,
    paired,
    published,
    text,
)
from dumbbell.studies.statistical_multiplexing.campaigns import (
    Campaign,
    IdealSize,
    published_experiments,
)
from dumbbell.studies.statistical_multiplexing.ensembles import PingEnsemble
from dumbbell.studies.statistical_multiplexing.fit import (
    Fit,
    fewest_runs,
    fit_load_and_base_rtt,
)
from dumbbell.sweep import Interrupted
from dumbbell.tables import Array, Run

STREAMS = (2, 4, 8, 16)
QUARTILES = 3 * len(published.ARMS)
PRECISION = 0.01
"""Relative half-width of the ideal means' intervals: half of the claims' margin."""


@dataclass(frozen=True, slots=True)
class Preset:
    """How much is run in the simulator; for the kernel see `paired.KernelPreset`.

    Attributes:
        ideal: Runs with the ideal source.
        runs: Replications of each run as published.
        fit_loads: Packets/s of each sender at which ensembles for the fit are simulated.
        fit_runs: Replications at each of them.
    """

    ideal: IdealSize
    runs: int
    fit_loads: tuple[float, ...]
    fit_runs: int


QUICK = Preset(IdealSize(1.2e6, 16, 48, PRECISION), 100, (66.0, 72.0, 78.0, 84.0, 90.0, 96.0), 100)
FULL = Preset(
    IdealSize(4e6, 24, 200, PRECISION), 1000, tuple(np.arange(60.0, 112.0, 4.0).tolist()), 400
)


class _Simulated:
    """The simulator's part. Stopped early, it keeps the parts that were finished."""

    backend = "sim"

    def __init__(self, options: StudyOptions) -> None:
        self.options = options
        self.preset = QUICK if options.quick else FULL
        self.campaign = Campaign(options, self.backend)
        self.judged: list[Judged] = []
        self.gains: dict[int, Estimate] = {}
        self.nominal: PingEnsemble | None = None
        self.fitted: PingEnsemble | None = None
        self.fit: Fit | None = None
        self.interrupted = False

    def run_all(self) -> None:
        try:
            for streams in STREAMS:
                self.run_ideal(streams)
            self.run_nominal()
            self.run_fitted()
            self.run_beside_measured()
        except Interrupted:
            self.interrupted = True

    def run_ideal(self, streams: int) -> None:
        """Theory's system, against theory."""
        size, options = self.preset.ideal, self.options
        if options.precision:
            size = replace(size, precision=options.precision)
        done = self.campaign.ideal(streams, size)
        means = judging.IdealMeans.of(done.values)
        self.judged += judging.judge_ideal(streams, means, self.backend)
        self.gains[streams] = means.factor
        if done.interrupted:
            raise Interrupted(done.stopped_because)

    def run_nominal(self) -> None:
        """The testbed's run with the published parameters, against what was printed."""
        self.nominal = self.campaign.pings("nominal load", {}, self.preset.runs)
        self.judged += judging.judge_as_published(
            self.nominal, "nominal", "at the nominal load", self.backend
        )

    def run_fitted(self) -> None:
        """The load and base RTT that explain what was printed, and the run again with them."""
        runs = self.options.replications or self.preset.fit_runs
        if runs < fewest_runs(QUARTILES):
            return
        fit = self.find_fit()
        if self.campaign.interrupted:
            raise Interrupted("the fit's ensembles are not complete")
        self.judged.append(judging.judge_fit(fit, runs, self.backend))
        fitted = self.campaign.pings("fitted load", fit.settings, self.preset.runs)
        self.fit, self.fitted = fit, fitted
        self.judged += judging.judge_as_published(
            fitted,
            "fitted",
            "at the fitted load",
            self.backend,
            note="load and base RTT were fitted to the six quartiles",
        )

    def run_beside_measured(self) -> None:
        """The same traffic for as long as a real kernel was measured with it."""
        settings = {
            "duration_s": kernel.DURATION_S,
            "ping_count": kernel.PING_COUNT,
            "oversleep_us": kernel.OVERSLEEP_US,
        }
        ensemble = self.campaign.pings("as long as was measured", settings, self.preset.runs)
        for shaper in kernel.SHAPERS:
            self.judged += judging.judge_kernel(ensemble, shaper, self.backend)
        self.interrupted = self.campaign.interrupted

    def find_fit(self) -> Fit:
        """Fit load and base RTT to the published quartiles."""
        ensembles = {}
        for load in self.preset.fit_loads:
            settings = {
                "packets_per_second": load,
                # Only the pings' 200 s matter, and a little more so that the last are answered.
                "duration_s": published.PING_COUNT * published.PING_INTERVAL_S,
            }
            task = f"fit: {load:g} packets/s"
            ensemble = self.campaign.pings(task, settings, self.preset.fit_runs)
            ensembles[load] = {
                f"{arm} {name}": values
                for arm in published.ARMS
                for name, values in ensemble.quantiles(arm).items()
                if name != "max"
            }
        quartiles = {
            f"{arm} {name}": value
            for arm in published.ARMS
            for name, value in published.RTT_MS[arm].items()
            if name != "max"
        }
        return fit_load_and_base_rtt(quartiles, ensembles)


class StatisticalMultiplexing(Reproduction):
    """The study; see the module."""

    id = "statistical-multiplexing"
    title = "One fast queue or many slow ones?"
    summary = "Statistical multiplexing gain: percentiles, delay and queue-length CDFs, theory"

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.sim = _Simulated(options)
        self.kernel = paired.OnKernel()

    def on_kernel(self) -> Iterable[Experiment]:
        """All that will be run there."""
        return paired.experiments(self.options)

    def run_all(self) -> None:
        """Both backends' parts, those that were asked for; each keeps what it finished."""
        if "sim" in self.options.backends:
            self.sim.run_all()
        if "kernel" in self.options.backends and not self.sim.interrupted:
            self.kernel = paired.run_on_kernel(self.options, self.sim.fit)
        self.judged = text.side_by_side([*self.sim.judged, *self.kernel.judged])
        if not self.judged:
            raise Interrupted("interrupted before any part had finished")
        self.interrupted = self.sim.interrupted or self.kernel.interrupted

    @property
    def nominal(self) -> PingEnsemble | None:
        """The runs as published that the page's tables and files are of."""
        return self.sim.nominal or self.kernel.nominal

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        experiments = published_experiments(self.options.seed, {})
        nominal = self.nominal
        return Report(
            study=self.id,
            title=self.title,
            summary=text.summary(
                self.judged,
                self.sim.gains or self.kernel.gains,
                self.sim.fit,
                self.kernel.differences,
            ),
            source=published.SOURCE,
            topologies=[
                Topology.of(text.ARM_LABELS[arm], experiment)
                for arm, experiment in experiments.items()
            ],
            judged=self.judged,
            figures=self.drawn(),
            loads=_loads(nominal.first) if nominal else (),
            commands=text.commands(experiments),
            notes=text.notes(self.sim.fit, self.kernel, self.options, self.interrupted),
            meta=self.meta(experiments),
            provenance=nominal.first["SM"].provenance if nominal else {},
            tables=_tables(nominal.first) if nominal else {},
            files=text.ping_files(nominal.first) if nominal else {},
        )

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        sim, kernel, drawn = self.sim, self.kernel, []
        if sim.fit and sim.fitted:
            load = sim.fit.load_pps.value
            drawn.append(
                figures.rtt_cdf(
                    sim.fitted,
                    "rtt-cdf-fitted",
                    f"at the fitted load ({load:.1f} packets/s)",
                    _laws(load),
                    sim.fit.base_rtt_ms.value,
                )
            )
        if self.nominal:
            laws = _laws(published.PACKETS_PER_SECOND)
            where = "at the nominal load"
            drawn.append(figures.rtt_cdf(self.nominal, "rtt-cdf-nominal", where, laws, 0.0))
            drawn.append(figures.queue_length_cdf(self.nominal.first, where))
        if kernel.nominal and kernel.beside:
            laws = _laws(published.PACKETS_PER_SECOND)
            drawn.append(figures.rtt_cdf_on_both(kernel.beside, kernel.nominal, laws))
        if kernel.differences:
            drawn.append(figures.kernel_less_simulator(kernel.differences))
        gains = {"sim": sim.gains, "kernel": kernel.gains}
        if any(gains.values()):
            drawn.append(figures.gain({name: each for name, each in gains.items() if each}))
        ensembles = self.ensembles()
        if (sim.nominal and sim.fitted) or kernel.nominal:
            drawn.append(figures.published_against_predicted(ensembles))
        return drawn

    def ensembles(self) -> dict[str, dict[str, PingEnsemble]]:
        """Label to backend to the runs that were made."""
        found = {
            "nominal": {"sim": self.sim.nominal, "kernel": self.kernel.nominal},
            "fitted": {"sim": self.sim.fitted, "kernel": self.kernel.fitted},
        }
        present = {
            label: {name: each for name, each in both.items() if each}
            for label, both in found.items()
        }
        return {label: both for label, both in present.items() if both}

    def meta(self, experiments: Mapping[str, Experiment]) -> dict[str, object]:
        """What is the same whenever the study is repeated with these options."""
        ensembles = self.ensembles()
        first = [
            (backend, each.first) for both in ensembles.values() for backend, each in both.items()
        ]
        versions = {backend: runs["SM"].meta["versions"] for backend, runs in first}
        lateness = [
            run.meta["longest_lateness_ns"]
            for backend, runs in first
            if backend == "kernel"
            for run in runs.values()
        ]
        fit = self.sim.fit
        return {
            **self.asked(),
            "versions": next(iter(versions.values())) if len(versions) == 1 else versions,
            **({"longest_lateness_ns": max(lateness)} if lateness else {}),
            "experiments": {arm: each.resolved() for arm, each in experiments.items()},
            "digests_of_replication_0": {
                label if backend == "sim" else f"{label} on the kernel": {
                    arm: run.meta["digest"] for arm, run in each.first.items()
                }
                for label, both in ensembles.items()
                for backend, each in both.items()
            },
            "fit": {
                "load_pps": fit.load_pps.value,
                "base_rtt_ms": fit.base_rtt_ms.value,
                "p_value": fit.p_value,
            }
            if fit
            else None,
        }


def _laws(packets_per_second: float) -> dict[str, theory.MXG1]:
    """Arm to the stationary law of the packets' stay: M^X/G/1 with pings as single packets.

    Pings come at constant intervals, not as a Poisson process; they are 2 % of the packets.
    """
    laws = {}
    for arm in published.ARMS:
        senders = 2 if arm == "SM" else 1
        rate = published.STREAM_RATE_BPS * senders
        datagrams = theory.itgsend_service(rate, published.MEAN_PAYLOAD_BYTES)
        echo = theory.constant_service(8 * published.ECHO_FRAME_BYTES / rate)
        arrivals, batch = theory.superpose(
            [
                (senders * packets_per_second, datagrams.batch),
                (senders / published.PING_INTERVAL_S, theory.single_packets(echo)),
            ]
        )
        laws[arm] = theory.MXG1(arrivals, batch)
    return laws


def _tables(runs: Mapping[str, Run]) -> dict[str, Mapping[str, Array]]:
    """The first run's tables, without those that nobody asked to be filled."""
    return {
        f"nominal-{arm}-{name}": run.named_columns(name)
        for arm, run in runs.items()
        for name, columns in run.tables.items()
        if len(next(iter(columns.values())))
    }


def _loads(runs: Mapping[str, Run]) -> list[LoadRow]:
    return [
        LoadRow(f"{arm}: {row.what}", row.asked, row.measured, row.unit, row.note)
        for arm, run in runs.items()
        for row in asked_and_measured(run)
    ]


STUDY: Study = StatisticalMultiplexing
