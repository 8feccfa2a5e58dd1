"""What an orchestrator says of itself while it works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a task is.

    Attributes:
        task: What is being done; the same text for the same task.
        done: Amount done, in ``unit``; fractions are of what is under way.
        total: Amount known to be needed; may grow as a precision is not reached.
        unit: Of both.
        detail: A few words more, such as the precision reached.
    """

    task: str
    done: float
    total: float
    unit: str = "replications"
    detail: str = ""


ProgressCallback = Callable[[Progress], None]
