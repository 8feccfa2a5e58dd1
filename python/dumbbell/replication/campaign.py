"""Runs replications until they are precise enough, or somebody stops them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Generic, Required, TypedDict, TypeVar, Unpack

import numpy as np

from dumbbell.backends import Cancellation, Failure
from dumbbell.errors import SpecError
from dumbbell.replication.performing import Performer, SingleRunUnit, ThisProcess, Unit, Work
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
    """What `replicate` takes besides arms and what to make of their runs; it says what each is."""

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
    """Run replications of all arms until a precision is reached, or as many as asked for.

    Args:
        arms: Key to experiment; flows of the same name see the same random numbers in all.
        reduce: From a run to what shall be kept of it, a number or a value of any type; pure,
            called in the order in which runs end. The run is let go of afterwards, so memory
            grows with what is kept and not with runs.
        at_least: Replications before the precision is looked at.
        at_most: Replications after which to stop anyhow; ``at_least`` when None.
        batch: Replications between looks; ``at_least`` when None.
        precision: Relative half-width of the interval of the mean to reach (0.01 is 1 %); None
            runs ``at_least``.
        precision_of: Quantities of a result that must be so precise, in every arm; as it stands
            the result itself, which must then be a number.
        level: Level of that interval.
        jobs: Threads; 0 for one a core.
        memory_bytes: What runs may use together, at most; None for what is free.
        performer: Who does the runs; None for threads of this process (``jobs``, ``memory_bytes``).
        backend: Where.
        seed: Replaces the arms' own when given.
        keep: Keep the runs of this number of replications.
        task: Name in the progress.
        on_progress: Called about ten times a second.
        cancel: Set it to stop within a second and keep the finished replications.

    Returns:
        Results of replications 0, 1, ... without gaps.

    Raises:
        SpecError: An arm is not allowed, would not fit in memory or would take days.
        StatsError: The counts or the precision make no rule.
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
    """As `replicate`, where an arm is several experiments whose runs are reduced together.

    For what is made of two runs at once and would be large to keep, such as where the distribution
    functions of their flows cross.

    Args:
        groups: Arm to its experiments by key.
        reduce: From the runs of one replication of one arm to what shall be kept of them.
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
    return _Campaign(groups, reduce, rule, options).run(backend, performer)


class _Campaign(Generic[A, B, R]):
    """Replications under way."""

    def __init__(
        self,
        groups: Mapping[A, Mapping[B, Experiment]],
        reduce: Callable[[Mapping[B, Run]], R],
        rule: StoppingRule,
        options: ReplicateOptions[R],
    ) -> None:
        self._groups = groups
        self._reduce = reduce
        self._rule = rule
        self._watched = options.get("precision_of", (None,)) if rule.relative_half_width else ()
        self._keep = options.get("keep", 0)
        self._task = options.get("task", "replications")
        self._on_progress = options.get("on_progress")
        self._cancel = options.get("cancel")
        self._arms = list(groups)
        self._results: dict[int, dict[A, R]] = {}
        self._kept: dict[A, dict[int, tuple[Run, ...]]] = {arm: {} for arm in groups}
        self._failed: list[Failure] = []
        self._reached = ""

    def run(self, backend: str, performer: Performer) -> Replications[A, R]:
        begun = 0
        while (look := self._rule.next_look(begun)) is not None:
            if self._cancel is not None and self._cancel.is_set():
                return self._result("", interrupted=True)
            self._run_up_to(begun, look, backend, performer)
            begun = look
            if self._failed:
                first = min(self._failed, key=lambda failure: failure.replication)
                return self._result(f"replication {first.replication} failed: {first.message}")
            if self._prefix() < look:
                return self._result("", interrupted=True)
            # Without a precision the rule only counts.
            point = self._rule.stopping_point(self._watched_values() or np.zeros(look))
            if point is not None:
                return self._result(point.reason, precise=point.precise)
            self._reached = self._precision_reached()
        raise AssertionError("a stopping rule ends at its last look")

    def _run_up_to(self, begun: int, look: int, backend: str, performer: Performer) -> None:
        in_one = sum(map(len, self._groups.values()))

        def tell(runs: float) -> None:
            if self._on_progress is not None:
                done = begun + runs / in_one
                self._on_progress(Progress(self._task, done, look, detail=self._reached))

        work = Work(
            # Replication after replication, so that what was stopped has pairs.
            [Unit(self._groups[arm], i) for i in range(begun, look) for arm in self._arms],
            self._reduce,
            backend=backend,
            task=self._task,
            keep=self._keep,
            cancel=self._cancel,
            on_progress=tell,
            on_failure=self._failed.append,
        )
        for done in performer.perform(work):
            replication, arm = work.units[done.index].replication, done.index % len(self._arms)
            self._results.setdefault(replication, {})[self._arms[arm]] = done.result
            if replication < self._keep:
                self._kept[self._arms[arm]][replication] = done.runs

    def _prefix(self) -> int:
        """How many replications are there without a gap."""
        n = 0
        while len(self._results.get(n, ())) == len(self._groups):
            n += 1
        return n

    def _watched_values(self) -> dict[str, Floats]:
        """What must be precise, by the name that a sentence calls it."""
        n = self._prefix()
        return {
            f"{name_of(quantity)} of {arm}": np.array(
                [value_of(self._results[i][arm], quantity) for i in range(n)], dtype=np.float64
            )
            for arm in self._groups
            for quantity in self._watched
        }

    def _precision_reached(self) -> str:
        """The worst relative half-width so far, in words."""
        asked = self._rule.relative_half_width
        widths = [
            student_interval(each, self._rule.level).relative_half_width
            for each in self._watched_values().values()
            if len(each) > 1 and np.isfinite(each).all()
        ]
        if asked is None or not widths:
            return ""
        return f"±{100 * max(widths):.2g} %, asked for ±{100 * asked:.2g} %"

    def _result(
        self, because: str, *, precise: bool = False, interrupted: bool = False
    ) -> Replications[A, R]:
        n = self._prefix()
        kept = range(min(n, self._keep))
        return Replications(
            results={arm: tuple(self._results[i][arm] for i in range(n)) for arm in self._groups},
            n=n,
            stopped_because=f"interrupted after {n} replications" if interrupted else because,
            kept={arm: tuple(self._kept[arm][i] for i in kept) for arm in self._groups},
            precise=precise,
            interrupted=interrupted,
            failed=tuple(sorted(self._failed, key=lambda failure: failure.replication)),
        )
