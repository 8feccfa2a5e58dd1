"""The backend ``kernel``: the real Linux kernel in virtual time, a process a replication."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dumbbell import _engine
from dumbbell.backends.base import Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.kernel.cache import require_kernel
from dumbbell.backends.kernel.job import check_kernel_can, job
from dumbbell.backends.kernel.launch import launch
from dumbbell.backends.kernel.tables import read_result
from dumbbell.errors import DumbbellError, RunError, SpecError
from dumbbell.tables import Origin

EVENTS_PER_S = 3e4
"""A pessimistic speed, in events of the simulator, by which the time of a run is foreseen."""
BOOT_S = 1.0
GUEST = "dumbbell-guest"
GUEST_VARIABLE = "DUMBBELL_GUEST"
"""Names another guest program, for work on it."""

_FOLDER_PREFIX = "dumbbell-kernel-"
_LOCK = "lock"
_PATIENCE = 10
_LEAST_WALL_LIMIT_S = 120.0
_BASE_MEMORY_MB = 256
_SYSTEM_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"


class Kernel:
    """The backend ``kernel``."""

    name: Final = "kernel"
    origin: Final[Origin] = "kernel"

    def versions(self) -> Mapping[str, Any]:
        """Kernel, ticks a second, and hashes of the host's programs that decide the result."""
        kernel = require_kernel()
        return {
            "engine": _engine.__version__,
            "kernel": kernel.release,
            "kernel_hz": kernel.hz,
            "kernel_sha256": kernel.sha256,
            "guest_sha256": _sha256(guest_program()),
            **{f"{name}_sha256": _sha256(Path(path)) for name, path in host_tools().items()},
        }

    def check(self, resolved_json: str) -> Cost:
        """Check a description and foresee its cost.

        Raises:
            SpecError: It cannot be run here.
            KernelMissingError: No kernel has been built.
            RunError: The guest or a tool of the host is not there.
        """
        try:
            estimate = _engine.check(resolved_json)
        except _engine.SpecInvalid as error:
            raise SpecError(error.path, error.value, error.allowed, error.hint) from None
        check_kernel_can(json.loads(resolved_json))
        require_kernel()
        guest_program()
        host_tools()
        memory_bytes = estimate.memory_bytes + _BASE_MEMORY_MB * 2**20
        return Cost(estimate.events, memory_bytes, BOOT_S + estimate.events / EVENTS_PER_S)

    def start(self, jobs: Iterator[Job], *, threads: int, cancel: _engine.Cancel) -> Batch:
        """Begin to run jobs, each in a kernel of its own."""
        return _KernelBatch(self, jobs, threads, cancel)


