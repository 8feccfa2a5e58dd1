"""Who does the runs of a campaign: a `Performer` is given `Unit`s and yields what came of them.

Results do not depend on which.
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
"""From the runs of a unit to what is kept of them."""


@dataclass(frozen=True, slots=True)
class SingleRunUnit(Generic[R]):
    """What is made of a unit that is a single run.

    Attributes:
        reduce: From that run.
    """

    reduce: Callable[[Run], R]

    def __call__(self, runs: Mapping[Any, Run]) -> R:
        """What is kept of it."""
        (run,) = runs.values()
        return self.reduce(run)


@dataclass(frozen=True, slots=True)
class Unit:
    """Runs that are reduced together: one replication of an arm.

    Attributes:
        experiments: What is run, once each, by key.
        replication: Its number.
    """

    experiments: Mapping[Any, Experiment]
    replication: int


@dataclass(frozen=True)
class Work(Generic[R]):
    """Units to be done, and what is made of them.

    Attributes:
        units: What to do.
        reduce: Pure; called in the order in which units end.
        backend: Where.
        task: What they are for, as the progress names it.
        keep: Replications below this one are yielded with their runs.
        cancel: Set it to stop within a second; units that had finished are yielded.
        on_progress: Called a few times a second with how many runs are done, parts of those under
            way included.
        on_failure: Called with each run that failed; its index is that of its unit.
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
    """A unit and what came of it.

    Attributes:
        index: Its place among the units.
        result: What its runs were reduced to.
        runs: They, where asked for.
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
        """Whether they can be run at all, before any is.

        Raises:
            DumbbellError: One is not allowed, is too large, or its backend is not there.
        """

    def perform(self, work: Work[R]) -> Iterator[DoneUnit[R]]:
        """Do units; each is yielded once, in the order in which they end."""


class UnitCollector(Generic[R]):
    """Runs of units that end one by one, until all of a unit are there."""

    def __init__(self, work: Work[R]) -> None:
        """Nothing has ended yet."""
        self._work = work
        self._pending: dict[int, dict[Hashable, Run]] = {}
        self.places = [
            (index, key) for index, unit in enumerate(work.units) for key in unit.experiments
        ]
        """Of each run, in the order in which they are to be begun: its unit, and its key there."""

    def take(self, place: int, run: Run) -> DoneUnit[R] | None:
        """The unit that has ended with this run; None where others are missing."""
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
    """The performer where no other is asked for: the engine's own threads, and no store."""

    def __init__(self, jobs: int = 0, memory_bytes: int | None = None) -> None:
        """Set it up.

        Args:
            jobs: Threads; 0 for one a core.
            memory_bytes: What the runs may use together; None for what there is.
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
