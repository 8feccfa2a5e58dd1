"""Run many replications of many experiments; runs are yielded in order of completion."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dumbbell._engine import Cancel, format_time
from dumbbell.backends.base import Backend, Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.guard import threads_that_fit, usable_threads
from dumbbell.backends.host import host_provenance, package_version
from dumbbell.backends.memory import MemoryLimit
from dumbbell.backends.registry import get_backend
from dumbbell.controllers import Controller
from dumbbell.errors import FailureKind, RunError, SpecError
from dumbbell.tables import Run

LARGEST_REPLICATION = 2**64 - 1
POLL_S = 0.1
"""Interval between progress callbacks; signals are checked more often."""
_DRAIN_S = 0.9
_PREPARED_KEPT = 64


class Resolvable(Protocol):
    """An experiment as a backend needs it (such as `dumbbell.spec.Experiment`)."""

    def resolved_json(self) -> str:
        """The canonical description, with every default filled in."""
        ...


class Cancellation(Protocol):
    """Tells whether a stop was requested."""

    def is_set(self) -> bool:
        """Whether a stop was requested."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """A replication without a result.

    Attributes:
        index: Index among the experiments given to `run_many`.
        replication: Number of the replication.
        message: The reason.
        kind: Kind of failure.
    """

    index: int
    replication: int
    message: str
    kind: FailureKind = FailureKind.FAILED


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A description that was parsed and checked once for all its replications."""

    resolved_json: str
    spec: Mapping[str, Any]
    cost: Cost
    max_threads: int


def run_many(
    experiments: Iterable[tuple[Resolvable, int]],
    *,
    backend: str = "sim",
    jobs: int = 0,
    memory_bytes: int | None = None,
    cancel: Cancellation | None = None,
    on_progress: Callable[[BatchProgress], None] | None = None,
    on_failure: Callable[[Failure], None] | None = None,
    controllers: Mapping[str, type[Controller]] | None = None,
) -> Iterator[tuple[int, Run]]:
    """Run replications in parallel.

    Args:
        experiments: (experiment, replication number); read as workers become free.
        backend: Name of the backend: ``sim``.
        jobs: Threads; 0 for one per core. Results do not depend on it.
        memory_bytes: Memory that all runs may use together; None for what the machine, a container
            and ``ulimit -v`` leave. If a run needs more than was estimated, it alone fails
            (`FailureKind.OUT_OF_MEMORY`).
        cancel: Set it (from another thread, or a signal handler) to stop: running replications are
            cancelled within a second, and the iterator ends after the finished ones. A `Cancel` or
            a ``threading.Event``; it is only read.
        on_progress: Called on this thread about ten times a second.
        on_failure: Called for each failed replication. Without it a failure raises an error, but
            only after every other run was yielded.
        controllers: Congestion controllers in Python, by the names that descriptions use for them
            (``class:NAME``). They are called on threads of this process, one at a time.

    Yields:
        (index among the experiments, run), in order of completion.

    Raises:
        SpecError: An experiment is not allowed, would not fit in memory or would take days.
        RunError: Replications failed and there is no ``on_failure``. If a controller raised an
            error, the message contains its traceback.
        KeyboardInterrupt: After Ctrl-C, once the runs that had finished were yielded.
    """
    limit = MemoryLimit(memory_bytes)
    chosen = get_backend(backend)
    if controllers is not None:
        chosen, experiments = _with_controllers(backend, controllers, experiments)
    source = _Preparer(chosen, usable_threads(jobs), limit, experiments)
    yield from _Runner(source, cancel, on_progress, on_failure).runs()


