"""Run user-supplied controllers in separate processes, which may crash.

A controller is trusted like any program of the user: it can read and write the user's files. If it
crashes or never returns, only its run fails.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from dumbbell.errors import DumbbellError
from dumbbell.folders.temporary import TemporaryFolder, remove_left
from dumbbell.printable import printable
from dumbbell.tables import Table

STILL_S: Final = 60.0
"""CPU time within which at least one of some thousand events must finish; a controller takes
microseconds.
"""
_LONGEST_WORDS = 300
_PREFIX = "dumbbell-native-"
_CODE = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from dumbbell.backends.native import worker; worker.main()"
)


@dataclass(frozen=True, slots=True)
class IsolatedJob:
    """A replication to run.

    Attributes:
        index: Index among all jobs.
        resolved_json: Canonical description.
        replication: Number of the replication (its random streams).
        capture: File for its capture; None without one.
        objects: Shared objects by the SHA-256 of their sources; None for those from `checking`.
    """

    index: int
    resolved_json: str
    replication: int
    capture: str | None
    objects: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class IsolatedOutcome:
    """Result of a job.

    Attributes:
        index: The job's index.
        tables: Table to column to values; empty after an error.
        events: Number of events processed.
        digest: Hash of the tables' canonical bytes.
        memory_bytes: Accounted memory.
        error: Why there are no tables; None on success.
        failure: Name of a `_engine.RunFailure`; empty if the process died.
    """

    index: int
    tables: Mapping[str, Table]
    events: int
    digest: str
    memory_bytes: int = 0
    error: str | None = None
    failure: str = ""


class IsolatedProcesses:
    """Worker processes, each with a thread that reads its output; started with the first job."""

    def __init__(
        self, most: int, memory_bytes: int | None = None, still_s: float | None = None
    ) -> None:
        """Configure it.

        Args:
            most: Most parallel processes.
            memory_bytes: Memory that all runs may use together; None for the available memory.
            still_s: CPU time without progress after which a run is ended; None for `STILL_S`.
        """
        self._most = max(most, 1)
        self._memory_bytes = None if memory_bytes is None else memory_bytes // self._most
        self._still_s = STILL_S if still_s is None else still_s
        self._waiting: queue.SimpleQueue[IsolatedJob | None] = queue.SimpleQueue()
        self._ended: queue.SimpleQueue[IsolatedOutcome] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._workers: list[_Worker] = []
        self._stopped = False
        self.started = self.finished = 0

    def submit(self, job: IsolatedJob) -> None:
        """Queue a job."""
        self.started += 1
        self._waiting.put(job)
        if len(self._workers) < min(self._most, self.started - self.finished):
            worker = _Worker(self._memory_bytes, self._still_s)
            self._workers.append(worker)
            threading.Thread(target=self._work, args=(worker,), daemon=True).start()

    def next(self, timeout_s: float) -> IsolatedOutcome | None:
        """The next outcome within ``timeout_s`` seconds, or None."""
        try:
            outcome = self._ended.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self.finished += 1
        return outcome

    @property
    def running(self) -> int:
        """Number of jobs submitted whose outcomes were not taken."""
        return self.started - self.finished

    @property
    def share(self) -> float:
        """Sum over running jobs of the fraction of simulated time completed."""
        return sum(worker.share for worker in self._workers)

    @property
    def events(self) -> int:
        """Number of events of the running jobs."""
        return sum(worker.events for worker in self._workers)

    def stop(self) -> None:
        """End all processes now and drop the queued jobs."""
        with self._lock:
            self._stopped = True
            for worker in self._workers:
                worker.kill()
        for _ in self._workers:
            self._waiting.put(None)

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped."""
        return self._stopped

    def _work(self, worker: _Worker) -> None:
        while (job := self._waiting.get()) is not None and not self._stopped:
            try:
                outcome = worker.run(job, self._begun)
            except (DumbbellError, OSError, ValueError) as error:
                outcome = IsolatedOutcome(job.index, {}, 0, "", error=printable(str(error)))
            if self._stopped and outcome.error is not None:
                outcome = replace(outcome, failure="CANCELLED")
            self._ended.put(outcome)
        worker.end()

    @contextlib.contextmanager
    def _begun(self) -> Iterator[bool]:
        """Whether a process may be started: not after `stop`."""
        with self._lock:
            yield not self._stopped


