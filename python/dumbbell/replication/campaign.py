"""Running replications until a precision is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Generic, Required, TypedDict, TypeVar, Unpack

import numpy as np

from dumbbell.backends import Cancellation, Failure
from dumbbell.errors import SpecError
from dumbbell.replication.engine import ReplicationEngine, Round, StoppingPolicy
from dumbbell.replication.performing import (
    DoneUnit,
    Performer,
    SingleRunUnit,
    ThisProcess,
    Unit,
    Work,
)
from dumbbell.replication.progress import Progress, ProgressCallback
from dumbbell.replication.replications import (
    A,
    Floats,
    Quantity,
    R,
    Replications,
    name_of,
    value_of,
)
from dumbbell.spec import Experiment
from dumbbell.stats import StoppingRule, student_interval
from dumbbell.tables import Run

B = TypeVar("B", bound=Hashable)


class ReplicateOptions(TypedDict, Generic[R], total=False):
    """Options of `replicate`, which documents them."""

    at_least: Required[int]
    at_most: int | None
    batch: int | None
    precision: float | None
    precision_of: Sequence[Quantity[R]]
    level: float
    jobs: int
    memory_bytes: int | None
    performer: Performer | None
    backend: str
    seed: int | None
    keep: int
    task: str
    on_progress: ProgressCallback | None
    cancel: Cancellation | None


def replicate(
    arms: Mapping[A, Experiment],
    reduce: Callable[[Run], R],
    *,
    at_least: int,
    at_most: int | None = None,
    batch: int | None = None,
    precision: float | None = None,
    precision_of: Sequence[Quantity[R]] = (None,),
    level: float = 0.95,
    jobs: int = 0,
    memory_bytes: int | None = None,
    performer: Performer | None = None,
    backend: str = "sim",
    seed: int | None = None,
    keep: int = 0,
    task: str = "replications",
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> Replications[A, R]:
    """Run replications of all arms, a fixed number or until a precision is reached.

    Args:
        arms: Key to experiment; flows of the same name see the same random numbers in all.
        reduce: Reduces a run to the result to keep, a number or a value of any type; pure, called
            in the order in which runs end. The run is freed afterwards, so memory grows only with
            the results.
        at_least: Replications before the precision is first tested.
        at_most: Maximum number of replications; ``at_least`` if None.
        batch: Replications between tests; ``at_least`` if None.
        precision: Relative half-width of the interval of the mean to reach (0.01 is 1 %); None
            runs ``at_least``.
        precision_of: Quantities of a result that must reach the precision in every arm; by default
            the result itself, which must then be a number.
        level: Level of that interval.
        jobs: Threads; 0 for one per core.
        memory_bytes: Memory limit of all runs together; None for the free memory.
        performer: Performer of the runs; None for threads of this process (``jobs``,
            ``memory_bytes``).
        backend: Backend of the runs.
        seed: Replaces the arms' seeds if given.
        keep: Keep the runs of this number of replications.
        task: Name in the progress.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second and keep the finished replications.

    Returns:
        Results of replications 0, 1, ... without gaps.

    Raises:
        SpecError: An arm is invalid, would not fit in memory or would take days.
        StatsError: The counts or the precision are invalid.
        DumbbellError: There is no such quantity.
        KeyboardInterrupt: After Ctrl-C; with ``cancel`` what has finished can be had instead.
    """
    return replicate_groups(
        {arm: {arm: experiment} for arm, experiment in arms.items()},
        SingleRunUnit(reduce),
        at_least=at_least,
        at_most=at_most,
        batch=batch,
        precision=precision,
        precision_of=precision_of,
        level=level,
        jobs=jobs,
        memory_bytes=memory_bytes,
        performer=performer,
        backend=backend,
        seed=seed,
        keep=keep,
        task=task,
        on_progress=on_progress,
        cancel=cancel,
    )


def replicate_groups(
    groups: Mapping[A, Mapping[B, Experiment]],
    reduce: Callable[[Mapping[B, Run]], R],
    **options: Unpack[ReplicateOptions[R]],
) -> Replications[A, R]:
    """Like `replicate`, for arms of several experiments whose runs are reduced together.

    For results that need several runs at once and whose inputs would be large to keep, such as the
    crossings of the CDFs of their flows.

    Args:
        groups: The experiments of each arm, by key.
        reduce: Reduces the runs of one replication of an arm to the result to keep.
        **options: As for `replicate`.
    """
    if not all(groups.values()) or not groups:
        raise SpecError("arms", "none", "at least one experiment")
    at_least, precision = options["at_least"], options.get("precision")
    at_most = options.get("at_most")
    rule = StoppingRule(
        at_least=at_least,
        at_most=at_least if at_most is None or precision is None else at_most,
        batch=options.get("batch") or at_least,
        relative_half_width=precision,
        level=options.get("level", 0.95),
    )
    seed = options.get("seed")
    if seed is not None:
        groups = {
            arm: {key: each.with_seed(seed) for key, each in group.items()}
            for arm, group in groups.items()
        }
    backend = options.get("backend", "sim")
    performer = options.get("performer")
    if performer is None:
        performer = ThisProcess(options.get("jobs", 0), options.get("memory_bytes"))
    experiments = (each for group in groups.values() for each in group.values())
    performer.check(experiments, backend)
    return _Campaign(groups, reduce, rule, options, backend=backend, performer=performer).run()


class _Campaign(Generic[A, B, R]):
    """Replications of groups by a performer: all arms have the same number of them."""

    def __init__(
        self,
        groups: Mapping[A, Mapping[B, Experiment]],
        reduce: Callable[[Mapping[B, Run]], R],
        rule: StoppingRule,
        options: ReplicateOptions[R],
        *,
        backend: str,
        performer: Performer,
    ) -> None:
        self._groups = groups
        self._reduce = reduce
        self._rule = rule
        self._watched = options.get("precision_of", (None,)) if rule.relative_half_width else ()
        self._keep = options.get("keep", 0)
        self._task = options.get("task", "replications")
        self._on_progress = options.get("on_progress")
        self._cancel = options.get("cancel")
        self._backend = backend
        self._performer = performer
        self._engine: ReplicationEngine[A, R, Failure] = ReplicationEngine(
            list(groups),
            StoppingPolicy(rule, self._watched_values, is_joint=True),
            self._run_round,
            self._cancel,
        )

    def run(self) -> Replications[A, R]:
        engine = self._engine
        engine.run()
        results = {arm: engine.results(arm) for arm in self._groups}
        n = min(map(len, results.values()))
        point = next(iter(engine.stopped.values()), None)
        failed = sorted((why for _, why in engine.failed), key=lambda why: why.replication)
        if failed:
            because = f"replication {failed[0].replication} failed: {failed[0].message}"
        elif point is not None:
            because = point.reason
        else:
            because = f"interrupted after {n} replications"
        return Replications(
            results={arm: each[:n] for arm, each in results.items()},
            n=n,
            stopped_because=because,
            kept={arm: engine.kept(arm, n) for arm in self._groups},
            precise=point is not None and point.precise,
            interrupted=engine.interrupted,
            failed=tuple(failed),
        )

    def _run_round(
        self, of: Round[A], on_failure: Callable[[int, Failure], None]
    ) -> Iterator[DoneUnit[R]]:
        in_one = sum(map(len, self._groups.values()))
        reached = self._precision_reached()

        def tell(runs: float) -> None:
            if self._on_progress is not None:
                done = of.begun + runs / in_one
                self._on_progress(Progress(self._task, done, of.look, detail=reached))

        return self._performer.perform(
            Work(
                [Unit(self._groups[arm], replication) for arm, replication in of.places],
                self._reduce,
                backend=self._backend,
                task=self._task,
                keep=self._keep,
                cancel=self._cancel,
                on_progress=tell,
                on_failure=lambda failure: on_failure(failure.index, failure),
            )
        )

    def _watched_values(self, arm: A, results: Sequence[R]) -> dict[str, Floats]:
        """The quantities that must be precise, by their names in messages."""
        return {
            f"{name_of(quantity)} of {arm}": np.array(
                [value_of(each, quantity) for each in results], dtype=np.float64
            )
            for quantity in self._watched
        }

    def _precision_reached(self) -> str:
        """The worst relative half-width so far, in words."""
        asked = self._rule.relative_half_width
        widths = [
            student_interval(each, self._rule.level).relative_half_width
            for arm in self._groups
            for each in self._watched_values(arm, self._engine.results(arm)).values()
            if len(each) > 1 and np.isfinite(each).all()
        ]
        if asked is None or not widths:
            return ""
        return f"±{100 * max(widths):.2g} %, asked for ±{100 * asked:.2g} %"
