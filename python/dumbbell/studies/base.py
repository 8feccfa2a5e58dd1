"""The interface of a study: a published experiment, reproduced by one call."""

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
"""Maximum number of replications, far more than any study needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyOptions:
    """Options of the reproduction of a study.

    Attributes:
        backends: Backends to run, each judged separately.
        replications: Replications of each comparison; the study's own numbers if None.
        precision: Relative half-width to reach for means (0.01 is 1 %); the study's own if None.
        seed: Seed of all random streams.
        jobs: Threads; 0 for one per core. Results do not depend on it.
        memory_bytes: Memory limit of all runs together; None for the free memory.
        quick: Whether to run few replications, for a first result in seconds.
        performer: Performer of the runs; None for threads of this process, without a store.
        on_progress: Called about ten times a second.
        cancel: Event that stops the study: it then reports on the finished replications, or raises
            `Interrupted` if they do not suffice.
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
        """Refuse invalid options.

        Raises:
            SpecError: A number is out of range, or there is no backend or an unknown one.
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
        """Its name on the command line: ``statistical-multiplexing``."""
        ...

    @property
    def title(self) -> str:
        """Its question, in one line."""
        ...

    @property
    def summary(self) -> str:
        """Experiments and claims, in a sentence or two."""
        ...

    def reproduce(self, options: StudyOptions) -> Report:
        """Run it, judge its claims, and make its report.

        Raises:
            SpecError: It cannot be run with these options.
            RunError: Replications failed.
            Interrupted: It was stopped before there was a result.
        """
        ...


@runtime_checkable
class StudyWithRequirements(Protocol):
    """A study that can check its requirements in advance."""

    def check(self, options: StudyOptions) -> None:
        """Check the requirements quickly, without running anything.

        Raises:
            SpecError: It cannot be run with these options.
            DumbbellError: A requirement is missing on this machine: the kernel, the guest program,
                a tool. The message says how to install it.
        """
        ...
