"""Executors: an `Executor` performs the runs of a comparison, given `Task`s, and yields summaries.

Results depend neither on the executor nor on its number of workers.
"""

from dumbbell.compare.executing.executor import (
    Executor,
    FailedTask,
    FinishedTask,
    Task,
    TellDone,
)
from dumbbell.compare.executing.stored import ShareDone, Stored, cell_names
from dumbbell.compare.executing.threads import Threads

__all__ = [
    "Executor",
    "FailedTask",
    "FinishedTask",
    "ShareDone",
    "Stored",
    "Task",
    "TellDone",
    "Threads",
    "cell_names",
]
