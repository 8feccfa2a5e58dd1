"""Traffic policing: a greedy flow exhausts its tokens.

A published table of 26 numbers for one NewReno flow through a token bucket is judged row by row,
over an ensemble of all parameters that the source does not give. Further parts check the token
bucket's bounds packet by packet, make the same table for Linux's controllers in the simulator and
on the kernel, and vary burst, policing rate and round-trip time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dumbbell.claims import Judged, Verdict
from dumbbell.report import Advice, Figure, Report, Topology, ValueTable
from dumbbell.spec import Experiment
from dumbbell.spec.ccperf import Policing
from dumbbell.studies.base import Study, StudyOptions
from dumbbell.studies.reproduction import Reproduction
from dumbbell.studies.shape import Amount, Part, Preset, Presets, Runner, nothing_of
from dumbbell.studies.traffic_policing import arms, claims, figures, live, published, text
from dumbbell.studies.traffic_policing.arms import Member
from dumbbell.studies.traffic_policing.measures import EnsembleRun, Rows, policed, rows_of
from dumbbell.studies.traffic_policing.printed_numbers import PRINTED
from dumbbell.tables import Run

KERNEL = figures.KERNEL
_INTERVALS = ("50ms", "100ms", "200ms")
_ONCE: Amount[str] = Amount(1)
_SOURCE_LABEL = "newreno-rfc"


@dataclass(frozen=True, slots=True)
class EnsembleSizes(Preset):
    """Number of members of the ensembles; every run has the source's length.

    Attributes:
        source: Members with each combination of the open choices.
        linux: Members of each of Linux's controllers, in the simulator.
        swept: Members at each point of a sweep.
        kernel: Members of each of Linux's controllers, on the kernel.
    """

    source: Amount[str]
    linux: Amount[str]
    swept: Amount[str]
    kernel: Amount[str]


PRESETS = Presets(
    quick=EnsembleSizes(source=Amount(2), linux=Amount(9), swept=Amount(1), kernel=Amount(5)),
    full=EnsembleSizes(source=Amount(9), linux=Amount(27), swept=Amount(5), kernel=Amount(27)),
)


def run_members(
    runner: Runner,
    policing: Policing,
    members: Sequence[Member],
    task: str,
    *,
    backend: str = "sim",
) -> EnsembleRun:
    """Run every member of an ensemble around an experiment once.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A run failed.
    """
    seeded = replace(policing, seed=runner.seed)
    experiments = {member: member.of(seeded) for member in members}
    done = runner.replicate(
        experiments, policed, _ONCE, task=task, backend=backend, complete=True, fixed=True
    )
    return EnsembleRun.of(members, done)


class SourceExperiment(Part[EnsembleRun]):
    """The source's experiment over all unpublished parameters, judged row by row."""

    name = "the source's settings"

    def __init__(self, amount: Amount[str]) -> None:
        """Set the amount."""
        self.amount = amount
        self.rows: Mapping[str, Judged] = {}

    def run(self, runner: Runner) -> EnsembleRun:
        """See `Part`."""
        count = runner.options.replications or self.amount.runs
        return run_members(runner, arms.source(), arms.members_of_source(count), self.name)

    def judge(self, found: EnsembleRun) -> Iterator[Judged]:
        """Judge the printed numbers."""
        self.rows = claims.judge_rows(found)
        yield from self.rows.values()

    def tables(self, found: EnsembleRun) -> Iterator[ValueTable]:
        """Return the choices that the printed numbers identify."""
        yield text.identified(self.rows)
        yield text.nearest_choices(found)


class Controllers(Part[Mapping[str, EnsembleRun]]):
    """The source's flow and Linux's controllers through the same bottleneck, with jitter only."""

    name = "controllers"

    def __init__(
        self, amount: Amount[str], backend: str, beside: Controllers | None = None
    ) -> None:
        """Set the experiments.

        Args:
            amount: Members of each controller's ensemble.
            backend: The backend.
            beside: The same members in the simulator, for comparison with the kernel's.
        """
        self.amount = amount
        self.backend = backend
        self.beside = beside

    @property
    def experiments(self) -> dict[str, Policing]:
        """Return the experiment of each controller; the source's flow is not one of Linux's."""
        source = {} if self.backend == "kernel" else {arms.SOURCE_ARM: arms.source()}
        return source | {name: arms.linux(name) for name in arms.LINUX}

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run: the kernel's runs are also compared with the simulator's."""
        return self.backend == "sim" or self.backend in options.backends

    def on_kernel(self) -> Iterable[Experiment]:
        """Return Linux's controllers through the bucket."""
        if self.backend == "kernel":
            yield from (each.experiment() for each in self.experiments.values())

    def run(self, runner: Runner) -> Mapping[str, EnsembleRun]:
        """See `Part`."""
        count = runner.options.replications or self.amount.runs
        return {
            name: run_members(
                runner,
                policing,
                arms.jittered(count),
                f"{self.name}: {name}",
                backend=self.backend,
            )
            for name, policing in self.experiments.items()
        }

    def judge(self, found: Mapping[str, EnsembleRun]) -> Iterator[Judged]:
        """Judge the bucket's bounds, the rate after the cliff, and agreement of backends."""
        for name, ran in found.items():
            label = _SOURCE_LABEL if name == arms.SOURCE_ARM else name
            yield from claims.judge_bucket(ran, label, self.backend)
            yield claims.judge_after_cliff(ran, label, self.backend)
            if self.beside:
                yield from claims.judge_agreement(ran, self.beside.found[name], name)


