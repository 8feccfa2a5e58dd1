"""The interface of a backend, which turns resolved descriptions into tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dumbbell._engine import Cancel
from dumbbell.backends.memory import MemoryLimit
from dumbbell.errors import FailureKind
from dumbbell.tables import Origin, RunFile, Table


@dataclass(frozen=True, slots=True)
class Cost:
    """What one replication will take.

    Attributes:
        events: Events to be done: rather more than there will be, within a factor of about five.
        memory_bytes: Memory for its state and tables.
        wall_s: Time on this backend.
    """

    events: int
    memory_bytes: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """One replication to be run.

    Attributes:
        resolved_json: Canonical description.
        replication: Number of its random streams.
    """

    resolved_json: str
    replication: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a job.

    Attributes:
        index: Its place among the jobs.
        tables: Table to column to values; empty when there is an error.
        events: Events it took.
        digest: Hash of the tables' canonical bytes.
        error: Why there are no tables; None when there are.
        failure: Of what kind that was; of no account where there are tables.
        cost: Wall and CPU time of this run alone in seconds (``wall_s``, ``cpu_s``), and the memory
            it counted with its tables (``memory_bytes``), where the backend knows them.
        meta: What else the backend says of this run, the same whenever it is repeated.
        files: Name to file, of what does not fit in tables.
    """

    index: int
    tables: Mapping[str, Table]
    events: int
    digest: str
    error: str | None = None
    failure: FailureKind = FailureKind.FAILED
    cost: Mapping[str, float] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, RunFile] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """How far a batch is.

    Attributes:
        started: Replications begun.
        finished: Those that have ended.
        running: Those that have not.
        virtual_fraction: Sum over the running ones of the share of virtual time done.
        events: Events done so far.
    """

    started: int
    finished: int
    running: int
    virtual_fraction: float
    events: int

    @property
    def done(self) -> float:
        """Replications done, with the parts of those that run."""
        return self.finished + self.virtual_fraction


class Batch(Protocol):
    """Jobs under way."""

    def poll(self, timeout_s: float) -> Outcome | None:
        """The next to end within `timeout_s` seconds, else None. Lets signals be handled."""
        ...

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for."""
        ...

    def progress(self) -> BatchProgress:
        """How far it is."""
        ...


class Backend(Protocol):
    """Where experiments run. A new one is a file with such an object and a line in the registry."""

    @property
    def name(self) -> str:
        """What one types: ``sim``."""
        ...

    @property
    def origin(self) -> Origin:
        """What its runs are marked with."""
        ...

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Versions of what decides the result: part of a run's meta.

        Args:
            spec: The run's resolved description.
        """
        ...

    def check(self, resolved_json: str) -> Cost:
        """Check a description as a run would and say what it will cost.

        Raises:
            SpecError: It cannot be run here.
        """
        ...

    def start(
        self,
        jobs: Iterator[Job],
        *,
        threads: int,
        cancel: Cancel,
        memory: MemoryLimit,
    ) -> Batch:
        """Begin to run jobs, read on the calling thread as workers become free.

        Args:
            jobs: What to run; the results do not depend on their order.
            threads: At least 1.
            cancel: Set to stop: running jobs end within a second.
            memory: What the jobs may use together. One that needs more ends as a failure.
        """
        ...
