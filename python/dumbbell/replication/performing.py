"""Performers: a `Performer` runs `Unit`s and yields their results.

Results do not depend on the performer.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from dumbbell.backends import BatchProgress, Cancellation, Failure, run_many, threads_for
from dumbbell.spec import Experiment
from dumbbell.tables import Run

R = TypeVar("R")
Reduce: TypeAlias = Callable[[Mapping[Any, Run]], R]
"""Reduces the runs of a unit to a result."""


@dataclass(frozen=True, slots=True)
class SingleRunUnit(Generic[R]):
    """Reduction of a unit with a single run.

    Attributes:
        reduce: Reduces that run.
    """

    reduce: Callable[[Run], R]

    def __call__(self, runs: Mapping[Any, Run]) -> R:
        """The result of the unit."""
        (run,) = runs.values()
        return self.reduce(run)


@dataclass(frozen=True, slots=True)
class Unit:
    """Runs that are reduced together: one replication of an arm.

    Attributes:
        experiments: The experiments, each run once, by key.
        replication: The replication number.
    """

    experiments: Mapping[Any, Experiment]
    replication: int


@dataclass(frozen=True)
class Work(Generic[R]):
    """Units to run, and their reduction.

    Attributes:
        units: The units.
        reduce: Their reduction; pure, called in the order in which units end.
        backend: Their backend.
        task: Name of the task for the progress.
        keep: Replications below this number are yielded with their runs.
        cancel: Event that stops within a second; finished units are yielded.
        on_progress: Called a few times per second with the number of finished runs, including
            fractions.
        on_failure: Called with each failed run; its index is that of its unit.
    """

    units: Sequence[Unit]
    reduce: Reduce[R]
    backend: str
    task: str
    keep: int
    cancel: Cancellation | None
    on_progress: Callable[[float], None]
    on_failure: Callable[[Failure], None]


@dataclass(frozen=True, slots=True)
class DoneUnit(Generic[R]):
    """A finished unit.

    Attributes:
        index: Its index among the units.
        result: Its result.
        runs: Its runs, if requested.
    """

    index: int
    result: R
    runs: tuple[Run, ...] = ()


class Performer(Protocol):
    """Performs units in parallel: runs that a Python function reduces to one result together.

    It is not an `Executor` (`dumbbell.compare.executing`), which performs single runs: its
    tasks and outcomes can be sent to other machines, a unit's function and result cannot. A store
    also keeps other things for the two: reduced results here, summaries there. `ThisProcess` runs
    units without a store; `dumbbell.studies.performing.ExecutorPerformer` adds a store, and any
    executor for the runs.
    """

    def check(self, experiments: Iterable[Experiment], backend: str) -> None:
        """Check the experiments before any is run.

        Raises:
            DumbbellError: An experiment is invalid or too large, or its backend is not available.
        """

    def perform(self, work: Work[R]) -> Iterator[DoneUnit[R]]:
        """Run units; each is yielded once, in the order in which they end."""


class UnitCollector(Generic[R]):
    """Collects the runs of units until a unit is complete."""

    def __init__(self, work: Work[R]) -> None:
        """Nothing has ended yet."""
        self._work = work
        self._pending: dict[int, dict[Hashable, Run]] = {}
        self.places = [
            (index, key) for index, unit in enumerate(work.units) for key in unit.experiments
        ]
        """The unit and the key of each run, in the order of starting."""

    def take(self, place: int, run: Run) -> DoneUnit[R] | None:
        """The unit completed by this run, or None."""
        index, key = self.places[place]
        unit = self._work.units[index]
        there = self._pending.setdefault(index, {})
        there[key] = run
        if len(there) < len(unit.experiments):
            return None
        del self._pending[index]
        runs = {key: there[key] for key in unit.experiments}
        is_kept = unit.replication < self._work.keep
        return DoneUnit(index, self._work.reduce(runs), tuple(runs.values()) if is_kept else ())


class ThisProcess:
    """The default performer: threads of the engine, without a store."""

    def __init__(self, jobs: int = 0, memory_bytes: int | None = None) -> None:
        """Set it up.

        Args:
            jobs: Threads; 0 for one per core.
            memory_bytes: Memory limit of all runs together; None for the free memory.
        """
        self._jobs = jobs
        self._memory_bytes = memory_bytes

    def check(self, experiments: Iterable[Experiment], backend: str) -> None:
        """See `Performer`."""
        self._jobs = threads_for(
            experiments, backend=backend, jobs=self._jobs, memory_bytes=self._memory_bytes
        )

    def perform(self, work: Work[R]) -> Iterator[DoneUnit[R]]:
        """See `Performer`."""
        collecting = UnitCollector(work)

        def tell(progress: BatchProgress) -> None:
            work.on_progress(progress.done)

        def fail(failure: Failure) -> None:
            work.on_failure(replace(failure, index=collecting.places[failure.index][0]))

        running = run_many(
            (
                (work.units[index].experiments[key], work.units[index].replication)
                for index, key in collecting.places
            ),
            backend=work.backend,
            jobs=self._jobs,
            memory_bytes=self._memory_bytes,
            cancel=work.cancel,
            on_progress=tell,
            on_failure=fail,
        )
        for place, run in running:
            done = collecting.take(place, run)
            if done is not None:
                yield done