class Policed(Part[Mapping[str, EnsembleRun]]):
    """The members of Linux's controllers again, through a policer without a queue."""

    name = "a policer in place of the queue"

    def __init__(self, amount: Amount[str]) -> None:
        """Set the same amount as through the queue, in the simulator."""
        self.amount = amount

    def run(self, runner: Runner) -> Mapping[str, EnsembleRun]:
        """See `Part`."""
        members = arms.jittered(runner.options.replications or self.amount.runs)
        return {
            name: run_members(
                runner, arms.policed(arms.linux(name)), members, f"{self.name}: {name}"
            )
            for name in arms.LINUX
        }


class SingleRuns(Part[Mapping[tuple[str, str], Run]]):
    """One run of each controller, without jitter: the source's tables and figures.

    The result maps (controller, style) to the run; the style is empty in the simulator.
    """

    name = "one run of each controller"

    def __init__(self, ensembles: Sequence[Controllers], source: SourceExperiment) -> None:
        """Set the ensembles whose first members are shown, and the part with the judged rows."""
        self.ensembles = ensembles
        self.source = source
        self.policed: dict[str, Rows] = {}
        self.by_interval: dict[str, Rows] = {}

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run: on any backend."""
        return True

    def run(self, runner: Runner) -> Mapping[tuple[str, str], Run]:
        """See `Part`."""
        shown: dict[tuple[str, str], Run] = {}
        for ensemble in self.ensembles:
            backend = ensemble.backend
            if backend not in runner.options.backends:
                continue
            style = KERNEL if backend == "kernel" else ""
            experiments = {
                name: replace(policing, seed=runner.seed)
                for name, policing in ensemble.experiments.items()
            }
            runs = _each_once(runner, experiments, self.name, backend)
            shown |= {(name, style): run for name, run in runs.items()}
            without_queue = {name: arms.policed(each) for name, each in experiments.items()}
            runs = _each_once(runner, without_queue, "a policer", backend)
            self.policed |= {_column(name, style): rows_of(run) for name, run in runs.items()}
        if "sim" in runner.options.backends:
            nominal = replace(arms.source(), seed=runner.seed)
            sampled = {each: replace(nominal, sample_interval=each) for each in _INTERVALS}
            runs = _each_once(runner, sampled, "sampled otherwise", "sim")
            self.by_interval = {interval: rows_of(run) for interval, run in runs.items()}
        return shown

    def tables(self, found: Mapping[tuple[str, str], Run]) -> Iterator[ValueTable]:
        """Return the source's table beside ours, with a policer, and at other samplings."""
        caption = "One run without jitter a column; samples every 100 ms."
        yield text.values(
            {_column(*key): rows_of(run) for key, run in found.items()},
            "Through the shaper (tbf with a queue of 20 packets)",
            f"{caption} The best value of each row is bold, the published one apart. Whether a "
            "printed number agrees is judged over all that the source leaves open, not by the one "
            "run in the next column.",
            verdicts=self.verdicts(),
        )
        yield text.values(
            self.policed,
            "Through a policer (no queue: what has no token is dropped)",
            caption,
        )
        if self.by_interval:
            yield text.standstills(self.by_interval)
            yield text.sampled_otherwise(self.by_interval)

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdicts of the printed rows that were judged."""
        return {row: one.verdict for row, one in self.source.rows.items()}

    def figures(self, found: Mapping[tuple[str, str], Run]) -> Iterator[Figure]:
        """Draw the beginning, the whole run over time, operating points, and distributions."""
        yield figures.cliff(found)
        yield from figures.over_time(found)
        ran = {
            (name, KERNEL if ensemble.backend == "kernel" else ""): members
            for ensemble in self.ensembles
            if ensemble.is_finished
            for name, members in ensemble.found.items()
        }
        yield figures.operating_points({key: ran[key] for key in found if key in ran})
        yield from figures.distributions(found)

    def runs(self, found: Mapping[tuple[str, str], Run]) -> Mapping[str, Run]:
        """Return the runs whose digests are stored."""
        return {f"Linux {name}" if style else name: run for (name, style), run in found.items()}


class BucketSweep(Part[Mapping[arms.Sweep, Mapping[str, Sequence[EnsembleRun]]]]):
    """Sweeps of burst, policing rate and round-trip time."""

    name = "sweep"

    def __init__(self, amount: Amount[str]) -> None:
        """Set the amount."""
        self.amount = amount

    def run(self, runner: Runner) -> Mapping[arms.Sweep, Mapping[str, Sequence[EnsembleRun]]]:
        """See `Part`."""
        experiments = {arms.SOURCE_ARM: arms.source()}
        experiments |= {name: arms.linux(name) for name in arms.LINUX}
        members = arms.jittered(self.amount.runs)
        return {
            sweep: {
                name: [
                    run_members(
                        runner, arms.swept(policing, change), members, f"sweep over {sweep.name}"
                    )
                    for change in sweep.changes
                ]
                for name, policing in experiments.items()
            }
            for sweep in arms.SWEEPS
        }

    def figures(
        self, found: Mapping[arms.Sweep, Mapping[str, Sequence[EnsembleRun]]]
    ) -> Iterator[Figure]:
        """Draw losses and utilization against each parameter."""
        for sweep, by_arm in found.items():
            yield from figures.sweep(sweep, by_arm)


def _each_once(
    runner: Runner, experiments: Mapping[str, Policing], task: str, backend: str
) -> dict[str, Run]:
    done = runner.replicate(
        {name: each.experiment() for name, each in experiments.items()},
        nothing_of,
        _ONCE,
        task=task,
        backend=backend,
        complete=True,
        fixed=True,
        keep=1,
    )
    return {name: done.run(name) for name in done.arms}


def _column(name: str, style: str) -> str:
    return f"{name}, {style}" if style else name


class TrafficPolicing(Reproduction):
    """The study; see the module."""

    id = "traffic-policing"
    title = "What happens when the tokens run out?"
    summary = "A greedy flow through a token bucket: a published table row by row, and the cliff"
    printed = PRINTED

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet; see `Reproduction`."""
        super().__init__(options)
        preset = PRESETS.of(options)
        self.source = SourceExperiment(preset.source)
        simulated = Controllers(preset.linux, "sim")
        kernel = Controllers(preset.kernel, "kernel", beside=simulated)
        self.shown = SingleRuns([simulated, kernel], self.source)
        self.simulated, self.policed = simulated, Policed(preset.linux)
        self.parts = [
            self.source,
            simulated,
            self.policed,
            kernel,
            self.shown,
            BucketSweep(preset.swept),
        ]

    def linux(self) -> Mapping[str, EnsembleRun]:
        """Return Linux's controllers, from the backend that ran them."""
        return next((each.found for each in self.shown.ensembles if each.is_finished), {})

    def advice(self) -> list[Advice]:
        """Compare Linux's controllers through queue and policer, member by member."""
        if not (self.simulated.is_finished and self.policed.is_finished):
            return []
        return text.advice(self.simulated.found, self.policed.found)

    def written(self) -> Report:
        """The report; see `Reproduction`."""
        source = self.source.found if self.source.is_finished else None
        nominal = next(iter(self.shown.found.values())) if self.shown.is_finished else None
        advice = self.advice()
        said = text.answer(source, self.linux(), are_both_decided=len(advice) > 1)
        return self.collected(
            summary=text.summary(self.judged, source),
            answer=said.sentence,
            measured=said.measured,
            so=said.so,
            done=text.DONE,
            hero="cliff" if nominal else "",
            live=live.hero(self.options.seed),
            advice=advice,
            source=published.SOURCE,
            source_url=published.SOURCE_URL,
            topologies=[Topology.of("Policed dumbbell", arms.source().experiment())],
            commands=text.commands(),
            notes=text.notes(source.n if source else 0, self.interrupted),
            meta={"experiment": arms.source().experiment().resolved()},
            tables={
                f"nominal-{table}": nominal.named_columns(table)
                for table in ("flows", "queues", "flow_samples", "queue_samples")
            }
            if nominal
            else {},
        )


STUDY: Study = TrafficPolicing
__all__: Sequence[str] = ("STUDY", "TrafficPolicing")
