"""Replications of cells on one or several backends, each run reduced to its summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

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
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.rows import watched_rows
from dumbbell.compare.summary import Floats, Summary
from dumbbell.errors import DumbbellError
from dumbbell.replication import Progress, ProgressCallback
from dumbbell.stats import StoppingPoint, StoppingRule
from dumbbell.tables import Run

MOST_TASKS = 4096
"""Given to an executor at a time: each member of an ensemble is a description of its own, and
those of a hundred thousand runs would take a gigabyte."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A cell on a backend.

    Attributes:
        cell: Its label.
        backend: Where it runs.
    """

    cell: str
    backend: str


@dataclass(frozen=True)
class Replicates:
    """Summaries of an arm's replications 0 to n - 1.

    Attributes:
        summaries: In order of the replications.
        stopped_because: A sentence; empty where somebody stopped it.
        precise: Whether the precision that was asked for was reached; True where none was.
        kept: The runs of the first replications, as many as were asked for.
    """

    summaries: tuple[Summary, ...]
    stopped_because: str = ""
    precise: bool = True
    kept: tuple[Run, ...] = ()

    @property
    def n(self) -> int:
        """How many."""
        return len(self.summaries)

    def values(self, quantity: Quantity) -> Floats:
        """A number of each replication, shape (n,); NaN where a run has none."""
        each = [summary.values.get(quantity, np.nan) for summary in self.summaries]
        return np.array(each, dtype=np.float64)


def task_of(cell: Cell, replication: int, backend: str, ensemble: Ensemble | None) -> Task:
    """A replication of a cell on a backend; of an ensemble a member of it."""
    experiment = cell.experiment
    if ensemble is None:
        text = experiment.resolved_json()
    else:
        text = ensemble.member(experiment, replication).text
    return Task(text, replication, backend, cell.label)


@dataclass
class _Arm:
    """An arm under way."""

    arm: Arm
    cell: Cell
    summaries: dict[int, Summary] = field(default_factory=dict)
    kept: dict[int, Run] = field(default_factory=dict)
    ended: StoppingPoint | None = None
    failed: FailedCell | None = None

    @property
    def is_open(self) -> bool:
        return self.ended is None and self.failed is None

    def prefix(self) -> tuple[Summary, ...]:
        """What is there without a gap."""
        found: list[Summary] = []
        while len(found) in self.summaries:
            found.append(self.summaries[len(found)])
        return tuple(found)

    def fail(self, error: DumbbellError, replication: int | None = None) -> None:
        """Of several failures the first in order of the replications counts."""
        earlier = self.failed
        if earlier is not None and (earlier.replication or 0) <= (replication or 0):
            return
        cell = self.cell
        self.failed = FailedCell(
            cell.label,
            cell.settings,
            cell.source,
            error,
            replication,
            self.arm.backend,
            cell.place,
        )


class Replicating:
    """Runs arms until each has as many replications, or is as precise, as was asked for."""

    def __init__(
        self,
        cells: Sequence[Cell],
        backends: Sequence[str],
        rule: StoppingRule,
        *,
        executor: Executor,
        ensemble: Ensemble | None = None,
        keep: int = 0,
        on_progress: ProgressCallback | None = None,
        cancel: Cancellation | None = None,
    ) -> None:
        """See `compare`."""
        self._arms = [
            _Arm(Arm(cell.label, backend), cell) for backend in backends for cell in cells
        ]
        self._backends = list(backends)
        self._rule = rule
        self._executor = executor
        self._ensemble = ensemble
        self._keep = keep
        self._on_progress = on_progress
        self._cancel = cancel
        self._done = 0
        self.interrupted = False

    def run(self) -> None:
        """Do it; what came of it is in `results` and `failed`.

        Raises:
            DumbbellError: A backend can run none of the cells, for example a kernel that has not
                been built.
        """
        for arm in self._arms:
            self._check(arm)
        for backend in dict.fromkeys(arm.arm.backend for arm in self._arms):
            failed = [arm.failed for arm in self._arms if arm.arm.backend == backend]
            if failed[0] is not None and all(failed):
                raise failed[0].error
        begun = 0
        while (look := self._rule.next_look(begun)) is not None:
            open_arms = [arm for arm in self._arms if arm.is_open]
            self._run(open_arms, begun, look)
            if self._is_cancelled or self.interrupted:
                self.interrupted = True
                return
            for arm in open_arms:
                if arm.failed is None:
                    arm.ended = self._rule.stopping_point(_watched(arm.prefix()))
            if not any(arm.is_open for arm in self._arms):
                return
            begun = look

    @property
    def results(self) -> dict[Arm, Replicates]:
        """Of the arms that did not fail and have a replication."""
        found: dict[Arm, Replicates] = {}
        for each in self._arms:
            summaries = each.prefix()
            if each.failed is None and summaries:
                kept = tuple(each.kept[i] for i in range(len(summaries)) if i in each.kept)
                point = each.ended
                found[each.arm] = Replicates(
                    summaries,
                    stopped_because="" if point is None else point.reason,
                    precise=point is not None and point.precise,
                    kept=kept,
                )
        return found

    @property
    def failed(self) -> list[FailedCell]:
        """Of the arms that did."""
        return [arm.failed for arm in self._arms if arm.failed is not None]

    @property
    def _is_cancelled(self) -> bool:
        return self._cancel is not None and self._cancel.is_set()

    def _check(self, arm: _Arm) -> None:
        """Whether it can be run at all: before any is, and each for itself."""
        try:
            self._executor.check(self._task(arm, 0))
        except DumbbellError as error:
            arm.fail(error)

    def _task(self, arm: _Arm, replication: int) -> Task:
        return task_of(arm.cell, replication, arm.arm.backend, self._ensemble)

    def _run(self, arms: Sequence[_Arm], begun: int, look: int) -> None:
        # Replication after replication, so that what was stopped has pairs.
        places = [(arm, replication) for replication in range(begun, look) for arm in arms]
        places.sort(key=lambda place: self._backends.index(place[0].arm.backend))
        shares: list[ShareDone] = []
        whole = 0
        for first in range(0, len(places), MOST_TASKS):
            some = places[first : first + MOST_TASKS]
            try:
                self._run_some(some, look)
                whole += len(some)
            except ShareDone as share:
                shares.append(share)
            if self._is_cancelled or self.interrupted:
                return
        if shares:
            raise ShareDone.of_parts(shares, whole)

    def _run_some(self, places: Sequence[tuple[_Arm, int]], look: int) -> None:
        tasks = [self._task(arm, replication) for arm, replication in places]
        done = self._executor.run(tasks, cancel=self._cancel, on_progress=self._tell(look))
        try:
            for each in done:
                self._take(each, tasks[each.index], *places[each.index])
        finally:
            self._done += len(places)

    def _take(
        self, each: FinishedTask | FailedTask, task: Task, arm: _Arm, replication: int
    ) -> None:
        if isinstance(each, FailedTask):
            arm.fail(each.error, replication)
            return
        arm.summaries[replication] = each.summary
        if replication < self._keep:
            run = each.run or _run_here(task, self._cancel)
            if run is not None:
                arm.kept[replication] = run

    def _tell(self, look: int) -> TellDone | None:
        show, begun = self._on_progress, self._done
        if show is None:
            return None
        # As far as is known: an arm that is not precise then goes on.
        ended = [arm.ended for arm in self._arms if arm.failed is None]
        total = sum(look if point is None else point.n for point in ended)

        def tell(done: float) -> None:
            show(Progress("comparison", min(begun + done, total), total, "runs"))

        return tell


def _run_here(task: Task, cancel: Cancellation | None) -> Run | None:
    """What was run elsewhere, once more: it is the same to the byte. None where it was stopped."""
    again = run_many([(task, task.replication)], backend=task.backend, jobs=1, cancel=cancel)
    return next((run for _, run in again), None)


def _watched(summaries: Sequence[Summary]) -> Mapping[str, Floats]:
    """What a precision is asked of, by path."""
    if not summaries:
        return {"": np.zeros(0)}
    rows = watched_rows(summaries[0])
    return {
        each.path: np.array([summary.values.get(each, np.nan) for summary in summaries])
        for each in rows
    } or {"": np.zeros(len(summaries))}
