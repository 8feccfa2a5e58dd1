"""Run replications of cells on one or more backends, and reduce each run to its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dumbbell.backends import Cancellation, run_many
from dumbbell.compare.cells import Cell, FailedCell
from dumbbell.compare.ensemble import Ensemble
from dumbbell.compare.executing import (
    Executor,
    FailedTask,
    FinishedTask,
    ShareDone,
    Task,
    TellDone,
)
from dumbbell.compare.executing.executor import after
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.rows import watched_rows
from dumbbell.compare.summary import Floats, Summary
from dumbbell.errors import DumbbellError
from dumbbell.replication import Progress, ProgressCallback
from dumbbell.replication.engine import ReplicationEngine, Round, StoppingPolicy
from dumbbell.replication.performing import DoneUnit
from dumbbell.stats import StoppingPoint, StoppingRule
from dumbbell.tables import Run

MOST_TASKS = 4096
"""Most tasks given to an executor at a time. Each member of an ensemble has its own description;
those of a hundred thousand runs would take a gigabyte.
"""


@dataclass(frozen=True, slots=True)
class Arm:
    """A cell on a backend.

    Attributes:
        cell: Label of the cell.
        backend: Backend it runs on.
    """

    cell: str
    backend: str


@dataclass(frozen=True)
class Replicates:
    """Summaries of an arm's replications 0 to n - 1.

    Attributes:
        summaries: Summaries ordered by replication.
        stopped_because: Why it stopped, in a sentence; empty if it was interrupted.
        precise: Whether the requested precision was reached; True where none was requested.
        kept: The runs of the first replications, as many as requested.
    """

    summaries: tuple[Summary, ...]
    stopped_because: str = ""
    precise: bool = True
    kept: tuple[Run, ...] = ()

    @property
    def n(self) -> int:
        """Number of replications."""
        return len(self.summaries)

    def values(self, quantity: Quantity) -> Floats:
        """One number per replication, shape (n,); NaN where a run has none."""
        each = [summary.values.get(quantity, np.nan) for summary in self.summaries]
        return np.array(each, dtype=np.float64)


def task_of(cell: Cell, replication: int, backend: str, ensemble: Ensemble | None) -> Task:
    """The task of one replication; with an ensemble, of one of its members."""
    experiment = cell.experiment
    if ensemble is None:
        text = experiment.resolved_json()
    else:
        text = ensemble.member(experiment, replication).text
    return Task(text, replication, backend, cell.label)


@dataclass(frozen=True)
class ReplicatedCells:
    """Result of replicating cells.

    Attributes:
        results: Results of the arms that did not fail and have a replication.
        failed: For each failed arm, its first failure.
        interrupted: Whether it was stopped early.
    """

    results: Mapping[Arm, Replicates]
    failed: Sequence[FailedCell]
    interrupted: bool


def replicate_cells(
    cells: Sequence[Cell],
    backends: Sequence[str],
    rule: StoppingRule,
    *,
    executor: Executor,
    ensemble: Ensemble | None = None,
    keep: int = 0,
    on_progress: ProgressCallback | None = None,
    cancel: Cancellation | None = None,
) -> ReplicatedCells:
    """Run each cell on each backend until it has the requested replications or precision.

    See `compare` for the arguments.

    Raises:
        DumbbellError: A backend can run none of the cells, for example a kernel that has not
            been built.
    """
    arms = {Arm(cell.label, backend): cell for backend in backends for cell in cells}
    running = _Rounds(arms, executor, ensemble, keep, on_progress, cancel)
    failed = dict(running.refused())
    for backend in backends:
        here = [failed.get(arm) for arm in arms if arm.backend == backend]
        if here and here[0] is not None and all(here):
            raise here[0].error
    engine: ReplicationEngine[Arm, Summary, DumbbellError] = ReplicationEngine(
        [arm for arm in arms if arm not in failed],
        StoppingPolicy(rule, _watched, is_joint=False),
        running.run,
        cancel,
    )
    engine.run()
    for (arm, replication), error in sorted(engine.failed, key=lambda each: each[0][1]):
        failed.setdefault(arm, _failed(arms[arm], arm, error, replication))
    found = {}
    for arm in arms:
        if arm not in failed and (summaries := engine.results(arm)):
            kept = tuple(run for runs in engine.kept(arm, len(summaries)) for run in runs)
            found[arm] = _replicates(summaries, engine.stopped.get(arm), kept)
    return ReplicatedCells(
        found,
        [failed[arm] for arm in arms if arm in failed],
        engine.interrupted or (cancel is not None and cancel.is_set()),
    )


@dataclass(frozen=True)
class _Rounds:
    """Runs rounds of replications on an executor."""

    arms: Mapping[Arm, Cell]
    executor: Executor
    ensemble: Ensemble | None
    keep: int
    on_progress: ProgressCallback | None
    cancel: Cancellation | None

    def refused(self) -> Iterator[tuple[Arm, FailedCell]]:
        """The arms that cannot be run at all."""
        for arm, cell in self.arms.items():
            try:
                self.executor.check(self._task(arm, 0))
            except DumbbellError as error:
                yield arm, _failed(cell, arm, error)

    def run(
        self, of: Round[Arm], on_failure: Callable[[int, DumbbellError], None]
    ) -> Iterator[DoneUnit[Summary]]:
        """Run backend by backend, with a bounded number of tasks at a time."""
        backends = list(dict.fromkeys(arm.backend for arm in self.arms))
        ordered = sorted(
            range(len(of.places)), key=lambda place: backends.index(of.places[place][0].backend)
        )
        tell = self._tell(of)
        shares: list[ShareDone] = []
        whole = 0
        for first in range(0, len(ordered), MOST_TASKS):
            some = ordered[first : first + MOST_TASKS]
            try:
                yield from self._run_some(of, some, on_failure, after(tell, first))
                whole += len(some)
            except ShareDone as share:
                shares.append(share)
            if self.cancel is not None and self.cancel.is_set():
                return
        if shares:
            raise ShareDone.of_parts(shares, whole)

    def _run_some(
        self,
        of: Round[Arm],
        some: Sequence[int],
        on_failure: Callable[[int, DumbbellError], None],
        tell: TellDone | None,
    ) -> Iterator[DoneUnit[Summary]]:
        tasks = [self._task(*of.places[place]) for place in some]
        for each in self.executor.run(tasks, cancel=self.cancel, on_progress=tell):
            place, task = some[each.index], tasks[each.index]
            if isinstance(each, FailedTask):
                on_failure(place, each.error)
            else:
                yield DoneUnit(place, each.summary, self._kept(each, task))

    def _kept(self, done: FinishedTask, task: Task) -> tuple[Run, ...]:
        if task.replication >= self.keep:
            return ()
        run = done.run or _run_here(task, self.cancel)
        return () if run is None else (run,)

    def _task(self, arm: Arm, replication: int) -> Task:
        return task_of(self.arms[arm], replication, arm.backend, self.ensemble)

    def _tell(self, of: Round[Arm]) -> TellDone | None:
        show = self.on_progress
        if show is None:
            return None

        def tell(done: float) -> None:
            total = of.known_in_all
            show(Progress("comparison", min(of.done_before + done, total), total, "runs"))

        return tell


def _failed(
    cell: Cell, arm: Arm, error: DumbbellError, replication: int | None = None
) -> FailedCell:
    return FailedCell(
        cell.label, cell.settings, cell.source, error, replication, arm.backend, cell.place
    )


def _replicates(
    summaries: tuple[Summary, ...], point: StoppingPoint | None, kept: tuple[Run, ...]
) -> Replicates:
    if point is None:
        return Replicates(summaries, precise=False, kept=kept)
    return Replicates(summaries, point.reason, point.precise, kept)


def _run_here(task: Task, cancel: Cancellation | None) -> Run | None:
    """Repeat a run here that was made elsewhere; it is identical. None if stopped."""
    again = run_many([(task, task.replication)], backend=task.backend, jobs=1, cancel=cancel)
    return next((run for _, run in again), None)


def _watched(_arm: Arm, summaries: Sequence[Summary]) -> Mapping[str, Floats]:
    """Numbers to which the requested precision applies, by path."""
    return {
        each.path: np.array([summary.values.get(each, np.nan) for summary in summaries])
        for each in watched_rows(summaries[0])
    }
