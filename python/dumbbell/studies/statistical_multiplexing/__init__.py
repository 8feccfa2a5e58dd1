"""One fast queue or many slow ones: the statistical multiplexing gain.

The ideal source first, held against theory. Then the testbed's run with the published
parameters, held against what was printed. It does not fit, so load and base RTT are fitted, and
the run is done again as the fit says. Last, the same traffic for as long as a real kernel was
measured with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell import theory
from dumbbell.claims import Judged
from dumbbell.errors import RunError, SpecError
from dumbbell.metrics import asked_and_measured, mean_sojourn_s, mean_system_pkts
from dumbbell.report import Figure, LoadRow, Report, Topology
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate, ratio_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.statistical_multiplexing import (
    arms,
    figures,
    judging,
    kernel,
    published,
    text,
)
from dumbbell.studies.statistical_multiplexing.ensembles import (
    PingCollector,
    PingEnsemble,
)
from dumbbell.studies.statistical_multiplexing.fit import Fit, fit_load_and_base_rtt
from dumbbell.sweep import Interrupted, Replications, replicate
from dumbbell.tables import Array, Run

STREAMS = (2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Preset:
    """How much is run.

    Attributes:
        packets: Packets of an ideal replication, all streams together; the same for any number
            of streams, since the precision of a mean delay depends on packets.
        ideal_at_least: Ideal replications before the precision is looked at.
        ideal_at_most: Ideal replications after which to stop anyhow.
        runs: Replications of each run as published.
        fit_loads: Packets/s of each sender at which ensembles for the fit are simulated.
        fit_runs: Replications at each of them.
    """

    packets: float
    ideal_at_least: int
    ideal_at_most: int
    runs: int
    fit_loads: tuple[float, ...]
    fit_runs: int


QUICK = Preset(1.2e6, 16, 48, 100, (66.0, 72.0, 78.0, 84.0, 90.0, 96.0), 100)
FULL = Preset(4e6, 24, 200, 1000, tuple(np.arange(60.0, 112.0, 4.0).tolist()), 400)
LEAST_REPLICATIONS = 2
"""Of which an interval can be made."""
PRECISION = 0.01
"""Relative half-width of the ideal means' intervals: half of the claims' margin."""


class StatisticalMultiplexing:
    """The study; see the module."""

    id = "statistical-multiplexing"
    title = "One fast queue or many slow ones?"
    summary = "Statistical multiplexing gain: percentiles, delay and queue-length CDFs, theory"

    def reproduce(self, options: StudyOptions) -> Report:
        """Run everything and judge it.

        Raises:
            SpecError: A backend on which its thousands of replications would take days.
        """
        if options.backends != ("sim",):
            raise SpecError("backend", ",".join(options.backends), "sim: this study runs there")
        return _Reproduction(options).report()


class _Reproduction:
    """The study under way. Stopped early, it reports on the parts that were finished."""

    def __init__(self, options: StudyOptions) -> None:
        self.options = options
        self.preset = QUICK if options.quick else FULL
        self.backend = options.backends[0]
        self.judged: list[Judged] = []
        self.gains: dict[int, Estimate] = {}
        self.nominal: PingEnsemble | None = None
        self.fitted: PingEnsemble | None = None
        self.fit: Fit | None = None
        self.interrupted = False

    def report(self) -> Report:
        try:
            self.run_all()
        except Interrupted:
            if not self.judged:
                raise
            self.interrupted = True
        return self.written()

    def run_all(self) -> None:
        for streams in STREAMS:
            self.run_ideal(streams)
        self.run_nominal()
        self.run_fitted()
        self.run_beside_kernel()

    def run_ideal(self, streams: int) -> None:
        """Theory's system, against theory."""
        done = self.ideal(streams)
        values = done.values
        self.judged += judging.judge_ideal(streams, values, self.backend)
        self.gains[streams] = ratio_interval(values["T_TDM"], values["T_SM"])
        _go_on(done)

    def run_nominal(self) -> None:
        """The testbed's run with the published parameters, against what was printed."""
        self.nominal = self.pings("nominal load", {}, self.preset.runs)
        self.judged += judging.judge_as_published(
            self.nominal, "nominal", "at the nominal load", self.backend
        )

    def run_fitted(self) -> None:
        """The load and base RTT that explain what was printed, and the run again with them."""
        fit = self.find_fit()
        if self.interrupted:
            raise Interrupted("the fit's ensembles are not complete")
        self.judged.append(judging.judge_fit(fit, self.preset.fit_runs, self.backend))
        settings = {
            "packets_per_second": fit.load_pps.value,
            "base_rtt_ms": fit.base_rtt_ms.value,
        }
        fitted = self.pings("fitted load", settings, self.preset.runs)
        self.fit, self.fitted = fit, fitted
        self.judged += judging.judge_as_published(
            fitted,
            "fitted",
            "at the fitted load",
            self.backend,
            note="load and base RTT were fitted to the six quartiles",
        )

    def run_beside_kernel(self) -> None:
        """The same traffic for as long as a real kernel was measured with it."""
        settings = {
            "duration_s": kernel.DURATION_S,
            "ping_count": kernel.PING_COUNT,
            "oversleep_us": kernel.OVERSLEEP_US,
        }
        ensemble = self.pings("as long as on the kernel", settings, self.preset.runs)
        for shaper in kernel.SHAPERS:
            self.judged += judging.judge_kernel(ensemble, shaper, self.backend)

    def ideal(self, streams: int) -> Replications:
        """Mean time in the system and mean number per queue, one value a replication."""
        seconds = self.preset.packets / (published.PACKETS_PER_SECOND * streams)
        experiments = {
            arm: arms.ideal(arm, streams, seconds, self.options.seed) for arm in published.ARMS
        }

        def measure(runs: Mapping[str, Run]) -> dict[str, float]:
            values = {}
            for arm, run in runs.items():
                queues = arms.queues(arm, streams)
                values[f"T_{arm}"] = mean_sojourn_s(run, queues)
                lengths = [mean_system_pkts(run, queue) for queue in queues]
                values[f"N_{arm}"] = float(np.mean(lengths))
            return values

        options, preset = self.options, self.preset
        done = replicate(
            experiments,
            measure,
            at_least=options.replications or preset.ideal_at_least,
            at_most=options.replications or preset.ideal_at_most,
            batch=8,
            precision=options.precision or PRECISION,
            jobs=options.jobs,
            backend=self.backend,
            task=f"ideal source, {streams} streams",
            on_progress=options.on_progress,
            cancel=options.cancel,
        )
        return _usable(done)

    def find_fit(self) -> Fit:
        """Fit load and base RTT to the published quartiles."""
        ensembles = {}
        for load in self.preset.fit_loads:
            settings = {
                "packets_per_second": load,
                # Only the pings' 200 s matter, and a little more so that the last are answered.
                "duration_s": published.PING_COUNT * published.PING_INTERVAL_S,
            }
            ensemble = self.pings(f"fit: {load:g} packets/s", settings, self.preset.fit_runs)
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

    def pings(self, task: str, settings: Mapping[str, float], runs: int) -> PingEnsemble:
        """Replications of the testbed's run, with some of its parameters changed.

        Stopped early, it keeps the replications that had finished, and what comes next is not
        begun.
        """
        if self.interrupted:
            raise Interrupted(f"{task}: not begun")
        seed = self.options.seed
        runs = self.options.replications or runs
        collector = PingCollector()
        done = replicate(
            {arm: _experiment(arm, seed, settings) for arm in published.ARMS},
            collector.measure,
            at_least=runs,
            jobs=self.options.jobs,
            backend=self.backend,
            keep=1,
            task=task,
            on_progress=self.options.on_progress,
            cancel=self.options.cancel,
        )
        usable = _usable(done)
        self.interrupted = done.interrupted
        return collector.ensemble(usable.n, usable.runs[0])

    def written(self) -> Report:
        seed = self.options.seed
        experiments = {arm: _experiment(arm, seed, {}) for arm in published.ARMS}
        nominal = self.nominal
        return Report(
            study=StatisticalMultiplexing.id,
            title=StatisticalMultiplexing.title,
            summary=text.summary(self.judged, self.gains, self.fit),
            source=published.SOURCE,
            topologies=[
                Topology.of(text.ARM_LABELS[arm], experiment)
                for arm, experiment in experiments.items()
            ],
            judged=self.judged,
            figures=self.drawn(),
            loads=_loads(nominal.first) if nominal else (),
            commands=text.commands(experiments),
            notes=text.notes(self.fit, self.interrupted),
            meta=self.meta(experiments),
            provenance=nominal.first["SM"].provenance if nominal else {},
            tables=_tables(nominal.first) if nominal else {},
            files=text.ping_files(nominal.first) if nominal else {},
        )

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        drawn = []
        if self.fit and self.fitted:
            load = self.fit.load_pps.value
            drawn.append(
                figures.rtt_cdf(
                    self.fitted,
                    "rtt-cdf-fitted",
                    f"at the fitted load ({load:.1f} packets/s)",
                    _laws(load),
                    self.fit.base_rtt_ms.value,
                )
            )
        if self.nominal:
            laws = _laws(published.PACKETS_PER_SECOND)
            where = "at the nominal load"
            drawn.append(figures.rtt_cdf(self.nominal, "rtt-cdf-nominal", where, laws, 0.0))
            drawn.append(figures.queue_length_cdf(self.nominal.first, where))
        if self.gains:
            drawn.append(figures.gain(self.gains))
        if self.nominal and self.fitted:
            both = [("nominal", self.nominal), ("fitted", self.fitted)]
            drawn.append(figures.published_against_predicted(both))
        return drawn

    def meta(self, experiments: Mapping[str, Experiment]) -> dict[str, object]:
        """What is the same whenever the study is repeated with these options."""
        ensembles = {"nominal": self.nominal, "fitted": self.fitted}
        present = {name: each for name, each in ensembles.items() if each}
        runs = [run for each in present.values() for run in each.first.values()]
        fit = self.fit
        return {
            "study": StatisticalMultiplexing.id,
            "preset": "quick" if self.options.quick else "full",
            "complete": not self.interrupted,
            "seed": self.options.seed,
            "backends": list(self.options.backends),
            "versions": runs[0].meta.get("versions", {}) if runs else {},
            "experiments": {arm: each.resolved() for arm, each in experiments.items()},
            "digests_of_replication_0": {
                name: {arm: run.meta["digest"] for arm, run in each.first.items()}
                for name, each in present.items()
            },
            "fit": {
                "load_pps": fit.load_pps.value,
                "base_rtt_ms": fit.base_rtt_ms.value,
                "p_value": fit.p_value,
            }
            if fit
            else None,
        }


def _experiment(arm: str, seed: int, settings: Mapping[str, float]) -> Experiment:
    return arms.as_published(arm, seed, **settings)  # type: ignore[arg-type]


def _usable(done: Replications) -> Replications:
    """Refuse to conclude anything from fewer than two replications, or past a failed one."""
    if done.failed:
        failure = done.failed[0]
        raise RunError(f"replication {failure.replication} failed: {failure.message}")
    if done.interrupted and done.n < LEAST_REPLICATIONS:
        raise Interrupted(done.stopped_because)
    return done


def _go_on(done: Replications) -> None:
    """Stop here when somebody asked to, now that what had finished has been judged."""
    if done.interrupted:
        raise Interrupted(done.stopped_because)


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


STUDY = StatisticalMultiplexing()
