"""Who does the runs of a comparison: an `Executor` is given `Task`s and yields their summaries.

Results do not depend on which, nor on how many workers it has.
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
