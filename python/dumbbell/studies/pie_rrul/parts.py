"""The parts of the study: each with its runs, claims, tables and figures.

Scenario 1 comes first, with every printed number. Then follow the parameters that the source does
not give (the ring, the server's egress), the source's other scenarios, and further experiments.
Some are run again on the Linux kernel in virtual time, each compared with the simulator's runs of
the same description.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dumbbell.backends.kernel.programs import irtt_is_installed
from dumbbell.claims import Judged
from dumbbell.claims.rules import Shortfall
from dumbbell.replication import Replications
from dumbbell.report import Figure, ValueTable
from dumbbell.spec import Experiment
from dumbbell.spec.flent import FlentTest
from dumbbell.stats import Estimate
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.pie_rrul import arms, claims, figures, published, text
from dumbbell.studies.pie_rrul.arms import Setting
from dumbbell.studies.pie_rrul.fit import LatencyFit, fit_ring
from dumbbell.studies.pie_rrul.measures import Measured, RunsBySetting, measured
from dumbbell.studies.shape import Amount, Arm, Part, Preset, Presets, Runner
from dumbbell.tables import Run

PUBLISHED_TEST = arms.rrul()
KERNEL_TEST = arms.rrul(length_s=10, delay_s=1)
"""Short, because Flent's own programs run as long, and they need about real time on the kernel."""
Choice = tuple[str, str]
"""Label of the router's setting, and the scenario."""


@dataclass(frozen=True, slots=True)
class PieRrulPreset(Preset):
    """Number of replications of each part.

    Attributes:
        printed: Settings whose printed numbers are judged, which needs ten runs.
        compared: Settings that are compared with each other.
        written: Settings with a distribution's send buffer, for netperf's counts.
        without: Settings without a ring.
        ours: Runs for the other parameters that the source does not give.
        bursts: Settings in scenario 2.
        tcp: Settings in scenario 3.
        tick: Runs for the timer's tick.
        today: Settings of today's PIE.
        router: Alternatives on the router.
        kernel: Settings on the kernel in scenario 1.
        kernel_bursts: Settings on the kernel in scenario 2, and in scenario 2 with a gateway.
        kernel_tcp: Settings on the kernel in scenario 3.
        irtt: Settings with irtt in scenario 1.
        own_programs: Settings with the programs that Flent starts, on the kernel.
    """

    printed: Amount[Setting]
    compared: Amount[Setting]
    kernel: Amount[Setting]
    written: Amount[Setting]
    own_programs: Amount[Setting]
    without: Amount[Setting] | None = None
    ours: Amount[str] | None = None
    bursts: Amount[Setting] | None = None
    tcp: Amount[Setting] | None = None
    tick: Amount[str] | None = None
    today: Amount[Setting] | None = None
    router: Amount[str] | None = None
    kernel_bursts: Amount[Setting] | None = None
    kernel_tcp: Amount[Setting] | None = None
    irtt: Amount[Setting] | None = None


_DEFAULT, _FAST, _SHORT = Setting(), Setting(tupdate_ms=1), Setting(target_ms=5)
_FEW = (_FAST, _DEFAULT, _SHORT)
PRESETS = Presets(
    quick=PieRrulPreset(
        printed=Amount(10, over=(_DEFAULT,)),
        compared=Amount(3, over=_FEW),
        written=Amount(10, over=(_DEFAULT,)),
        kernel=Amount(5, over=(_DEFAULT, _SHORT)),
        own_programs=Amount(3, over=(_DEFAULT, _SHORT)),
    ),
    full=PieRrulPreset(
        printed=Amount(10, over=arms.SETTINGS),
        compared=Amount(10, over=arms.SETTINGS),
        written=Amount(10, over=arms.SETTINGS),
        without=Amount(10, over=arms.SETTINGS),
        ours=Amount(5),
        bursts=Amount(5, over=arms.SETTINGS),
        tcp=Amount(5, over=_FEW),
        tick=Amount(3),
        today=Amount(3, over=_FEW),
        router=Amount(3, over=tuple(arms.ROUTER_CHOICES)),
        kernel=Amount(10, over=(_DEFAULT, _SHORT)),
        own_programs=Amount(10, over=(_DEFAULT, _SHORT)),
        kernel_bursts=Amount(10, over=(_DEFAULT,)),
        kernel_tcp=Amount(10, over=(_DEFAULT,)),
        irtt=Amount(10, over=(_DEFAULT,)),
    ),
)


