"""The interface of a backend: it turns resolved descriptions into tables."""

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
    """Estimated cost of one replication.

    Attributes:
        events: Number of events: an upper estimate, within a factor of about five.
        memory_bytes: Memory for its state and tables.
        wall_s: Wall time on this backend.
    """

    events: int
    memory_bytes: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Job:
    """One replication to be run.

    Attributes:
        resolved_json: Canonical description.
        replication: Number of the replication (its random streams).
    """

    resolved_json: str
    replication: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a job.

    Attributes:
        index: Index among the jobs.
        tables: Table to column to values; empty after an error.
        events: Number of events processed.
        digest: Hash of the tables' canonical bytes.
        error: Why there are no tables; None on success.
        failure: Kind of failure; meaningless on success.
        cost: Wall and CPU time of this run in seconds (``wall_s``, ``cpu_s``), and its accounted
            memory with tables (``memory_bytes``), where the backend knows them.
        meta: Further metadata of the run; the same whenever it is repeated.
        files: Files by name, for data that does not fit in tables.
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
    """Progress of a batch.

    Attributes:
        started: Number of replications started.
        finished: Number of replications that have ended.
        running: Number of replications running.
        virtual_fraction: Sum over running replications of the fraction of simulated time completed.
        events: Number of events processed so far.
    """

    started: int
    finished: int
    running: int
    virtual_fraction: float
    events: int

    @property
    def done(self) -> float:
        """Number of finished replications, including fractions of running ones."""
        return self.finished + self.virtual_fraction


class Batch(Protocol):
    """Jobs that are being run."""

    def poll(self, timeout_s: float) -> Outcome | None:
        """The next outcome within `timeout_s` seconds, or None. Signals are handled meanwhile."""
        ...

    @property
    def done(self) -> bool:
        """Whether all outcomes were taken."""
        ...

    def progress(self) -> BatchProgress:
        """Current progress."""
        ...


class Backend(Protocol):
    """Where experiments run. A new backend is a file with such an object and a line in the
    registry.
    """

    @property
    def name(self) -> str:
        """Name on the command line: ``sim``."""
        ...

    @property
    def origin(self) -> Origin:
        """Origin recorded in its runs."""
        ...

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Versions of everything that determines the result; part of a run's metadata.

        Args:
            spec: The run's resolved description.
        """
        ...

    def check(self, resolved_json: str) -> Cost:
        """Check a description as a run would, and estimate its cost.

        Raises:
            SpecError: The backend cannot run it.
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
        """Start running jobs; they are read on the calling thread as workers become free.

        Args:
            jobs: The jobs; results do not depend on their order.
            threads: Number of threads, at least 1.
            cancel: Set it to stop: running jobs end within a second.
            memory: Memory that all jobs may use together. A job that exceeds it fails.
        """
        ...
