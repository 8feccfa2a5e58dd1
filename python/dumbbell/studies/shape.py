"""The shape of a study: arms, presets, parts, and what runs them.

A study is a package of

=============  ==========================================================================
``published``  numbers of the source, and parameters that it does not give
``arms``       the arms: an `Arm` by its key, with an experiment and a sentence
``measures``   one frozen dataclass a run is reduced to, and the function that does it
``claims``     the claims with their rules, written before anything runs
``figures``    the figures
``text``       texts and tables of the page
``__init__``   the `Preset` values, the `Part` classes in their order, and ``STUDY``
=============  ==========================================================================

A part runs its arms with the `Runner`, which returns `Replications` of the dataclass, and judges
the results. A later part gets the earlier parts that it needs and reads their ``found``::

    class Nominal(Part[Replications[str, Pings]]):
        name = "nominal load"

        def __init__(self, preset: Preset) -> None:
            self.preset = preset

        def run(self, runner: Runner) -> Replications[str, Pings]:
            arms = arms_as_published(runner.seed)
            return runner.replicate(arms, pings, self.preset.nominal, task=self.name)

        def judge(self, found: Replications[str, Pings]) -> Iterable[Judged]:
            return claims.as_published(found)

A measure that needs the description reads it with types:
``resolved_of(run).queue("router->server").limit_bytes`` (`dumbbell.metrics.path`). Cells of tables
are estimates, numbers or words (`dumbbell.report.Cell`), never numbers made text.

The runner applies the options (``--replications``, ``--precision``, threads, cancellation). A study
that is stopped early reports on the finished parts.
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
"""Minimum number of replications for an interval."""
ON_KERNEL = ", Linux kernel"
"""Suffix of the task name in the progress of runs on the kernel."""

A = TypeVar("A", bound=Hashable)
B = TypeVar("B", bound=Hashable)
R = TypeVar("R")
D = TypeVar("D")
T = TypeVar("T")


@dataclass(frozen=True)
class Arm(Generic[A]):
    """One of the compared experiments.

    Attributes:
        key: A name, or a value with its settings; the key in `Replications`.
        experiment: The experiment.
        what: Its name for readers.
    """

    key: A
    experiment: Experiment
    what: str


@dataclass(frozen=True)
class Amount(Generic[T]):
    """The amount of one part.

    Attributes:
        runs: Replications before a precision is tested.
        length_s: Duration of a run; None if the study has only one.
        at_most: Maximum number of replications; ``runs`` if None.
        precision: Relative half-width of means to reach; None for ``runs`` replications.
        over: The settings, such as the loads of a sweep.
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
    """The amounts of a study: a field of type `Amount` for each part; None omits a part."""

    def amounts(self) -> dict[str, Amount[Any]]:
        """Amounts by part, of the parts that are run."""
        found = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: each for name, each in found.items() if isinstance(each, Amount)}


P = TypeVar("P", bound=Preset)


@dataclass(frozen=True)
class Presets(Generic[P]):
    """The presets with and without ``--quick``.

    Quick judges fewer claims, each at full length and with the first seeds of full: full gives the
    same verdicts up to the stated error rate. A shorter run is a preview without a verdict, so
    there is no preset of shorter runs.

    Attributes:
        quick: The preset that ends within 90 s on two cores.
        full: The complete study.
    """

    quick: P
    full: P

    def __post_init__(self) -> None:
        """Refuse a quick preset that is not a subset of full.

        Raises:
            ValueError: A part is not in full, has another duration, or more replications.
        """
        full = self.full.amounts()
        for name, amount in self.quick.amounts().items():
            if name not in full or not amount.is_first_of(full[name]):
                raise ValueError(f"quick's {name} is no first part of full's: {amount}")

    def of(self, options: StudyOptions) -> P:
        """The requested preset."""
        return self.quick if options.quick else self.full


def nothing_of(run: Run) -> None:
    """The reduction of a run that is only shown."""


class Runner:
    """Runs arms by the options.

    Attributes:
        options: What was asked for.
        interrupted: Whether it was stopped; then no further part is started.
    """

    def __init__(self, options: StudyOptions) -> None:
        """Nothing is run yet."""
        self.options = options
        self.interrupted = False

    @property
    def seed(self) -> int:
        """Seed of all random streams."""
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
            arms: The arms.
            reduce: Reduces a run to the result to keep: a module-level function, or a partial of
                one, so that the result can be stored.
            amount: The amount; ``--replications`` and ``--precision`` override it.
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
        """Like `replicate`, for several experiments whose runs are reduced together.

        Args:
            groups: The experiments of each arm.
            reduce: Reduces the runs of one replication of an arm to the result to keep.
            amount: The amount.
            task: Name in the progress.
            backend: The backend.
            complete: Whether all replications are needed; otherwise two suffice after an
                interruption.
            fixed: Whether ``--replications`` is ignored, as in an experiment without randomness
                whose ensemble members are arms.
            precision_of: Quantities that must reach a requested precision.
            batch: Replications between tests of the precision.
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
    """One part of a study: its runs, claims, tables and figures.

    Its methods get the result of `run`. A part that needs an earlier one gets it in its constructor
    and reads its `found`.

    Attributes:
        name: Its name in progress and error messages.
    """

    name: str
    _found: D | None = None

    @abstractmethod
    def run(self, runner: Runner) -> D:
        """Run it.

        Raises:
            Interrupted: It was stopped too early; the part is omitted.
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
        """Nominal and measured load."""
        return ()

    def runs(self, found: D) -> Mapping[str, Run]:
        """First runs by label, of which the report has digests and versions."""
        return {}

    def on_kernel(self) -> Iterable[Experiment]:
        """Experiments for the kernel, checked before anything is run."""
        return ()

    def is_wanted(self, options: StudyOptions) -> bool:
        """Whether it is run; called when the earlier parts have ended."""
        return "sim" in options.backends

    @property
    def is_finished(self) -> bool:
        """Whether it was run."""
        return self._found is not None

    @property
    def found(self) -> D:
        """Its result.

        Raises:
            RuntimeError: It has not been run, an error in the study.
        """
        if self._found is None:
            raise RuntimeError(f"{self.name} has not been run")
        return self._found

    def finish(self, runner: Runner) -> D:
        """Run it and store its result in `found`."""
        self._found = self.run(runner)
        return self._found