def experiment(runner: Runner, qdisc: str, scenario: str = "alone", **of: Any) -> Experiment:
    """Return an arm with the study's seed, with the published length unless ``test`` differs."""
    return arms.experiment(qdisc, scenario, seed=runner.seed, **{"test": PUBLISHED_TEST, **of})


def run_settings(
    runner: Runner,
    amount: Amount[Setting],
    task: str,
    *,
    edition: str = arms.OF_THE_TIME,
    backend: str = "sim",
    test: FlentTest | None = None,
    **of: Any,
) -> Replications[Setting, Measured]:
    """Runs of PIE at several settings.

    Args:
        runner: Runs them.
        amount: Amount, with the settings.
        task: Name in the progress.
        edition: Edition of PIE.
        backend: The backend.
        test: Flent's test; as published when left out.
        **of: As `arms.experiment`.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A replication failed.
    """
    whole = test or PUBLISHED_TEST
    arms_ = [
        Arm(each, experiment(runner, each.qdisc(edition), test=whole, **of), each.label)
        for each in amount.over
    ]
    return runner.replicate(
        arms_,
        partial(measured, test=whole),
        amount,
        task=task,
        backend=backend,
        complete=True,
        keep=1,
    )


def run_named(
    runner: Runner, experiments: Mapping[Any, Experiment], amount: Amount[str], task: str
) -> Replications[Any, Measured]:
    """Run other arms, with the published length."""
    return runner.replicate(
        experiments,
        partial(measured, test=PUBLISHED_TEST),
        amount,
        task=task,
        complete=True,
        keep=1,
    )


class ScenarioOne(Part[RunsBySetting]):
    """Scenario 1: every printed number, and the source's conclusions."""

    name = arms.SCENARIO_TITLES["alone"]

    def __init__(self, printed: Amount[Setting], compared: Amount[Setting]) -> None:
        """Set the amounts: some settings run often enough for single numbers, others for
        comparison.
        """
        self.printed = printed
        more = tuple(each for each in compared.over if each not in printed.over)
        self.more = Amount(compared.runs, over=more)

    def run(self, runner: Runner) -> RunsBySetting:
        """See `Part`."""
        amounts = [self.printed, *([self.more] if self.more.over else [])]
        return RunsBySetting(
            tuple(run_settings(runner, each, self.name, record_writes=True) for each in amounts)
        )

    def judge(self, found: RunsBySetting) -> Iterator[Judged]:
        """Judge the printed numbers, and the effects of target and tupdate."""
        yield from claims.printed(self.often(found)).values()
        yield from claims.targets(found)
        yield from claims.tupdates(found)

    def often(self, found: RunsBySetting) -> RunsBySetting:
        """Return settings that were run often enough for single numbers."""
        return RunsBySetting(found.groups[:1])

    def tables(self, found: RunsBySetting) -> Iterator[ValueTable]:
        """Return the printed tables, and ours."""
        yield from text.beside_printed(found, claims.printed(self.often(found)), self.name)

    def figures(self, found: RunsBySetting) -> Iterable[Figure]:
        """Draw the source's figures."""
        return figures.of_scenario(found, "alone", PUBLISHED_TEST)

    def runs(self, found: RunsBySetting) -> Mapping[str, Run]:
        """Return runs, the default setting first."""
        settings = sorted(found.settings, key=lambda setting: setting != Setting())
        return {setting.name: found.run(setting) for setting in settings}


