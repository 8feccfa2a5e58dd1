"""Progress of a long task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a task.

    Attributes:
        task: Name of the task; constant during the task.
        done: Amount done, in ``unit``, including fractions of unfinished runs.
        total: Amount known to be needed; it may grow while a precision is not reached.
        unit: Unit of both.
        detail: Further information, such as the precision reached.
    """

    task: str
    done: float
    total: float
    unit: str = "replications"
    detail: str = ""


ProgressCallback = Callable[[Progress], None]