class _Worker:
    """A worker process, restarted after it has died."""

    def __init__(self, memory_bytes: int | None, still_s: float) -> None:
        self.share = 0.0
        self.events = 0
        self._memory_bytes = memory_bytes
        self._still_s = still_s
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        remove_left(_PREFIX)
        self._folder = TemporaryFolder(_PREFIX)

    def run(self, job: IsolatedJob, begun: Any) -> IsolatedOutcome:
        """Run one job."""
        from dumbbell.backends.native.checking import objects_of, source_files_of

        tables = self._folder.path / "tables.npz"
        request = {
            "description": job.resolved_json,
            "replication": job.replication,
            "capture": job.capture,
            "memory_bytes": self._memory_bytes,
            "still_s": self._still_s,
            "controllers": job.objects or objects_of(job.resolved_json),
            "classes": [asdict(each) for each in source_files_of(job.resolved_json)],
            "tables": str(tables),
        }
        with begun() as may_begin:
            if not may_begin:
                return IsolatedOutcome(job.index, {}, 0, "", error="stopped", failure="CANCELLED")
            process = self._started()
        said = self._asked(process, request)
        self.share, self.events = 0.0, 0
        if said is None:
            why = self._last_words()
            error = f"the process that ran the controller ended {why}"
            return IsolatedOutcome(job.index, {}, 0, "", error=error)
        if "error" in said:
            error, failure = printable(said["error"], lines=True), said["failure"]
            return IsolatedOutcome(job.index, {}, 0, "", error=error, failure=failure)
        found = _read_tables(tables)
        numbers = said["events"], said["digest"], said["memory_bytes"]
        return IsolatedOutcome(job.index, found, *numbers)

    def kill(self) -> None:
        """Kill it, from any thread."""
        process = self._process
        if process is not None:
            process.kill()

    def end(self) -> None:
        """End it and clean up."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
        if self._log is not None:
            self._log.close()
            self._log = None
        self._folder.remove()

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `end`
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE, *sys.path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                # Ctrl-C of the terminal goes to the parent, which decides what to do.
                process_group=0,
                # The iteration order of a set of strings depends on the hash seed, and results must
                # not.
                env={**os.environ, "PYTHONUTF8": "1", "PYTHONHASHSEED": "0"},
            )
        return self._process

    def _asked(
        self, process: subprocess.Popen[bytes], request: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """The worker's final message; None if it died first."""
        assert process.stdin is not None
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        for line in process.stdout:
            try:
                said = json.loads(line)
            except ValueError:
                return None
            if "share" not in said:
                return dict(said)
            self.share, self.events = said["share"], said["events"]
        return None

    def _last_words(self) -> str:
        """How it ended and its last output, as part of a sentence."""
        assert self._process is not None
        assert self._log is not None
        status = self._process.wait()
        self._process = None
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        self._log.seek(0)
        text = self._log.read(1 << 16).decode("utf-8", errors="replace")
        self._log.close()
        self._log = None
        lines = text.strip().splitlines()
        return f"{how} ({printable(lines[-1].strip())[:_LONGEST_WORDS]})" if lines else how


def _read_tables(place: Path) -> Mapping[str, Table]:
    tables: dict[str, dict[str, Any]] = {}
    with np.load(place, allow_pickle=False) as columns:
        for name in columns.files:
            table, _, column = name.partition("/")
            tables.setdefault(table, {})[column] = columns[name]
    place.unlink()
    return tables
