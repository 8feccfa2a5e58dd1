"""The loop of every worker, in a process or on another machine: perform tasks one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dumbbell.backends import Cancellation
from dumbbell.compare.executing.executor import FailedTask, FinishedTask, Task, TellDone
from dumbbell.compare.executing.threads import Threads
from dumbbell.errors import DumbbellError, RunError


def outcomes(
    tasks: Sequence[Task],
    *,
    memory_bytes: int | None = None,
    with_tables: bool = False,
    with_numbers: bool = True,
    cancel: Cancellation | None = None,
    on_progress: TellDone | None = None,
) -> Iterator[FinishedTask | FailedTask]:
    """Perform tasks on one thread; a failed task does not affect the others.

    Args:
        tasks: The tasks.
        memory_bytes: Memory for each task; None for the available memory.
        with_tables: Whether outcomes include tables.
        with_numbers: Whether outcomes include summaries.
        cancel: Set it to stop within a second.
        on_progress: Called a few times a second.

    Yields:
        Outcomes, each with its index among the tasks. Every error becomes a `FailedTask`, since the
        caller may be on another machine and sees no traceback.
    """
    left = dict(enumerate(tasks))
    here = Threads(1, memory_bytes, with_numbers=with_numbers)
    try:
        for outcome in here.run(tasks, cancel=cancel, on_progress=on_progress):
            del left[outcome.index]
            yield outcome if with_tables else _without_tables(outcome)
    except Exception as error:
        if len(tasks) == 1:
            if left:
                yield FailedTask(0, _as_ours(error))
            return
        # The failing task is not known.
        for index, task in left.items():
            alone = outcomes(
                [task],
                memory_bytes=memory_bytes,
                with_tables=with_tables,
                with_numbers=with_numbers,
                cancel=cancel,
            )
            for outcome in alone:
                yield replace(outcome, index=index)


def _without_tables(outcome: FinishedTask | FailedTask) -> FinishedTask | FailedTask:
    return outcome if isinstance(outcome, FailedTask) else replace(outcome, run=None)


def _as_ours(error: Exception) -> DumbbellError:
    if isinstance(error, DumbbellError):
        return error
    return RunError(f"{type(error).__name__}: {error}")
