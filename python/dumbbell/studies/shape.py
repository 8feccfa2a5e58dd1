"""The shape of a study: arms, presets, parts, and what runs them.

A study is a package of

=============  ==========================================================================
``published``  what the source prints, and what it leaves open
``arms``       what is run: an `Arm` by its key, with an experiment and a sentence
``measures``   one frozen dataclass a run is reduced to, and the function that does it
``claims``     the claims with their rules, written before anything runs
``figures``    what is drawn
``text``       what the page says in words; its tables
``__init__``   the `Preset` values, the `Part` classes in their order, and ``STUDY``
=============  ==========================================================================

A part runs its arms with the `Runner`, which gives `Replications` of the dataclass, and judges
what it found; a later part is given the earlier ones that it needs and reads their ``found``::

    class Nominal(Part[Replications[str, Pings]]):
        name = "nominal load"

        def __init__(self, preset: Preset) -> None:
            self.preset = preset

        def run(self, runner: Runner) -> Replications[str, Pings]:
            arms = arms_as_published(runner.seed)
            return runner.replicate(arms, pings, self.preset.nominal, task=self.name)

        def judge(self, found: Replications[str, Pings]) -> Iterable[Judged]:
            return claims.as_published(found)

A measure that needs what the run was asked to do reads the description with types:
``resolved_of(run).queue("router->server").limit_bytes`` (`dumbbell.metrics.path`). Cells of tables
are estimates, numbers or words (`dumbbell.report.Cell`), never numbers made text.

Whatever is asked for (``--replications``, ``--precision``, threads, cancellation) the runner
applies. Stopped early, a study reports on the parts that had finished.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from dumbbell.claims import Judged
from dumbbell.errors import RunError
from dumbbell.replication import Interrupted, Quantity, Replications, replicate_groups
from dumbbell.replication.performing import SingleRunUnit
from dumbbell.report import Figure, LoadRow, ValueTable
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.tables import Run

LEAST_REPLICATIONS = 2
"""Of which an interval can be made."""
ON_KERNEL = ", Linux kernel"
"""What the progress of a task says of runs on the kernel."""

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
R = TypeVar("R")
D = TypeVar("D")
T = TypeVar("T")


@dataclass(frozen=True)
class Arm(Generic[A]):
    """One of the things compared.

    Attributes:
        key: A name, or a value that says what was set; what `Replications` tells arms apart by.
        experiment: What is run.
        what: What a reader calls it.
    """

    key: A
    experiment: Experiment
    what: str


@dataclass(frozen=True)
class Amount(Generic[T]):
    """How much of one part is run.

    Attributes:
        runs: Replications, before a precision is looked at.
        length_s: Of a run; None where the study has one length only.
        at_most: Replications after which to stop anyhow; ``runs`` when None.
        precision: Relative half-width of means to reach; None runs ``runs``.
        over: What is run, such as the settings or loads of a sweep.
    """

    runs: int
    length_s: float | None = None
    at_most: int | None = None
    precision: float | None = None
    over: tuple[T, ...] = ()

    def is_first_of(self, full: Amount[T]) -> bool:
        """Whether it runs some of what ``full`` does: fewer arms or replications, no shorter."""
        return (
            self.length_s == full.length_s
            and self.runs <= full.runs
            and (self.at_most or self.runs) <= (full.at_most or full.runs)
            and set(self.over) <= set(full.over)
        )


@dataclass(frozen=True, slots=True)
class Preset:
    """How much a study runs: a field of type `Amount` for each part; None leaves a part out."""

    def amounts(self) -> dict[str, Amount[Any]]:
        """Part to how much of it, of those that are run."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: each for name, each in found.items() if isinstance(each, Amount)}


P = TypeVar("P", bound=Preset)


@dataclass(frozen=True)
class Presets(Generic[P]):
    """What ``--quick`` runs, and what is run without it.

    Quick judges fewer things, each at full length and with the first of full's seeds: what it
    decides, full decides alike up to the stated error rate. A shorter run is a preview and decides
    nothing, so there is no preset of shorter runs.

    Attributes:
        quick: Ends within 90 s on two cores.
        full: Everything.
    """

    quick: P
    full: P

    def __post_init__(self) -> None:
        """Refuse a quick preset that would run what full does not.

        Raises:
            ValueError: A part is not in full, is of another length, or runs more.
        """
        full = self.full.amounts()
        for name, amount in self.quick.amounts().items():
            if name not in full or not amount.is_first_of(full[name]):
                raise ValueError(f"quick's {name} is no first part of full's: {amount}")

    def of(self, options: StudyOptions) -> P:
        """The one that is asked for."""
        return self.quick if options.quick else self.full


def nothing_of(run: Run) -> None:
    """What a run is reduced to that is itself shown, and says nothing else."""