def _with_controllers(
    backend: str,
    controllers: Mapping[str, type[Controller]],
    experiments: Iterable[tuple[Resolvable, int]],
) -> tuple[Backend, Iterator[tuple[Resolvable, int]]]:
    """A simulator with the classes, and descriptions that identify their code."""
    # Imported here, because few runs need it and it slows down the start.
    from dumbbell.backends.native.class_controllers import classes_of, naming
    from dumbbell.backends.sim import Simulator

    if backend != Simulator.name:
        allowed = f"{Simulator.name}, which alone has controllers in Python"
        raise SpecError("backend", backend, allowed)
    # By identity, as in `_Preparer`.
    known: dict[int, tuple[Resolvable, Resolvable]] = {}

    def named() -> Iterator[tuple[Resolvable, int]]:
        for experiment, replication in experiments:
            if id(experiment) not in known:
                if len(known) >= _PREPARED_KEPT:
                    known.clear()
                known[id(experiment)] = experiment, naming(experiment, controllers)
            yield known[id(experiment)][1], replication

    return Simulator(classes_of(controllers)), named()


def threads_for(
    experiments: Iterable[Resolvable],
    *,
    backend: str = "sim",
    jobs: int = 0,
    memory_bytes: int | None = None,
) -> int:
    """Check experiments before any is run, and return how many may run in parallel.

    Args:
        experiments: All experiments of one batch.
        backend: Name of the backend.
        jobs: Most threads; 0 for one per core.
        memory_bytes: Memory that all runs may use together, as for `run_many`.

    Raises:
        SpecError: One of them is not allowed, would not fit in memory or would take days.
    """
    threads = usable_threads(jobs)
    source = _Preparer(get_backend(backend), threads, MemoryLimit(memory_bytes), ())
    return min((source.prepared(each).max_threads for each in experiments), default=threads)


def simulate(
    experiment: Resolvable,
    replication: int = 0,
    *,
    backend: str = "sim",
    memory_bytes: int | None = None,
    controllers: Mapping[str, type[Controller]] | None = None,
) -> Run:
    """Run one replication.

    Args:
        experiment: The experiment.
        replication: Selects the random numbers, together with the experiment's seed.
        backend: Name of the backend.
        memory_bytes: Memory it may use, as for `run_many`.
        controllers: Congestion controllers in Python, as for `run_many`.

    Raises:
        SpecError: The experiment is not allowed, would not fit in memory or would take days.
        RunError: The run failed.
    """
    only = [(experiment, replication)]
    for _, run in run_many(
        only, backend=backend, jobs=1, memory_bytes=memory_bytes, controllers=controllers
    ):
        return run
    raise RunError("the run gave no result")


class _Preparer:
    """Parses experiments, checks each description once, and tracks jobs in progress."""

    def __init__(
        self,
        backend: Backend,
        threads: int,
        memory: MemoryLimit,
        experiments: Iterable[tuple[Resolvable, int]],
    ) -> None:
        self.backend = backend
        self.threads = threads
        self.memory = memory
        self.waiting: dict[int, tuple[_Prepared, int]] = {}
        self._experiments = iter(experiments)
        # By identity; the object is kept so that its id is not reused.
        self._known: dict[int, tuple[Resolvable, _Prepared]] = {}

    def jobs(self) -> Iterator[Job]:
        """Jobs in order."""
        for index, (experiment, replication) in enumerate(self._experiments):
            if not 0 <= replication <= LARGEST_REPLICATION:
                allowed = f"a whole number from 0 to {LARGEST_REPLICATION}"
                raise SpecError("replication", replication, allowed)
            prepared = self.prepared(experiment)
            self.waiting[index] = (prepared, replication)
            yield Job(prepared.resolved_json, replication)

    def prepared(self, experiment: Resolvable) -> _Prepared:
        """The checked description of an experiment."""
        known = self._known.get(id(experiment))
        if known is not None:
            return known[1]
        text = experiment.resolved_json()
        cost = self.backend.check(text)
        spec = json.loads(text)
        duration = format_time(spec["duration_ns"])
        fit = threads_that_fit(cost, self.threads, duration, self.memory.of_new_runs_bytes())
        prepared = _Prepared(text, spec, cost, fit)
        if len(self._known) >= _PREPARED_KEPT:
            self._known.clear()
        self._known[id(experiment)] = (experiment, prepared)
        return prepared