class NetperfUploads(Part[Replications[Setting, Measured]]):
    """The uploads counted as netperf does, by the bytes of its send calls."""

    name = "counted at the sender"

    def __init__(self, amount: Amount[Setting], alone: ScenarioOne) -> None:
        """Set the amount with a smaller send buffer; the larger one is scenario 1's."""
        self.amount, self.alone = amount, alone

    def run(self, runner: Runner) -> Replications[Setting, Measured]:
        """See `Part`."""
        return run_settings(
            runner,
            self.amount,
            self.name,
            packet_memory=arms.SMALL_HEADERS,
            record_writes=True,
        )

    def judge(self, found: Replications[Setting, Measured]) -> Iterator[Judged]:
        """Judge each printed range, and all of them together."""
        yield from claims.written(self.alone.often(self.alone.found), found)

    def tables(self, found: Replications[Setting, Measured]) -> Iterator[ValueTable]:
        """Return the ranges by each counting method."""
        yield text.written_table(self.alone.often(self.alone.found), found)


class WithoutRing(Part[Replications[Setting, Measured]]):
    """Latencies from the printed parameters alone, and the ring that explains the rest."""

    name = "without a ring"

    def __init__(self, amount: Amount[Setting], alone: ScenarioOne) -> None:
        """Set the amount, and the part it is compared with."""
        self.amount, self.alone = amount, alone

    def run(self, runner: Runner) -> Replications[Setting, Measured]:
        """See `Part`."""
        return run_settings(runner, self.amount, self.name, ring_bytes=0)

    def fit(self, found: Replications[Setting, Measured]) -> LatencyFit:
        """Return the fitted ring."""
        return fit_ring({each: found.values(each, "latency_ms") for each in found.arms})

    def judge(self, found: Replications[Setting, Measured]) -> Iterator[Judged]:
        """Judge the printed latencies, and the calibration they determine."""
        yield from claims.nominal(found)
        yield claims.ring(self.fit(found), found.n)

    def figures(self, found: Replications[Setting, Measured]) -> Iterator[Figure]:
        """Draw latency with and without the ring."""
        yield figures.latency_rows(self.alone.found, found)


class OurParameters(Part[Replications[str, Measured]]):
    """The other parameters that the source does not give."""

    name = "parameters that are ours"

    def __init__(self, amount: Amount[str], alone: ScenarioOne, without: WithoutRing) -> None:
        """Set the amount, and the parts it is compared with."""
        self.amount, self.alone, self.without = amount, alone, without

    def run(self, runner: Runner) -> Replications[str, Measured]:
        """See `Part`."""
        qdisc = Setting().qdisc()
        full = arms.USB2_RING_PKTS * published.WIRE_BYTES
        experiments = {
            f"ring of {arms.USB2_RING_PKTS} full packets": experiment(
                runner, qdisc, ring_bytes=full
            ),
            "server: pfifo limit 1000": experiment(runner, qdisc, server_qdisc=arms.PLAIN_FIFO),
        }
        return run_named(runner, experiments, self.amount, self.name)

    def tables(self, found: Replications[str, Measured]) -> Iterator[ValueTable]:
        """Return one column per choice."""
        default, measures = Setting(), text.PARAMETERS_MEASURES
        columns: dict[str, list[Estimate]] = {
            f"ring {arms.RING_BYTES} B, server: {arms.SERVER_QDISC}": [
                self.alone.found.mean(default, measure) for measure in measures
            ],
            "no ring": [self.without.found.estimate(default, measure) for measure in measures],
        }
        columns |= {
            arm: [found.estimate(arm, measure) for measure in measures] for arm in found.arms
        }
        yield text.parameters_table(columns)


class CompetingTraffic(Part[RunsBySetting]):
    """Scenarios 2 and 3: with additional traffic."""

    def __init__(self, scenario: str, amount: Amount[Setting], alone: ScenarioOne) -> None:
        """Set the scenario, the amount, and the part it is compared with."""
        self.name = arms.SCENARIO_TITLES[scenario]
        self.scenario, self.amount, self.alone = scenario, amount, alone

    def run(self, runner: Runner) -> RunsBySetting:
        """See `Part`."""
        done = run_settings(runner, self.amount, self.name, scenario=self.scenario)
        return RunsBySetting((done,))

    def judge(self, found: RunsBySetting) -> Iterable[Judged]:
        """Judge scenario 3; the source draws no conclusion from scenario 2."""
        if self.scenario == "tcp":
            return claims.additional_tcp(self.alone.found, found)
        return ()

    def tables(self, found: RunsBySetting) -> Iterator[ValueTable]:
        """Return tables like those of scenario 1, and the effect of a slow timer."""
        yield from text.observations(found, self.name)
        if self.scenario == "bursts":
            yield text.clock_table(self.alone.found, found)

    def figures(self, found: RunsBySetting) -> Iterable[Figure]:
        """Draw the source's figures."""
        return figures.of_scenario(found, self.scenario, PUBLISHED_TEST)


