"""PIE under Flent's rrul: what its two parameters do on a router.

Seven settings in three scenarios, with the source's four figures and both of its observation
tables, every printed number judged; the part of the latency that is not PIE's, fitted; PIE of the
kernel of the time beside today's; the simulator beside the Linux kernel; and what else one could
set on this router.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dumbbell.backends.kernel.programs import irtt_is_installed
from dumbbell.formats.flent import flent_bytes, flent_file
from dumbbell.report import Figure, Report, Topology, ValueTable
from dumbbell.spec import Experiment
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.pie_rrul import arms, figures, judging, published, text
from dumbbell.studies.pie_rrul.campaigns import Arm, collect
from dumbbell.studies.pie_rrul.fit import Fit, fit_ring
from dumbbell.studies.reproduction import Reproduction

By = dict[arms.Setting, Arm]
_TWO = (arms.Setting(), arms.Setting(target_ms=5))
_FEW = (arms.Setting(tupdate_ms=1), *_TWO)


@dataclass(frozen=True, slots=True)
class Preset:
    """How much is run.

    Attributes:
        length_s: Of Flent's test.
        delay_s: Before and after the load.
        runs: Replications of scenario 1.
        side_runs: Replications of everything beside it.
        without: Settings without a ring.
        side_settings: Settings of the other scenarios.
        today: Settings of today's PIE.
        router: What else is set on the router.
        kernel_settings: On the kernel.
        kernel_runs: Replications there.
        kernel_scenarios: Scenarios there.
    """

    length_s: int
    delay_s: int
    runs: int
    side_runs: int
    without: tuple[arms.Setting, ...]
    side_settings: tuple[arms.Setting, ...]
    today: tuple[arms.Setting, ...]
    router: tuple[str, ...]
    kernel_settings: tuple[arms.Setting, ...]
    kernel_runs: int
    kernel_scenarios: tuple[str, ...]


QUICK = Preset(
    length_s=15,
    delay_s=1,
    runs=3,
    side_runs=2,
    without=_TWO,
    side_settings=_FEW,
    today=_TWO,
    router=("pfifo limit 1000", "pie", "fq_codel"),
    kernel_settings=_TWO,
    kernel_runs=3,
    kernel_scenarios=("alone",),
)
FULL = Preset(
    length_s=published.LENGTH_S,
    delay_s=5,
    runs=5,
    side_runs=5,
    without=arms.SETTINGS,
    side_settings=arms.SETTINGS,
    today=arms.SETTINGS,
    router=tuple(arms.ROUTER_CHOICES),
    kernel_settings=arms.SETTINGS,
    # A run of 70 s on the kernel takes a minute of CPU time, in the simulator a second.
    kernel_runs=3,
    kernel_scenarios=arms.SCENARIOS,
)


@dataclass(slots=True)
class _Found:
    """What was run so far."""

    scenarios: dict[str, By] = field(default_factory=dict)
    without: By = field(default_factory=dict)
    today: By = field(default_factory=dict)
    ours: dict[str, Arm] = field(default_factory=dict)
    router: list[tuple[str, Arm, Arm]] = field(default_factory=list)
    kernel: dict[str, By] = field(default_factory=dict)
    beside: dict[str, By] = field(default_factory=dict)
    gateway: tuple[By, By] | None = None
    irtt: Arm | None = None
    fit: Fit | None = None


class PieRrul(Reproduction):
    """The study; see the module."""

    id = "pie-rrul"
    title = "What do PIE's target and tupdate do?"
    summary = "PIE on a router under Flent's rrul: two observation tables, number by number"

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        self.preset = QUICK if options.quick else FULL
        self.test = arms.rrul(self.preset.length_s, self.preset.delay_s)
        self.found = _Found()

    def on_kernel(self) -> Iterable[Experiment]:
        """One of them: they differ in numbers only."""
        return [arms.experiment(arms.Setting().qdisc(arms.ESTIMATOR))]

    def run_all(self) -> None:
        """In the simulator, then on the kernel."""
        if "sim" in self.options.backends:
            self.run_alone()
            self.run_ours()
            self.run_scenarios()
            self.run_today()
            self.run_router()
        if "kernel" in self.options.backends:
            for scenario in self.preset.kernel_scenarios:
                self.run_kernel(scenario)

    # --- the parts ------------------------------------------------------------------------

    def experiment(self, qdisc: str, scenario: str = "alone", **of: Any) -> Experiment:
        """An arm with the study's seed and test."""
        return arms.experiment(qdisc, scenario, seed=self.options.seed, test=self.test, **of)

    def default(self) -> Experiment:
        """The default setting in scenario 1."""
        return self.experiment(arms.Setting().qdisc())

    def collect(
        self,
        experiments: Mapping[str, Experiment],
        task: str,
        *,
        runs: int | None = None,
        backend: str = "sim",
    ) -> dict[str, Arm]:
        """Replications of several arms."""
        runs = self.preset.side_runs if runs is None else runs
        return collect(self.options, experiments, self.test, runs, task=task, backend=backend)

    def settings(
        self,
        settings: Sequence[arms.Setting],
        task: str,
        *,
        edition: str = arms.OF_THE_TIME,
        scenario: str = "alone",
        runs: int | None = None,
        backend: str = "sim",
        **of: Any,
    ) -> By:
        """Runs of PIE at several settings."""
        experiments = {
            setting.label: self.experiment(setting.qdisc(edition), scenario, **of)
            for setting in settings
        }
        done = self.collect(experiments, task, runs=runs, backend=backend)
        return {setting: done[setting.label] for setting in settings}

    def run_alone(self) -> None:
        """Scenario 1: every printed number, and what follows from it."""
        by = self.settings(arms.SETTINGS, "no other traffic", runs=self.preset.runs)
        self.found.scenarios["alone"] = by
        self.judge_alone(by, "sim")

    def judge_alone(self, by: By, backend: str) -> None:
        """The claims of scenario 1, as far as their settings were run."""
        is_as_published = backend == "sim" or self.test.length_s == published.LENGTH_S
        for varied, milliseconds in published.TABLES:
            setting = arms.setting_of(varied, milliseconds)
            if setting in by and is_as_published:
                self.judged += [
                    judging.judge_number(by[setting], varied, milliseconds, name, backend=backend)
                    for name in published.QUANTITIES
                ]
        targets = [setting for setting in arms.BY_TARGET if setting in by]
        if len(targets) > 1:
            self.judged.append(judging.judge_follows(by, "queue_delay_ms", "queue-delay", backend))
            self.judged.append(judging.judge_follows(by, "latency_ms", "latency", backend))
            self.judged.append(judging.judge_equal_throughput(by, backend))
            self.judged += judging.judge_varying(by, backend)
        self.judged += [
            judging.judge_delay_is_target(by[setting], setting, backend) for setting in targets
        ]
        if sum(setting in by for setting in arms.BY_TUPDATE) > 1:
            self.judged += judging.judge_hardly(by, "alone", backend)

    def run_ours(self) -> None:
        """Without a ring, which is what was printed; and the other parameters that are ours."""
        self.found.without = self.settings(self.preset.without, "without a ring", ring_bytes=0)
        self.found.fit = fit_ring(self.found.without)
        self.judged += [
            judging.judge_nominal(arm, setting) for setting, arm in self.found.without.items()
        ]
        qdisc, default = arms.Setting().qdisc(), arms.Setting()
        full = arms.USB2_RING_PKTS * published.WIRE_BYTES
        experiments = {
            f"ring of {arms.USB2_RING_PKTS} full packets": self.experiment(qdisc, ring_bytes=full),
            "server: pfifo limit 1000": self.experiment(qdisc, server_qdisc=arms.PLAIN_FIFO),
        }
        self.found.ours = {
            f"ring {arms.RING_BYTES} B, server: {arms.SERVER_QDISC}": self.found.scenarios["alone"][
                default
            ],
            "no ring": self.found.without[default],
        } | self.collect(experiments, "parameters that are ours")

    def run_scenarios(self) -> None:
        """With UDP bursts, and with additional TCP; and the first tick of the timer."""
        settings = self.preset.side_settings
        for scenario in ("bursts", "tcp"):
            self.found.scenarios[scenario] = self.settings(
                settings, arms.SCENARIO_TITLES[scenario], scenario=scenario
            )
        self.judged += judging.judge_hardly(self.found.scenarios["bursts"], "bursts", "sim")
        self.judged += judging.judge_like_alone(
            self.found.scenarios["alone"], self.found.scenarios["tcp"], "sim"
        )
        self.run_tick()

    def run_tick(self) -> None:
        """tupdate 1 ms where the timer ticks every 4 ms, and where it ticks every 1 ms."""
        one, four = arms.Setting(tupdate_ms=1), arms.Setting(tupdate_ms=4)
        experiments = {
            "four": self.experiment(four.qdisc()),
            "fine": self.experiment(one.qdisc(), timer_hz=1000),
        }
        done = self.collect(experiments, "ticks")
        self.judged.append(
            judging.judge_tick(
                self.found.scenarios["alone"][one], done["four"], done["fine"], "sim"
            )
        )

    def run_today(self) -> None:
        """PIE as it is today."""
        self.found.today = self.settings(self.preset.today, "today's PIE", edition=arms.TODAY)

    def run_router(self) -> None:
        """What else one could set on this router."""
        choices = {label: arms.ROUTER_CHOICES[label] for label in self.preset.router}
        experiments = {
            f"{scenario} {label}": self.experiment(qdisc, scenario, ring_bytes=ring_bytes)
            for label, (qdisc, ring_bytes) in choices.items()
            for scenario in ("alone", "bursts")
        }
        done = self.collect(experiments, "what to set")
        self.found.router = [
            (label, done[f"alone {label}"], done[f"bursts {label}"]) for label in choices
        ]

    def run_kernel(self, scenario: str) -> None:
        """The kernel's PIE with its departure-rate estimator, and the same here."""
        settings, runs = self.preset.kernel_settings, self.preset.kernel_runs
        if scenario != "alone":
            settings = tuple(setting for setting in settings if setting in _FEW)
        title = arms.SCENARIO_TITLES[scenario]
        common: dict[str, Any] = {
            "edition": arms.ESTIMATOR,
            "scenario": scenario,
            "runs": runs,
        }
        beside = self.settings(settings, f"{title}, as the kernel's", **common)
        kernel = self.settings(settings, title, backend="kernel", **common)
        self.found.beside[scenario], self.found.kernel[scenario] = beside, kernel
        if scenario == "alone":
            self.judge_alone(kernel, "kernel")
            self.run_irtt(kernel, common)
        self.judge_sides(kernel, beside, scenario, title)
        if scenario == "bursts":
            self.run_gateway(settings, common)

    def run_gateway(self, settings: Sequence[arms.Setting], common: dict[str, Any]) -> None:
        """Bursts once more where both backends have the same senders: see `arms.links`."""
        title = f"{arms.SCENARIO_TITLES['bursts']}, {text.AT_GATEWAY}"
        beside = self.settings(settings, f"{title}, as the kernel's", **common, gateway=True)
        kernel = self.settings(settings, title, backend="kernel", **common, gateway=True)
        self.found.gateway = (kernel, beside)
        self.judge_sides(kernel, beside, "bursts-gateway", title)

    def judge_sides(self, kernel: By, beside: By, name: str, title: str) -> None:
        """Both backends, a setting after the other."""
        for setting, arm in kernel.items():
            qdisc = f"{setting.qdisc(arms.ESTIMATOR)}, {title}"
            self.judged += judging.judge_agreement(
                arm, beside[setting], qdisc, f"{name}-{setting.name}"
            )

    def run_irtt(self, kernel: By, common: dict[str, Any]) -> None:
        """The same with irtt where Flent has it, when this machine has it."""
        setting = arms.Setting()
        if setting not in kernel or not irtt_is_installed():
            return
        task = f"latency by irtt, {figures.KERNEL}"
        by = self.settings([setting], task, backend="kernel", **common, irtt=True)
        self.found.irtt = by[setting]
        qdisc = setting.qdisc(arms.ESTIMATOR)
        self.judged.append(judging.judge_irtt(kernel[setting], by[setting], qdisc))

    # --- the report -----------------------------------------------------------------------

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        first = self.first_arms()
        nominal = next(iter(first.values()))
        return Report(
            study=self.id,
            title=self.title,
            summary=text.summary(self.judged, self.found.fit),
            source=published.SOURCE,
            topologies=[
                Topology.of("Client, router, server", self.experiment(arms.Setting().qdisc()))
            ],
            judged=self.judged,
            values=self.tables(),
            figures=self.drawn(),
            commands=text.commands(),
            notes=text.notes(
                self.found.fit,
                self.preset.length_s,
                interrupted=self.interrupted,
                without_irtt="kernel" in self.options.backends and not irtt_is_installed(),
            ),
            meta=self.meta(first),
            provenance=nominal.first.provenance,
            tables={
                f"default-{table}": nominal.first.named_columns(table)
                for table in ("flows", "queues", "flow_samples", "queue_samples", "probes")
            },
            files=self.flent_files(),
        )

    def first_arms(self) -> dict[str, Arm]:
        """Scenario 1, setting by setting, wherever it ran; the default setting first."""
        by = self.found.scenarios.get("alone") or self.found.kernel["alone"]
        settings = sorted(by, key=lambda setting: setting != arms.Setting())
        return {setting.name: by[setting] for setting in settings}

    def flent_files(self) -> dict[str, bytes]:
        """Replication 0 of every setting of scenario 1 as Flent would have written it."""
        return {
            f"pie-{name}.flent.gz": flent_bytes(
                flent_file(
                    arm.first,
                    self.test,
                    title=f"pie-{name}",
                    queues=[arms.queue_name(arms.RING_BYTES)],
                )
            )
            for name, arm in self.first_arms().items()
        }

    def tables(self) -> list[ValueTable]:
        """Observation tables of every scenario, and those that are ours."""
        found, made = self.found, []
        for scenario, by in found.scenarios.items():
            made += text.observations(by, scenario, self.judged, "sim")
        for scenario, by in found.kernel.items():
            made += text.observations(by, scenario, self.judged, "kernel")
            where = arms.SCENARIO_TITLES[scenario]
            why = text.SMALL_QUEUES if scenario == "bursts" else ""
            made.append(text.agreement_table(by, found.beside[scenario], where, why=why))
        if found.gateway:
            where = f"{arms.SCENARIO_TITLES['bursts']}, {text.AT_GATEWAY}"
            made.append(text.agreement_table(*found.gateway, where))
        if found.irtt:
            default = arms.Setting()
            made.append(text.irtt_table(found.kernel["alone"][default], found.irtt, default))
        if found.ours:
            made.append(text.parameters_table(found.ours))
        if found.today:
            of_the_time = found.scenarios["alone"]
            made.append(text.editions({"of the time": of_the_time, "today's": found.today}))
        if found.router:
            made += text.router_tables(found.router)
        return made

    def drawn(self) -> list[Figure]:
        """Figures of the parts that were finished."""
        found, drawn = self.found, []
        if found.without:
            drawn.append(figures.latency_rows(found.scenarios["alone"], found.without))
        for scenario, by in found.scenarios.items():
            drawn += figures.of_scenario(by, scenario, self.test)
        if "alone" in found.kernel:
            kernel, sim = (
                {setting.label: arm for setting, arm in by["alone"].items()}
                for by in (found.kernel, found.beside)
            )
            drawn.append(figures.backends(kernel, sim, self.test))
        if found.router:
            drawn.append(figures.router(found.router))
        return drawn

    def meta(self, first: Mapping[str, Arm]) -> dict[str, Any]:
        """What is the same whenever the study is repeated with these options."""
        digests = {name: arm.first.meta["digest"] for name, arm in first.items()}
        kernel = self.found.kernel.get("alone", {})
        return {
            **self.asked(),
            "length_s": self.test.length_s,
            "ring_bytes": arms.RING_BYTES,
            "versions": next(iter(first.values())).first.meta["versions"],
            "experiment": self.default().resolved(),
            "digests_of_replication_0": digests,
            "digests_on_the_kernel": {
                setting.name: arm.first.meta["digest"] for setting, arm in kernel.items()
            },
        }


STUDY: Study = PieRrul
__all__: Sequence[str] = ("STUDY", "PieRrul")