class _Runner:
    def __init__(
        self,
        source: _Preparer,
        cancel: Cancellation | None,
        on_progress: Callable[[BatchProgress], None] | None,
        on_failure: Callable[[Failure], None] | None,
    ) -> None:
        self._source = source
        self._asked = cancel
        # A separate object, so that a consumer who stops early does not cancel the caller's other
        # work.
        self._cancel = Cancel()
        self._on_progress = on_progress
        self._on_failure = on_failure
        self._failures: list[Failure] = []
        self._began = time.monotonic(), time.process_time()
        self._threads = source.threads

    def runs(self) -> Iterator[tuple[int, Run]]:
        jobs = self._source.jobs()
        # The first description, parsed here, determines the size of the thread pool.
        first = next(jobs, None)
        if first is None:
            return
        self._threads = self._source.waiting[0][0].max_threads
        batch = self._source.backend.start(
            _chain(first, jobs),
            threads=self._threads,
            cancel=self._cancel,
            memory=self._source.memory,
        )
        stop_workers = True
        try:
            while not batch.done:
                if self._asked is not None and self._asked.is_set():
                    self._cancel.set()
                outcome = batch.poll(POLL_S)
                if outcome is not None:
                    yield from self._run(outcome)
                if self._on_progress is not None:
                    self._on_progress(batch.progress())
            stop_workers = False
        except KeyboardInterrupt:
            yield from self._drained(batch)
            raise
        finally:
            if stop_workers:
                # The consumer stopped or an error occurred: the remaining runs are not needed.
                self._cancel.set()
        if self._failures and self._on_failure is None:
            raise _run_error(self._failures)

    def _drained(self, batch: Batch) -> Iterator[tuple[int, Run]]:
        """The runs that had finished when the user pressed Ctrl-C."""
        self._cancel.set()
        until = time.monotonic() + _DRAIN_S
        while not batch.done and time.monotonic() < until:
            outcome = batch.poll(POLL_S)
            if outcome is not None:
                yield from self._run(outcome)

    def _run(self, outcome: Outcome) -> Iterator[tuple[int, Run]]:
        prepared, replication = self._source.waiting.pop(outcome.index)
        if outcome.error is None:
            yield outcome.index, self._complete(outcome, prepared, replication)
        elif outcome.failure is not FailureKind.CANCELLED:
            failure = Failure(outcome.index, replication, outcome.error, outcome.failure)
            self._failures.append(failure)
            if self._on_failure is not None:
                self._on_failure(failure)

    def _complete(self, outcome: Outcome, prepared: _Prepared, replication: int) -> Run:
        backend = self._source.backend
        wall, cpu = self._began
        return Run(
            origin=backend.origin,
            replication=replication,
            spec=prepared.spec,
            tables=outcome.tables,
            meta={
                "name": prepared.spec["name"],
                "seed": prepared.spec["seed"],
                "replication": replication,
                "backend": backend.name,
                "versions": {"dumbbell": package_version(), **backend.versions(prepared.spec)},
                "events": outcome.events,
                "digest": outcome.digest,
                **outcome.meta,
            },
            provenance={
                **host_provenance(),
                "threads": self._threads,
                # The estimate, to compare with the actual ``meta["events"]`` and ``memory_bytes``.
                "expected_events": prepared.cost.events,
                "expected_memory_bytes": prepared.cost.memory_bytes,
                **outcome.cost,
                # Replications in threads of one process have no CPU time of their own; only the
                # batch has.
                "batch_wall_s": time.monotonic() - wall,
                "batch_cpu_s": time.process_time() - cpu,
            },
            files=outcome.files,
        )


def _chain(first: Job, rest: Iterator[Job]) -> Iterator[Job]:
    yield first
    yield from rest


def _run_error(failures: list[Failure]) -> RunError:
    first = failures[0]
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    return RunError(f"replication {first.replication} failed: {first.message}{more}", first.kind)