class Runner:
    """Runs arms as the options say.

    Attributes:
        options: What was asked for.
        interrupted: Whether it was stopped; no further part is begun then.
    """

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet."""
        self.options = options
        self.interrupted = False

    @property
    def seed(self) -> int:
        """All randomness follows from it."""
        return self.options.seed

    def replicate(
        self,
        arms: Mapping[A, Experiment] | Iterable[Arm[A]],
        reduce: Callable[[Run], R],
        amount: Amount[Any],
        *,
        task: str,
        **more: Any,
    ) -> Replications[A, R]:
        """Replications of arms, each run reduced; see `dumbbell.replication.replicate`.

        Args:
            arms: What is run.
            reduce: From a run to what is kept of it: a function of a module, or a partial of one
                with values, whose results a store can keep.
            amount: How much; ``--replications`` and ``--precision`` go before it.
            task: Name in the progress.
            **more: As `replicate_groups`.
        """
        experiments = arms if isinstance(arms, Mapping) else {a.key: a.experiment for a in arms}
        return self.replicate_groups(
            {arm: {arm: each} for arm, each in experiments.items()},
            SingleRunUnit(reduce),
            amount,
            task=task,
            **more,
        )

    def replicate_groups(
        self,
        groups: Mapping[A, Mapping[B, Experiment]],
        reduce: Callable[[Mapping[B, Run]], R],
        amount: Amount[Any],
        *,
        task: str,
        backend: str = "sim",
        complete: bool = False,
        fixed: bool = False,
        precision_of: Sequence[Quantity[R]] = (None,),
        batch: int | None = None,
        keep: int = 0,
    ) -> Replications[A, R]:
        """As `replicate`, where the runs of several experiments are reduced together.

        Args:
            groups: Arm to its experiments.
            reduce: From the runs of one replication of one arm to what is kept of them.
            amount: How much.
            task: Name in the progress.
            backend: Where.
            complete: Whether all of them are needed; else two will do when it is stopped.
            fixed: Whether it is run so often whatever ``--replications`` says, as where nothing
                is random and every member of an ensemble is an arm.
            precision_of: Quantities that must be precise, where a precision is asked for.
            batch: Replications between looks at the precision.
            keep: Keep the runs of this number of replications.

        Raises:
            Interrupted: It was stopped too early to conclude anything.
            RunError: A replication failed.
        """
        options = self.options
        asked = None if fixed else options.replications
        precision = amount.precision and (options.precision or amount.precision)
        what = f"{task}{ON_KERNEL if backend == 'kernel' else ''}"
        done = replicate_groups(
            groups,
            reduce,
            at_least=asked or amount.runs,
            at_most=asked or amount.at_most,
            batch=batch,
            precision=precision,
            precision_of=precision_of,
            jobs=options.jobs,
            memory_bytes=options.memory_bytes,
            performer=options.performer,
            backend=backend,
            keep=keep,
            task=what,
            on_progress=options.on_progress,
            cancel=options.cancel,
        )
        if done.failed:
            raise RunError(f"{what}: {done.stopped_because}")
        self.interrupted |= done.interrupted
        least = min(LEAST_REPLICATIONS, amount.runs)
        if done.interrupted and (complete or done.n < least):
            raise Interrupted(f"{what}: {done.stopped_because}")
        return done


class Part(ABC, Generic[D]):
    """One part of a study: what it runs, what it claims, what it shows.

    Its methods are given what `run` returned, the moment it is there; a part that needs an earlier
    one is constructed with it and reads its `found`.

    Attributes:
        name: What progress and errors call it.
    """

    name: str
    _found: D | None = None

    @abstractmethod
    def run(self, runner: Runner) -> D:
        """Run it.

        Raises:
            Interrupted: It was stopped too early: there is no such part then.
            RunError: A replication failed.
        """

    def judge(self, found: D) -> Iterable[Judged]:
        """Its claims with their verdicts."""
        return ()

    def tables(self, found: D) -> Iterable[ValueTable]:
        """Its tables of values."""
        return ()

    def figures(self, found: D) -> Iterable[Figure]:
        """Its figures."""
        return ()

    def loads(self, found: D) -> Iterable[LoadRow]:
        """Load asked for beside load measured."""
        return ()

    def runs(self, found: D) -> Mapping[str, Run]:
        """Label to first run, of which the report keeps digests and versions."""
        return {}

    def on_kernel(self) -> Iterable[Experiment]:
        """What it would ask the kernel to run; looked at before anything is run anywhere."""
        return ()

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run; asked when the parts before it have ended."""
        return "sim" in options.backends

    @property
    def is_finished(self) -> bool:
        """Whether it was run."""
        return self._found is not None

    @property
    def found(self) -> D:
        """What it found.

        Raises:
            RuntimeError: It has not been run: a fault of the study.
        """
        if self._found is None:
            raise RuntimeError(f"{self.name} has not been run")
        return self._found

    def finish(self, runner: Runner) -> D:
        """Run it and keep what it found."""
        self._found = self.run(runner)
        return self._found
