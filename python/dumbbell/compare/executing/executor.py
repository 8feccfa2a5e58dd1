"""The executor interface: tasks in, outcomes out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dumbbell.backends import Cancellation
from dumbbell.compare.summary import Summary
from dumbbell.errors import DumbbellError
from dumbbell.tables import Run

TellDone = Callable[[float], None]
"""Called on the caller's thread with the number of tasks done, including fractions of running ones.
"""


def after(on_progress: TellDone | None, done: int) -> TellDone | None:
    """A progress callback for tasks that follow ``done`` finished ones."""
    if on_progress is None:
        return None
    tell = on_progress
    return lambda more: tell(done + more)


@dataclass(frozen=True, slots=True)
class Task:
    """One replication, with everything that a worker needs to run it.

    Attributes:
        description: Canonical resolved JSON. Together with replication and backend it determines
            the outcome.
        replication: Number of the replication.
        backend: Backend it runs on.
        cell: Label of its cell: for lists only, it does not affect the outcome.
    """

    description: str
    replication: int
    backend: str
    cell: str = ""

    def resolved_json(self) -> str:
        """The description."""
        return self.description


@dataclass(frozen=True, slots=True)
class FinishedTask:
    """A task and its result.

    Attributes:
        index: Index among the tasks given.
        summary: The run's numbers.
        digest: Hash of the tables' canonical bytes, the same on every executor; empty if the
            numbers came from a store.
        run: The run's tables; None if only the numbers were returned.
    """

    index: int
    summary: Summary
    digest: str = ""
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task without a result.

    Attributes:
        index: Index among the tasks given.
        error: The reason.
    """

    index: int
    error: DumbbellError


class Executor(Protocol):
    """Performs tasks in parallel, in this process or elsewhere.

    An executor decides where single runs are performed. It takes descriptions and returns numbers,
    which can cross process and machine boundaries. The `Performer` of studies is one level above
    (`dumbbell.replication.performing`): it reduces several runs together by a Python function,
    which cannot cross them. `ExecutorPerformer` implements it with an executor.
    """

    def check(self, task: Task) -> None:
        """Check before any run that the task can be performed.

        Raises:
            DumbbellError: It is not allowed, too large, or its backend is not available.
        """

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """Perform the tasks; each outcome is yielded once, in order of completion.

        Args:
            tasks: Checked tasks, for any backends.
            cancel: Set it to stop within a second; finished tasks are still yielded.
            on_progress: Called a few times a second.

        Raises:
            KeyboardInterrupt: After Ctrl-C, once all finished tasks were yielded.
            DumbbellError: No more tasks can be performed, for example because a cluster has gone.
        """
