"""Traffic policing: a greedy flow runs out of tokens.

A published table of 26 numbers for one NewReno flow through a token bucket, row by row over a
declared ensemble around its settings; the bucket's promise, packet by packet; the same table for
Linux's controllers, in the simulator and on the kernel; what burst, rate and round-trip time do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dumbbell.backends import simulate
from dumbbell.report import Figure, Report, Topology, ValueTable
from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import Policing
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.traffic_policing import arms, figures, judging, published, text
from dumbbell.studies.traffic_policing.campaigns import Arm, collect, measured
from dumbbell.sweep import Interrupted
from dumbbell.tables import Run

KERNEL = figures.KERNEL
_RATE_MBPS = 4.0
_INTERVALS = ("50ms", "100ms", "200ms")
_MEMBERS_QUICK, _MEMBERS_FULL = 5, 9
_LINUX_MEMBERS = 3
_KERNEL_RUNS = {True: 5, False: 27}


@dataclass(slots=True)
class _Found:
    """What was run so far."""

    source: Arm | None = None
    sim: dict[str, Arm] | None = None
    policed: dict[str, Mapping[str, float]] | None = None
    kernel: dict[str, Arm] | None = None
    by_interval: dict[str, dict[str, float]] | None = None
    sweeps: dict[str, tuple[str, list[float], dict[str, list[dict[str, float]]]]] | None = None


class TrafficPolicing(Reproduction):
    """The study; see the module."""

    id = "traffic-policing"
    title = "What happens when the tokens run out?"
    summary = "A greedy flow through a token bucket: a published table row by row, and the cliff"

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.found = _Found()

    def on_kernel(self) -> Iterable[Experiment]:
        """Linux's controllers through the bucket."""
        return [arms.linux(name).experiment() for name in arms.LINUX]

    def run_all(self) -> None:
        """In the simulator, on the kernel, then the policer on both."""
        if "sim" in self.options.backends:
            self.run_source()
            self.run_linux()
            self.run_sweeps()
        if "kernel" in self.options.backends:
            self.run_kernel()
        self.run_policer()

    def run_source(self) -> None:
        """The source's experiment over the ensemble, judged row by row."""
        per_axis = _MEMBERS_QUICK if self.options.quick else _MEMBERS_FULL
        experiments = self.members(arms.source(), per_axis)
        arm = collect(self.options, {"source": experiments}, "the source's settings")["source"]
        self.found.source = arm
        self.found.by_interval = self.sampled_otherwise()
        for name in published.VALUES:
            reason = judging.reason_of(name, self.found.by_interval)
            self.judged.append(judging.judge_row(arm, name, reason))
        self.judged += judging.judge_bucket(arm, "newreno-rfc", "sim")
        self.judged.append(judging.judge_after_cliff(arm, "newreno-rfc", _RATE_MBPS, "sim"))

    def sampled_otherwise(self) -> dict[str, dict[str, float]]:
        """The nominal run's rows by sampling interval."""
        nominal = arms.source()
        return {
            interval: measured(simulate(replace(nominal, sample_interval=interval).experiment()))
            for interval in _INTERVALS
        }

    def run_linux(self) -> None:
        """Linux's controllers through the same bottleneck."""
        experiments = {name: self.members(arms.linux(name), _LINUX_MEMBERS) for name in arms.LINUX}
        self.found.sim = collect(self.options, experiments, "controllers of Linux")
        for name, arm in self.found.sim.items():
            self.judged += judging.judge_bucket(arm, name, "sim")
            self.judged.append(judging.judge_after_cliff(arm, name, _RATE_MBPS, "sim"))

    def run_policer(self) -> None:
        """The source's flow and Linux's through a policer in place of the shaper; one run each."""
        wanted = {name: arms.linux(name) for name in arms.LINUX}
        done: dict[str, Mapping[str, float]] = {}
        if "sim" in self.options.backends:
            for name, policing in {arms.SOURCE_ARM: arms.source(), **wanted}.items():
                done[name] = measured(simulate(arms.policed(policing).experiment()))
        if "kernel" in self.options.backends:
            for name, policing in wanted.items():
                run = simulate(arms.policed(policing).experiment(), backend="kernel")
                done[f"{name}, {KERNEL}"] = measured(run)
        self.found.policed = done

    def run_sweeps(self) -> None:
        """Burst, policing rate and round-trip time, one run a point."""
        wanted = {arms.SOURCE_ARM: arms.source()}
        wanted |= {name: arms.linux(name) for name in arms.LINUX}
        done = {}
        for name, title, points in arms.sweeps():
            by_arm = {
                label: [measured(simulate(arms.swept(policing, change))) for _, change in points]
                for label, policing in wanted.items()
            }
            done[name] = (title, [x for x, _ in points], by_arm)
            if self.options.cancelled:
                raise Interrupted(f"stopped after the sweep over {name}")
        self.found.sweeps = done

    def run_kernel(self) -> None:
        """Linux's controllers on the kernel, beside the same members here."""
        runs = self.options.replications or _KERNEL_RUNS[self.options.quick]
        experiments = {
            name: self.members(arms.linux(name), _LINUX_MEMBERS)[:runs] for name in arms.LINUX
        }
        beside = self.found.sim or collect(self.options, experiments, "controllers of Linux")
        self.found.kernel = collect(self.options, experiments, "controllers", backend="kernel")
        for name, arm in self.found.kernel.items():
            self.judged += judging.judge_bucket(arm, name, "kernel")
            self.judged.append(judging.judge_after_cliff(arm, name, _RATE_MBPS, "kernel"))
            self.judged += judging.judge_agreement(arm, beside[name], name)
        self.found.sim = beside

    def members(self, policing: Policing, per_axis: int) -> list[Experiment]:
        """An experiment's ensemble, with the study's seed."""
        seeded = replace(policing, seed=self.options.seed)
        return [arms.member_of(seeded, member) for member in arms.ensemble(per_axis)]

    def shown_arms(self) -> dict[tuple[str, str], Arm]:
        """(controller, where it ran) to its runs; simulated ones only where they were asked for."""
        found, shown = self.found, {}
        if found.source:
            shown[arms.SOURCE_ARM, ""] = found.source
        if "sim" in self.options.backends:
            shown |= {(name, ""): arm for name, arm in (found.sim or {}).items()}
        return shown | {(name, KERNEL): arm for name, arm in (found.kernel or {}).items()}

    def first_runs(self) -> dict[str, Run]:
        """Column of the tables to the run with the source's own settings."""
        return {
            f"{name}, {where}" if where else name: arm.first
            for (name, where), arm in self.shown_arms().items()
        }

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        runs = self.first_runs()
        nominal = next(iter(runs.values()))
        return Report(
            study=self.id,
            title=self.title,
            summary=text.summary(self.judged, self.found.source),
            source=published.SOURCE,
            topologies=[Topology.of("Policed dumbbell", arms.source().experiment())],
            judged=self.judged,
            values=self.tables(runs),
            figures=self.drawn(),
            commands=text.commands(),
            notes=text.notes(
                self.found.source.n if self.found.source else 0,
                self.interrupted,
            ),
            meta=self.meta(runs),
            provenance=nominal.provenance,
            tables={
                f"{label}-{table}": run.named_columns(table)
                for label, run in (("nominal", nominal),)
                for table in ("flows", "queues", "flow_samples", "queue_samples")
            },
        )

    def tables(self, runs: Mapping[str, Run]) -> list[ValueTable]:
        """The source's table with ours beside it, and with a policer."""
        caption = "One run with the source's own settings a column; samples every 100 ms."
        made = [
            text.values(
                {label: measured(run) for label, run in runs.items()},
                "Through the shaper (tbf with a queue of 20 packets)",
                f"{caption} The best value of each row is bold, the published one apart.",
                with_source=True,
            )
        ]
        if self.found.policed:
            made.append(
                text.values(
                    self.found.policed,
                    "Through a policer (no queue: what has no token is dropped)",
                    caption,
                    with_source=False,
                )
            )
        return made

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        found = self.found
        shown = self.shown_arms()
        values = {key: arm.values for key, arm in shown.items()}
        first = {key: arm.first for key, arm in shown.items()}
        drawn = figures.over_time(first)
        drawn.append(figures.operating_points(values))
        drawn += figures.distributions(first)
        for name, (title, x, by_arm) in (found.sweeps or {}).items():
            drawn += figures.sweep(name, title, x, by_arm)
        return drawn

    def meta(self, runs: Mapping[str, Run]) -> dict[str, Any]:
        """What is the same whenever the study is repeated with these options."""
        return {
            **self.asked(),
            "versions": next(iter(runs.values())).meta["versions"],
            "experiment": arms.source().experiment().resolved(),
            "digests": {label: run.meta["digest"] for label, run in runs.items()},
        }


STUDY: Study = TrafficPolicing
__all__: Sequence[str] = ("STUDY", "TrafficPolicing")
