"""The packet-level simulator."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dumbbell import _engine
from dumbbell.backends.base import Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.captures import CaptureFolder, asks_for_capture
from dumbbell.backends.memory import MemoryLimit
from dumbbell.errors import FailureKind, SpecError
from dumbbell.folders import no_room
from dumbbell.spec.programs import refuse_simulated
from dumbbell.tables import Origin

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

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """The engine's version."""
        return {"engine": _engine.__version__}

    def check(self, resolved_json: str) -> Cost:
        """Check a description and foresee its cost.

        Raises:
            SpecError: It cannot be run.
        """
        if '"programs":' in resolved_json:
            refuse_simulated(json.loads(resolved_json))
        try:
            estimate = _engine.check(resolved_json)
        except _engine.SpecInvalid as error:
            raise _spec_error(error) from None
        return Cost(estimate.events, estimate.memory_bytes, estimate.cpu_ns * 1e-9)

    def start(
        self,
        jobs: Iterator[Job],
        *,
        threads: int,
        cancel: _engine.Cancel,
        memory: MemoryLimit,
    ) -> Batch:
        """Begin to run jobs on worker threads that never touch Python."""
        return _SimulatorBatch(jobs, threads, cancel, memory)


class _SimulatorBatch:
    def __init__(
        self, jobs: Iterator[Job], threads: int, cancel: _engine.Cancel, memory: MemoryLimit
    ) -> None:
        # By place among the jobs, of those that write a capture.
        self._folders: dict[int, CaptureFolder] = {}
        triples = self._with_captures(jobs)
        self._stream = _engine.simulate(
            triples, threads=threads, cancel=cancel, memory_bytes=memory.asked_bytes
        )
        self._memory = memory

    def _with_captures(self, jobs: Iterator[Job]) -> Iterator[tuple[str, int, str | None]]:
        for index, job in enumerate(jobs):
            path = None
            if asks_for_capture(job.resolved_json):
                self._folders[index] = folder = CaptureFolder()
                path = str(folder.file)
            yield job.resolved_json, job.replication, path

    def _look_at_memory(self) -> None:
        """Tell the runs what is left: others use memory too, and so do tables that are kept."""
        left_bytes = self._memory.left_bytes()
        if left_bytes is not None:
            self._stream.set_memory_left(left_bytes)

    def poll(self, timeout_s: float) -> Outcome | None:
        self._look_at_memory()
        try:
            completed = self._stream.poll(timeout_s)
        except _engine.SpecInvalid as error:
            raise _spec_error(error) from None
        if completed is None:
            return None
        folder = self._folders.pop(completed.index, None)
        if completed.error is not None:
            full = None
            if folder is not None:
                full = no_room(folder.file.parent)
                folder.remove()
            if folder is not None and full is not None:
                raise OSError(full.errno, full.strerror, str(folder.file))
            kind = FailureKind.FAILED
            if completed.failure is not None:
                kind = _KINDS.get(completed.failure, kind)
            return Outcome(completed.index, {}, 0, "", completed.error, kind)
        tables = completed.take_tables()
        files, meta = ({}, {}) if folder is None else folder.kept()
        return Outcome(
            completed.index,
            tables,
            completed.events,
            completed.digest,
            cost={"memory_bytes": completed.memory_bytes},
            meta=meta,
            files=files,
        )

    @property
    def done(self) -> bool:
        return self._stream.done

    def progress(self) -> BatchProgress:
        now = self._stream.progress()
        return BatchProgress(
            now.started, now.finished, now.running, now.virtual_fraction, now.events
        )


def _spec_error(error: _engine.SpecInvalid) -> SpecError:
    return SpecError(error.path, error.value, error.allowed, error.hint)


BACKEND = Simulator()
