"""What an executor is given and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from dumbbell.backends import Cancellation
from dumbbell.compare.summary import Summary
from dumbbell.errors import DumbbellError
from dumbbell.tables import Run

TellDone = Callable[[float], None]
"""Called on the caller's thread with how many tasks are done, parts of those under way included."""


def after(on_progress: TellDone | None, done: int) -> TellDone | None:
    """What tells of tasks that come after others that are done."""
    if on_progress is None:
        return None
    tell = on_progress
    return lambda more: tell(done + more)


@dataclass(frozen=True, slots=True)
class Task:
    """A replication: all that a worker, here or on another machine, needs to know of it.

    Attributes:
        description: Canonical resolved JSON. It decides the outcome together with the rest.
        replication: Its number.
        backend: Where it runs.
        cell: Label of the cell that it is of: for lists, of no account for the outcome.
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
    """A task and what came of it.

    Attributes:
        index: Its place among the tasks given.
        summary: Its numbers.
        digest: Hash of its tables' canonical bytes, the same wherever it was done; empty where its
            numbers were kept.
        run: Its tables; None where they were made elsewhere and only the numbers came back.
    """

    index: int
    summary: Summary
    digest: str = ""
    run: Run | None = None


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task that gave no result.

    Attributes:
        index: Its place among the tasks given.
        error: Why.
    """

    index: int
    error: DumbbellError


class Executor(Protocol):
    """Does tasks side by side, somewhere."""

    def check(self, task: Task) -> None:
        """Whether it can be done at all, before any is.

        Raises:
            DumbbellError: It is not allowed, is too large, or its backend is not there.
        """

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """Do them; each is yielded once, in the order in which they end.

        Args:
            tasks: Checked ones, of any backends.
            cancel: Set it to stop within a second; those that had finished are yielded.
            on_progress: Told a few times a second.

        Raises:
            KeyboardInterrupt: After Ctrl-C, once those that had finished were yielded.
            DumbbellError: Nothing more can be done, for example as a cluster has gone.
        """