class TimerTick(Part[Replications[str, Measured]]):
    """tupdate 1 ms with a timer tick of 4 ms, and with a tick of 1 ms."""

    name = "ticks"

    def __init__(self, amount: Amount[str], alone: ScenarioOne) -> None:
        """Set the amount; the runs of tupdate 1 ms are scenario 1's."""
        self.amount, self.alone = amount, alone

    def run(self, runner: Runner) -> Replications[str, Measured]:
        """See `Part`."""
        four, one = Setting(tupdate_ms=4).qdisc(), Setting(tupdate_ms=1).qdisc()
        experiments = {
            "four": experiment(runner, four),
            "fine": experiment(runner, one, timer_hz=1000),
        }
        return run_named(runner, experiments, self.amount, self.name)

    def judge(self, found: Replications[str, Measured]) -> Iterator[Judged]:
        """Return the check."""
        one, alone = Setting(tupdate_ms=1), self.alone.found
        four_ms, fine_ms = (found.values(arm, "latency_ms") for arm in ("four", "fine"))
        one_ms = alone.values(one, "latency_ms")[: found.n]
        same = alone.run(one).meta["digest"] == found.run("four").meta["digest"]
        apart_ms = abs(fine_ms - four_ms).max()
        remarks = (
            f"the first run of both is {'the same in every number' if same else 'not the same'}",
            "where the timer ticks 1000 times a second, so that 1 ms is 1 ms, latencies are up to "
            f"{apart_ms:.2g} ms away from these",
        )
        yield claims.tick(one_ms, four_ms[: one_ms.size], remarks)


class CurrentPie(Part[Replications[Setting, Measured]]):
    """Today's PIE."""

    name = "today's PIE"

    def __init__(self, amount: Amount[Setting], alone: ScenarioOne) -> None:
        """Set the amount, and the part it is compared with."""
        self.amount, self.alone = amount, alone

    def run(self, runner: Runner) -> Replications[Setting, Measured]:
        """See `Part`."""
        return run_settings(runner, self.amount, self.name, edition=arms.TODAY)

    def tables(self, found: Replications[Setting, Measured]) -> Iterator[ValueTable]:
        """Return both side by side."""
        yield text.editions(self.alone.found, found)


class Router(Part[Replications[Choice, Measured]]):
    """Alternatives on this router."""

    name = "what to set"

    def __init__(self, amount: Amount[str]) -> None:
        """Set the amount, with the alternatives."""
        self.amount = amount

    def run(self, runner: Runner) -> Replications[Choice, Measured]:
        """See `Part`."""
        experiments = {
            (label, scenario): experiment(
                runner, choice.qdisc, scenario, ring_bytes=choice.ring_bytes
            )
            for label in self.amount.over
            for choice in [arms.ROUTER_CHOICES[label]]
            for scenario in ("alone", "bursts")
        }
        return run_named(runner, experiments, self.amount, self.name)

    def tables(self, found: Replications[Choice, Measured]) -> Iterable[ValueTable]:
        """Return tables alone and under bursts."""
        return text.router_tables(found)

    def figures(self, found: Replications[Choice, Measured]) -> Iterator[Figure]:
        """Draw the latency of all alternatives."""
        yield figures.router(found)


@dataclass(frozen=True)
class SettingsOnBothBackends:
    """The same descriptions on both backends.

    Attributes:
        kernel: Runs on the kernel.
        sim: The same replications in the simulator.
    """

    kernel: RunsBySetting
    sim: RunsBySetting


