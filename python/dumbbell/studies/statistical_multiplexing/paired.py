"""The study on the Linux kernel, each replication beside the same one in the simulator.

Both backends draw arrivals and sizes from the same named streams, so a replication on the kernel
can be held against the same replication in the simulator: what the traffic varies by from run to
run cancels in the difference. That is how a few runs say much about whether the two agree, and why
a few are enough where hundreds of kernel runs would take hours.

The load's fit needs thousands of runs and stays with the simulator; with both backends the kernel
is run at the load that the simulator found.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dumbbell.claims.legacy import Judged
from dumbbell.spec import Experiment
from dumbbell.stats import Estimate
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.statistical_multiplexing import (
    agreement,
    controlled,
    judging,
    published,
)
from dumbbell.studies.statistical_multiplexing.campaigns import (
    Campaign,
    IdealSize,
    ideal_experiments,
    published_experiments,
)
from dumbbell.studies.statistical_multiplexing.ensembles import PingEnsemble
from dumbbell.studies.statistical_multiplexing.fit import Fit
from dumbbell.sweep import Interrupted

ENLARGED = 8
"""Mean size 4096 bytes on links eight times as fast: the least frame hardly matters then."""
PINGED_S = published.PING_COUNT * published.PING_INTERVAL_S
"""Of the published 600 s only the pinged 200 s are run: what comes later changes no ping."""


@dataclass(frozen=True, slots=True)
class KernelPreset:
    """How much is run on the kernel, which takes some 80 microseconds of CPU for a packet.

    Attributes:
        streams: Numbers of streams with the ideal source.
        ideal: Size of those runs.
        controls: Replications in the simulator for each of them.
        runs: Replications of each run as published.
    """

    streams: tuple[int, ...]
    ideal: IdealSize
    controls: int
    runs: int


QUICK = KernelPreset((2,), IdealSize(5e4, 6, 6, None, ENLARGED), 64, 8)
FULL = KernelPreset((2, 4, 8), IdealSize(2e5, 16, 16, None, ENLARGED), 24, 40)


@dataclass(slots=True)
class OnKernel:
    """What came of it, part by part as they finish.

    Attributes:
        judged: Claims measured on the kernel.
        gains: Number of streams to the multiplexing gain.
        nominal: Runs as published on the kernel.
        beside: The same replications in the simulator.
        fitted: Runs at the load that the simulator found, when it looked for one.
        differences: What is compared to the kernel's value less the simulator's, milliseconds.
        interrupted: Whether it was stopped before its end.
    """

    judged: list[Judged] = field(default_factory=list)
    gains: dict[int, Estimate] = field(default_factory=dict)
    nominal: PingEnsemble | None = None
    beside: PingEnsemble | None = None
    fitted: PingEnsemble | None = None
    differences: dict[str, Estimate] = field(default_factory=dict)
    interrupted: bool = False


def experiments(options: StudyOptions) -> list[Experiment]:
    """All that will be run there, to be checked before anything is run anywhere."""
    preset = _preset(options)
    ideal = [ideal_experiments(m, preset.ideal, options.seed) for m in preset.streams]
    nominal = published_experiments(options.seed, {"duration_s": PINGED_S})
    return [each for arms in (*ideal, nominal) for each in arms.values()]


def run_on_kernel(options: StudyOptions, fit: Fit | None) -> OnKernel:
    """Run the study on the kernel and judge it there.

    Args:
        options: Seed, threads, cancellation.
        fit: The load that explains what was printed, when the simulator looked for it.

    Raises:
        RunError: A replication failed.
    """
    done = OnKernel()
    try:
        _Paired(options, done).run_all(fit)
    except Interrupted:
        done.interrupted = True
    return done


def _preset(options: StudyOptions) -> KernelPreset:
    return QUICK if options.quick else FULL


class _Paired:
    def __init__(self, options: StudyOptions, done: OnKernel) -> None:
        self.preset = _preset(options)
        self.kernel = Campaign(options, "kernel")
        self.sim = Campaign(options, "sim")
        self.done = done

    def run_all(self, fit: Fit | None) -> None:
        for streams in self.preset.streams:
            self.run_ideal(streams)
        self.run_nominal()
        if fit:
            self.run_fitted(fit)

    def run_ideal(self, streams: int) -> None:
        size, done = self.preset.ideal, self.done
        simulated = self.sim.ideal(streams, size, times=self.preset.controls)
        measured = self.kernel.ideal(streams, size)
        means = controlled.ideal_means(measured.values, simulated.values)
        done.gains[streams] = means.factor
        done.judged += judging.judge_ideal(
            streams, means, "kernel", note=controlled.note(measured.n, simulated.n)
        )
        for arm in published.ARMS:
            self._agree(agreement.ideal_pair(arm, streams, measured.values, simulated.values))
        if measured.interrupted or simulated.interrupted:
            raise Interrupted(measured.stopped_because)

    def run_nominal(self) -> None:
        settings = {"duration_s": PINGED_S}
        self.done.beside = self.sim.pings("nominal load", settings, self.preset.runs)
        self.done.nominal = self.kernel.pings("nominal load", settings, self.preset.runs)
        self.done.judged += judging.judge_as_published(
            self.done.nominal, "nominal", "at the nominal load", "kernel"
        )
        for arm in published.ARMS:
            self._agree(agreement.rtt_pair(arm, self.done.nominal, self.done.beside))

    def run_fitted(self, fit: Fit) -> None:
        base_rtt_ms = 2e-3 * round(500 * fit.base_rtt_ms.value)
        # The delay of a link, half of it, is whole microseconds to the kernel's tc.
        settings = fit.settings | {"base_rtt_ms": base_rtt_ms, "duration_s": PINGED_S}
        self.done.fitted = self.kernel.pings("fitted load", settings, self.preset.runs)
        self.done.judged += judging.judge_as_published(
            self.done.fitted,
            "fitted",
            "at the fitted load",
            "kernel",
            note="load and base RTT were fitted with the simulator",
        )

    def _agree(self, pair: agreement.Pair) -> None:
        self.done.differences[pair.label] = pair.difference
        self.done.judged.append(agreement.judge(pair))
