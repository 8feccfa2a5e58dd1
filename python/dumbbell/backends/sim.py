"""The packet-level simulator."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from dumbbell import _engine
from dumbbell.backends.base import Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.captures import CaptureFolder, asks_for_capture
from dumbbell.backends.memory import MemoryLimit
from dumbbell.backends.native.isolated import IsolatedJob, IsolatedProcesses
from dumbbell.errors import FailureKind, SpecError
from dumbbell.folders import disk_full_error
from dumbbell.spec.native import (
    CLASS_PREFIX,
    has_own_controller,
    may_have_own_controllers,
)
from dumbbell.tables import Origin, Table

if TYPE_CHECKING:
    from dumbbell.backends.native.python_class import PythonClass

_KINDS: Final[Mapping[_engine.RunFailure, FailureKind]] = {
    _engine.RunFailure.CANCELLED: FailureKind.CANCELLED,
    _engine.RunFailure.STANDSTILL: FailureKind.STANDSTILL,
    _engine.RunFailure.TOO_MANY_EVENTS: FailureKind.TOO_MANY_EVENTS,
    _engine.RunFailure.OUT_OF_MEMORY: FailureKind.OUT_OF_MEMORY,
}


class Simulator:
    """The backend ``sim``."""

    name: Final = "sim"
    origin: Final[Origin] = "simulated"

    def __init__(self, classes: Mapping[tuple[str, str], PythonClass] | None = None) -> None:
        """Create it.

        Args:
            classes: Controllers in Python that the program passes, by the SHA-256 of their text and
                by name.
        """
        self._classes = classes or {}

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Versions of the engine and of user-supplied controllers."""
        versions: dict[str, Any] = {"engine": _engine.__version__}
        if any(has_own_controller(flow["tcp"]) for flow in spec["flows"]):
            from dumbbell.backends.native import controller_versions

            versions["controllers"] = controller_versions(spec)
        return versions

    def check(self, resolved_json: str) -> Cost:
        """Check a description and estimate its cost.

        Raises:
            SpecError: The simulator cannot run it.
        """
        if '"programs":' in resolved_json:
            from dumbbell.spec.programs import refuse_simulated

            refuse_simulated(json.loads(resolved_json))
        if may_have_own_controllers(resolved_json):
            from dumbbell.backends.native import check_controllers

            check_controllers(resolved_json)
        try:
            estimate = _engine.check(resolved_json)
        except _engine.SpecInvalid as error:
            raise spec_error(error) from None
        return Cost(estimate.events, estimate.memory_bytes, estimate.cpu_ns * 1e-9)

    def start(
        self,
        jobs: Iterator[Job],
        *,
        threads: int,
        cancel: _engine.Cancel,
        memory: MemoryLimit,
    ) -> Batch:
        """Start running jobs on worker threads, which use Python only for controllers written in
        it.
        """
        return _SimulatorBatch(jobs, threads, cancel, memory, self._classes)


class _SimulatorBatch:
    def __init__(
        self,
        jobs: Iterator[Job],
        threads: int,
        cancel: _engine.Cancel,
        memory: MemoryLimit,
        classes: Mapping[tuple[str, str], PythonClass],
    ) -> None:
        # Indices of the jobs that write a capture.
        self._folders: dict[int, CaptureFolder] = {}
        # Index among all jobs, for each job of the engine.
        self._places: list[int] = []
        self._isolated = IsolatedProcesses(threads, memory.asked_bytes)
        # Also runs if the remaining outcomes are not taken.
        weakref.finalize(self, self._isolated.stop)
        self._cancel = cancel
        triples = self._with_captures(jobs)
        self._stream = _engine.simulate(
            triples,
            threads=threads,
            cancel=cancel,
            memory_bytes=memory.asked_bytes,
            classes=classes,
        )
        self._memory = memory

    def _with_captures(self, jobs: Iterator[Job]) -> Iterator[tuple[str, int, str | None]]:
        for index, job in enumerate(jobs):
            path = None
            if asks_for_capture(job.resolved_json):
                self._folders[index] = folder = CaptureFolder()
                path = str(folder.file)
            is_given = f'"{CLASS_PREFIX}' in job.resolved_json
            if '"controller":' in job.resolved_json and not is_given:
                self._isolated.submit(IsolatedJob(index, job.resolved_json, job.replication, path))
                continue
            self._places.append(index)
            yield job.resolved_json, job.replication, path

    def _look_at_memory(self) -> None:
        """Tell the runs how much memory is left: other programs and tables that are kept use memory
        too.
        """
        left_bytes = self._memory.left_bytes()
        if left_bytes is not None:
            self._stream.set_memory_left(left_bytes)

    def poll(self, timeout_s: float) -> Outcome | None:
        self._look_at_memory()
        if self._cancel.is_set() and not self._isolated.is_stopped:
            self._isolated.stop()
        if self._stream.done:
            return self._poll_isolated(timeout_s)
        if (outcome := self._poll_isolated(0)) is not None:
            return outcome
        try:
            completed = self._stream.poll(timeout_s)
        except _engine.SpecInvalid as error:
            raise spec_error(error) from None
        if completed is None:
            return None
        index = self._places[completed.index]
        if completed.error is not None:
            return self._failed(index, completed.error, completed.failure)
        return self._finished(
            index,
            completed.take_tables(),
            completed.events,
            completed.digest,
            completed.memory_bytes,
        )

    def _poll_isolated(self, timeout_s: float) -> Outcome | None:
        if self._isolated.running == 0:
            return None
        found = self._isolated.next(timeout_s)
        if found is None:
            return None
        if found.error is not None:
            failure = getattr(_engine.RunFailure, found.failure) if found.failure else None
            return self._failed(found.index, found.error, failure)
        return self._finished(
            found.index, found.tables, found.events, found.digest, found.memory_bytes
        )

    def _failed(self, index: int, error: str, failure: _engine.RunFailure | None) -> Outcome:
        if (folder := self._folders.pop(index, None)) is not None:
            full = disk_full_error(folder.file.parent)
            folder.remove()
            if full is not None:
                raise OSError(full.errno, full.strerror, str(folder.file))
        kind = FailureKind.FAILED
        if failure is not None:
            kind = _KINDS.get(failure, kind)
        return Outcome(index, {}, 0, "", error, kind)

    def _finished(
        self,
        index: int,
        tables: Mapping[str, Table],
        events: int,
        digest: str,
        memory_bytes: int,
    ) -> Outcome:
        folder = self._folders.pop(index, None)
        files, meta = ({}, {}) if folder is None else folder.kept()
        return Outcome(
            index,
            tables,
            events,
            digest,
            cost={"memory_bytes": memory_bytes},
            meta=meta,
            files=files,
        )

    @property
    def done(self) -> bool:
        is_over = self._isolated.running == 0 or self._isolated.is_stopped
        if self._stream.done and is_over:
            self._isolated.stop()
            return True
        return False

    def progress(self) -> BatchProgress:
        now, isolated = self._stream.progress(), self._isolated
        return BatchProgress(
            now.started + isolated.started,
            now.finished + isolated.finished,
            now.running + isolated.running,
            now.virtual_fraction + isolated.share,
            now.events + isolated.events,
        )


def spec_error(error: _engine.SpecInvalid) -> SpecError:
    """Convert the engine's refusal to our error."""
    return SpecError(error.path, error.value, error.allowed, error.hint)


BACKEND = Simulator()
