"""An executor in this process: the engine's own threads, or one guest per thread for the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dumbbell.backends import BatchProgress, Cancellation, Failure, run_many, threads_for
from dumbbell.compare.executing.executor import FailedTask, FinishedTask, Task, TellDone, after
from dumbbell.compare.summary import Summary, summary_of
from dumbbell.errors import RunError
from dumbbell.tables import Run


class Threads:
    """The default executor."""

    def __init__(
        self, jobs: int = 0, memory_bytes: int | None = None, *, with_numbers: bool = True
    ) -> None:
        """Configure it.

        Args:
            jobs: Threads; 0 for one per core.
            memory_bytes: Memory that all runs may use together; None for the available memory.
            with_numbers: Whether to compute summaries; otherwise these are empty.
        """
        self._jobs = jobs
        self._memory_bytes = memory_bytes
        self._summary = summary_of if with_numbers else _no_summary

    def check(self, task: Task) -> None:
        """See `Executor`."""
        self._threads([task], task.backend)

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """See `Executor`. Runs one backend after the other."""
        done = 0
        for backend in dict.fromkeys(task.backend for task in tasks):
            places = [i for i, task in enumerate(tasks) if task.backend == backend]
            yield from self._run(tasks, places, cancel, after(on_progress, done))
            if cancel is not None and cancel.is_set():
                return
            done += len(places)

    def side_by_side(self, tasks: Sequence[Task]) -> int:
        """Number of these tasks that may run in parallel."""
        backends = dict.fromkeys(task.backend for task in tasks)
        return min(
            self._threads([task for task in tasks if task.backend == backend], backend)
            for backend in backends
        )

    def _threads(self, tasks: Sequence[Task], backend: str) -> int:
        return threads_for(
            {task.description: task for task in tasks}.values(),
            backend=backend,
            jobs=self._jobs,
            memory_bytes=self._memory_bytes,
        )

    def _run(
        self,
        tasks: Sequence[Task],
        places: Sequence[int],
        cancel: Cancellation | None,
        on_progress: TellDone | None,
    ) -> Iterator[FinishedTask | FailedTask]:
        here = [tasks[i] for i in places]
        backend = here[0].backend
        failures: list[Failure] = []

        def tell(progress: BatchProgress) -> None:
            if on_progress is not None:
                on_progress(progress.done)

        # Share equal descriptions, which are then parsed and checked once.
        first = {task.description: task for task in reversed(here)}
        running = run_many(
            ((first[task.description], task.replication) for task in here),
            backend=backend,
            jobs=self._threads(here, backend),
            memory_bytes=self._memory_bytes,
            cancel=cancel,
            on_progress=tell,
            on_failure=failures.append,
        )
        for index, run in running:
            yield FinishedTask(places[index], self._summary(run), run.meta["digest"], run)
            yield from _failed(failures, places)
        yield from _failed(failures, places)


def _no_summary(_run: Run) -> Summary:
    return Summary((), np.zeros(0))


def _failed(failures: list[Failure], places: Sequence[int]) -> Iterator[FailedTask]:
    """Failures that were not yielded yet."""
    while failures:
        failure = failures.pop(0)
        yield FailedTask(places[failure.index], RunError(failure.message, failure.kind))