class _KernelBatch:
    """Threads that each wait for a guest."""

    def __init__(
        self, backend: Kernel, jobs: Iterator[Job], threads: int, cancel: _engine.Cancel
    ) -> None:
        self._backend = backend
        self._jobs = jobs
        self._threads = threads
        self._cancel = cancel
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._running: dict[int, Path] = {}
        self._started = 0
        self._finished = 0
        self._events = 0
        self._all_read = False
        remove_left_folders()

    def poll(self, timeout_s: float) -> Outcome | None:
        self._fill()
        try:
            outcome = self._ended.get(timeout=timeout_s)
        except queue.Empty:
            return None
        self._running.pop(outcome.index)
        self._finished += 1
        self._events += outcome.events
        return outcome

    @property
    def done(self) -> bool:
        self._fill()
        return not self._running

    def progress(self) -> BatchProgress:
        share = sum(map(_share_done, self._running.values()))
        return BatchProgress(self._started, self._finished, len(self._running), share, self._events)

    def _fill(self) -> None:
        while len(self._running) < self._threads and not self._all_read:
            if self._cancel.is_set():
                self._all_read = True
                return
            job = next(self._jobs, None)
            if job is None:
                self._all_read = True
                return
            index = self._started
            self._started += 1
            folder = RunFolder()
            self._running[index] = folder.path
            arguments = (index, job, folder)
            threading.Thread(target=self._run, args=arguments, name=f"guest-{index}").start()

    def _run(self, index: int, job: Job, folder: RunFolder) -> None:
        """Put an outcome, whatever happens."""
        try:
            outcome = self._outcome(index, job, folder.path)
        except (DumbbellError, OSError, ValueError) as error:
            outcome = Outcome(index, {}, 0, "", f"the guest could not be run: {error}")
        except BaseException as error:
            outcome = Outcome(index, {}, 0, "", f"{type(error).__name__}: {error}")
            raise
        finally:
            folder.remove()
            self._ended.put(outcome)

    def _outcome(self, index: int, asked: Job, folder: Path) -> Outcome:
        output = folder / "output"
        output.mkdir()
        job_file = folder / "job.json"
        text = job(asked.resolved_json, asked.replication, output, host_tools())
        job_file.write_text(text, encoding="utf-8")
        cost = self._backend.check(asked.resolved_json)
        ended = launch(
            require_kernel().path,
            guest_program(),
            run_dir=folder,
            seed=kernel_seed(asked),
            wall_limit_s=max(_LEAST_WALL_LIMIT_S, _PATIENCE * cost.wall_s),
            memory_mb=cost.memory_bytes // 2**20 + 1,
            env={"DUMBBELL_JOB": str(job_file)},
            cancelled=self._cancel.is_set,
        )
        result = read_result(output) if ended.ok else None
        if result is None:
            # Nothing of the run is kept, so the console's path would lead nowhere.
            why = ended.why().replace(f" ({ended.console})", "")
            return Outcome(index, {}, 0, "", why, cancelled=ended.cancelled)
        return Outcome(index, result.tables, result.events, result.digest)


class RunFolder:
    """A temporary folder that is known to be in use while this process lives."""

    def __init__(self) -> None:
        """Make and lock it."""
        self.path = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        self._lock = (self.path / _LOCK).open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)

    def remove(self) -> None:
        """Remove it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def remove_left_folders() -> None:
    """Remove the folders of processes that were killed: nobody holds their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER_PREFIX}*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("r+b") as lock:
            if folder.stat().st_uid == os.getuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def kernel_seed(job: Job) -> int:
    """Seed of the kernel's own randomness (RED's drops, netem's losses)."""
    seed = json.loads(job.resolved_json)["seed"]
    text = f"dumbbell kernel {seed} {job.replication}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def guest_program() -> Path:
    """The program that is process 1 of a guest.

    Raises:
        RunError: It has not been built.
    """
    named = os.environ.get(GUEST_VARIABLE)
    package = Path(__file__).resolve().parent
    target = package.parents[3] / "target"
    places = [Path(named)] if named else [package / GUEST]
    if not named:
        built = [target / profile / GUEST for profile in ("dist", "release", "debug")]
        places += sorted(filter(Path.is_file, built), key=lambda p: -p.stat().st_mtime)
    for place in places:
        if os.access(place, os.X_OK):
            return place.resolve()
    raise RunError(f"{GUEST} is not there: run `cargo build --release -p {GUEST}` once")


def host_tools() -> dict[str, str]:
    """Paths of the programs that set up hosts and queues.

    Raises:
        RunError: One of them is not installed.
    """
    found = {name: shutil.which(name, path=_SYSTEM_FOLDERS) for name in ("ip", "tc")}
    tools = {name: path for name, path in found.items() if path is not None}
    if missing := found.keys() - tools.keys():
        names = " and ".join(sorted(missing))
        raise RunError(f"{names} of iproute2 are not installed (Debian: apt-get install iproute2)")
    return tools


@functools.lru_cache(maxsize=16)
def _sha256_of(path: Path, _stamp: tuple[int, int]) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _sha256(path: Path) -> str:
    status = path.stat()
    return _sha256_of(path, (status.st_mtime_ns, status.st_size))


def _share_done(folder: Path) -> float:
    """How far a guest says it is, 0 to 1."""
    try:
        return min(1.0, float((folder / "output/progress").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0.0


BACKEND = Kernel()
