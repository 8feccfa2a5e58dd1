"""What a study is: a published experiment, reproduced by one call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from dumbbell.errors import SpecError
from dumbbell.replication.progress import ProgressCallback

if TYPE_CHECKING:
    from dumbbell.backends import Cancellation
    from dumbbell.replication.performing import Performer
    from dumbbell.report import Report

LARGEST_SEED = 2**64 - 1
MOST_REPLICATIONS = 100_000
"""Of a comparison: far more than any study takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """How a study is to be reproduced.

    Attributes:
        backends: Where; each is judged on its own.
        replications: As many of each comparison; the study's own numbers when None.
        precision: Relative half-width to reach for means (0.01 is 1 %); the study's own when
            None.
        seed: All randomness follows from it.
        jobs: Threads; 0 for one a core. Results do not depend on it.
        memory_bytes: What runs may use together, at most; None for what is free.
        quick: Few replications, for a first look in seconds.
        performer: Who does the runs; None for threads of this process, which keep nothing.
        on_progress: Called about ten times a second.
        cancel: Set by whoever wants it to stop: the study then reports on the replications that
            finished, or raises `Interrupted` when those say nothing.
    """

    backends: tuple[str, ...] = ("sim",)
    replications: int | None = None
    precision: float | None = None
    seed: int = 1
    jobs: int = 0
    memory_bytes: int | None = None
    quick: bool = False
    performer: Performer | None = field(default=None, compare=False)
    on_progress: ProgressCallback | None = field(default=None, compare=False)
    cancel: Cancellation | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        """Refuse what no study can do.

        Raises:
            SpecError: A number out of its range, no backend, or one that is not known.
        """
        from dumbbell.backends import get_backend

        if not self.backends:
            raise SpecError("backend", "none", "at least one backend")
        for name in self.backends:
            get_backend(name)
        if self.replications is not None and not 2 <= self.replications <= MOST_REPLICATIONS:
            allowed = f"2 or more (one has no interval), to {MOST_REPLICATIONS}"
            raise SpecError("replications", self.replications, allowed)
        if self.precision is not None and not 0 < self.precision < 1:
            raise SpecError("precision", self.precision, "between 0 and 1, such as 0.01 for 1 %")
        if not 0 <= self.seed <= LARGEST_SEED:
            raise SpecError("seed", self.seed, f"a whole number from 0 to {LARGEST_SEED}")
        if self.jobs < 0:
            raise SpecError("jobs", self.jobs, "0 (one a core) or a number of threads")

    @property
    def cancelled(self) -> bool:
        """Whether a stop was requested."""
        return self.cancel is not None and self.cancel.is_set()


class Study(Protocol):
    """A published experiment."""

    @property
    def id(self) -> str:
        """What one types: ``statistical-multiplexing``."""
        ...

    @property
    def title(self) -> str:
        """Its question, in one line."""
        ...

    @property
    def summary(self) -> str:
        """What is run and what is claimed, in a sentence or two."""
        ...

    def reproduce(self, options: StudyOptions) -> Report:
        """Run it, judge its claims, and make its report.

        Raises:
            SpecError: It cannot be run with these options.
            RunError: Replications failed.
            Interrupted: It was stopped before there was anything to report.
        """
        ...


@runtime_checkable
class StudyWithRequirements(Protocol):
    """A study that says beforehand whether what it needs is there."""

    def check(self, options: StudyOptions) -> None:
        """Look whether all that it needs is there, in little time; nothing is run.

        Raises:
            SpecError: It cannot be run with these options.
            DumbbellError: Something that it needs is missing on this machine: the kernel, the
                guest's program, a tool. The message says how to get it.
        """
        ...