class OnKernel(Part[SettingsOnBothBackends]):
    """A scenario on the kernel, whose PIE estimates a departure rate, and in the simulator."""

    def __init__(self, scenario: str, amount: Amount[Setting], *, gateway: bool = False) -> None:
        """Set the scenario, amount, and whether downloads queue at a gateway: see `arms.links`."""
        self.scenario, self.amount, self.gateway = scenario, amount, gateway
        self.where = arms.SCENARIO_TITLES[scenario] + (f", {text.AT_GATEWAY}" if gateway else "")
        self.name = f"{self.where}, on both backends"

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the kernel is requested."""
        return "kernel" in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """Return one experiment: they differ in numbers only."""
        yield arms.experiment(
            self.amount.over[0].qdisc(arms.ESTIMATOR),
            self.scenario,
            test=KERNEL_TEST,
            gateway=self.gateway,
        )

    def run(self, runner: Runner) -> SettingsOnBothBackends:
        """See `Part`."""
        kernel, sim = (
            RunsBySetting(
                (
                    run_settings(
                        runner,
                        self.amount,
                        self.where,
                        edition=arms.ESTIMATOR,
                        backend=backend,
                        test=KERNEL_TEST,
                        scenario=self.scenario,
                        gateway=self.gateway,
                        record_writes=self.scenario == "alone",
                    ),
                )
            )
            for backend in ("kernel", "sim")
        )
        return SettingsOnBothBackends(kernel, sim)

    def judge(self, found: SettingsOnBothBackends) -> Iterator[Judged]:
        """Judge previews of printed numbers, and the agreement at each setting."""
        if self.scenario == "alone":
            yield from claims.printed(found.kernel, "kernel", SHORTER).values()
        name = f"{self.scenario}-gateway" if self.gateway else self.scenario
        for setting in found.kernel.settings:
            yield from claims.agreement(found.kernel, found.sim, setting, name, self.where)

    def tables(self, found: SettingsOnBothBackends) -> Iterator[ValueTable]:
        """Return tables of both backends, and the printed values."""
        if self.scenario == "alone":
            where = f"{self.where} (Linux kernel, a preview)"
            yield from text.beside_printed(found.kernel, {}, where)
        yield text.agreement_table(
            found.kernel,
            found.sim,
            KERNEL_TEST.length_s,
            self.where,
            why=text.SMALL_QUEUES if self.scenario == "bursts" and not self.gateway else "",
        )

    def figures(self, found: SettingsOnBothBackends) -> Iterator[Figure]:
        """Draw one run on both backends."""
        if self.scenario == "alone":
            yield figures.backends(found.kernel, found.sim, KERNEL_TEST)

    def runs(self, found: SettingsOnBothBackends) -> Mapping[str, Run]:
        """Return scenario 1's runs."""
        if self.scenario != "alone":
            return {}
        return {setting.name: found.kernel.run(setting) for setting in found.kernel.settings}


SHORTER = (
    Shortfall(
        what="length of the test",
        ours=KERNEL_TEST.length_s,
        published=PUBLISHED_TEST.length_s,
        unit="s",
    ),
)
"""Differences of the kernel's runs from the published run."""


class Irtt(Part[Replications[Setting, Measured]]):
    """The kernel's default setting again, with latency measured by irtt as in Flent."""

    name = "latency by irtt"

    def __init__(self, amount: Amount[Setting], own: OnKernel) -> None:
        """Set the amount, and the part it is compared with."""
        self.amount, self.own = amount, own

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether the kernel is requested and irtt is installed."""
        return "kernel" in options.backends and irtt_is_installed()

    def run(self, runner: Runner) -> Replications[Setting, Measured]:
        """See `Part`."""
        return run_settings(
            runner,
            self.amount,
            self.name,
            edition=arms.ESTIMATOR,
            backend="kernel",
            test=KERNEL_TEST,
            irtt=True,
        )

    def judge(self, found: Replications[Setting, Measured]) -> Iterator[Judged]:
        """Judge the agreement of two programs."""
        default, measure = Setting(), "latency_udp_ms"
        own = self.own.found.kernel.values(default, measure)
        qdisc = default.qdisc(arms.ESTIMATOR)
        yield claims.irtt(own, found.values(default, measure), qdisc)

    def tables(self, found: Replications[Setting, Measured]) -> Iterator[ValueTable]:
        """Return the results of both programs."""
        default, measure = Setting(), "latency_udp_ms"
        own = self.own.found.kernel.mean(default, measure)
        yield text.irtt_table(own, found.estimate(default, measure))
