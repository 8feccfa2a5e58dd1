"""The backend ``kernel``: the Linux kernel in virtual time, one process per replication."""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from dumbbell import _engine
from dumbbell.backends.base import Batch, BatchProgress, Cost, Job, Outcome
from dumbbell.backends.kernel.cache import KernelInfo, require_kernel
from dumbbell.backends.kernel.capabilities import capabilities_for
from dumbbell.backends.kernel.captures import CAPTURE, captures, kept_files
from dumbbell.backends.kernel.confinement import ConfinementMethod, best_confinement
from dumbbell.backends.kernel.controllers import built_modules, module_versions
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import check_kernel_can, job, watched_packets
from dumbbell.backends.kernel.launch import launch
from dumbbell.backends.kernel.login import SHOWN
from dumbbell.backends.kernel.program_tasks import (
    most_written_bytes,
    program_bytes,
    program_jobs,
    program_login,
    program_packets,
    read_programs,
    unfinished_programs,
    written_files,
)
from dumbbell.backends.kernel.programs import (
    asked_tools,
    check_programs,
    files_read_inside,
    host_tools,
    program_hashes,
)
from dumbbell.backends.kernel.tables import read_result
from dumbbell.backends.kernel.tool_library import tool_library, tool_library_versions
from dumbbell.backends.kernel.traffic import description_of_player, player_of, traffic_versions
from dumbbell.backends.memory import MemoryLimit
from dumbbell.errors import DumbbellError, FailureKind, RunError, SpecError
from dumbbell.spec import Resolved
from dumbbell.spec.programs import GUEST, programs_of, runs_commands, starts_others
from dumbbell.spec.resolved import Source
from dumbbell.tables import Origin, RunFile

EVENTS_PER_S = 3e4
"""Pessimistic speed, in simulator events per second, for estimates of wall time."""
BOOT_S = 1.0

_PATIENCE = 10
_LEAST_WALL_LIMIT_S = 120.0
_COMMANDS_WALL_S = 6.0
"""Wall time per simulated second with arbitrary command lines: a full link of 50 Mbit/s."""
_BASE_MEMORY_MB = 256
_FULL_SOCKETS_BYTES = 6 * 2**20
"""Memory of a full send buffer (`tcp_wmem`) and the receiver's queue."""
_LOOP_SOCKETS_BYTES = 2**20
"""Memory for a closed loop, which seldom has more in flight."""
_MOST_SOCKETS_BYTES = 4 * 2**30
_WATCHED_PACKET_BYTES = 128
"""Memory per packet observed at a queue. A guest with too little memory rereads its own program
from disk, which made it several times slower.
"""
_IRTT_SESSION_BYTES = 48 * 2**20
"""Memory of an irtt client and server; the program itself takes more than half."""
_IRTT_ROUND_TRIP_BYTES = 4096
"""Memory of the irtt client per round trip, report included."""
OURSELVES = "/proc/self/exe"
"""The guest's own program in a host with logins: its real path may be covered by the host's own
/tmp or home.
"""


class Kernel:
    """The backend ``kernel``."""

    name: Final = "kernel"
    origin: Final[Origin] = "kernel"

    def versions(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Versions of kernel, timer frequency, programs in a guest, and the confinement."""
        kernel = kernel_of(spec)
        return {
            "engine": _engine.__version__,
            "kernel": kernel.release,
            "kernel_hz": kernel.hz,
            "kernel_sha256": kernel.sha256,
            "kernel_recipe_sha256": kernel.recipe,
            **program_hashes(asked_tools(spec)),
            "guest_confined_by": str(best_confinement().means),
            **({"controllers": found} if (found := module_versions(spec)) else {}),
            **traffic_versions(spec),
            **tool_library_versions(),
        }

    def check(self, resolved_json: str) -> Cost:
        """Check a description and estimate its cost.

        Raises:
            SpecError: The kernel cannot run it.
            KernelMissingError: No kernel with this number of timer ticks has been built.
            GuestMissingError: The guest has not been built.
            RunError: A tool of the host is not installed.
        """
        try:
            estimate = _engine.check(resolved_json, simulated=False)
        except _engine.SpecInvalid as error:
            raise SpecError(error.path, error.value, error.allowed, error.hint) from None
        resolved = json.loads(resolved_json)
        check_kernel_can(resolved, capabilities_for(resolved))
        kernel_of(resolved)
        guest_program()
        built_modules(resolved_json)
        player_of(resolved)
        check_programs(resolved)
        host_tools(asked_tools(resolved))
        if runs_commands(resolved) and best_confinement().means is ConfinementMethod.NOTHING:
            raise RunError(
                "command lines run only where this machine holds a guest to its files, and here is "
                f"{best_confinement()}"
            )
        memory_bytes = estimate.memory_bytes + _BASE_MEMORY_MB * 2**20
        memory_bytes += socket_bytes(Resolved(resolved)) + irtt_bytes(Resolved(resolved))
        of_programs = program_packets(resolved)
        events = estimate.events + int(of_programs * len(Resolved(resolved).queues))
        watched = min(watched_packets(resolved), events)
        memory_bytes += _WATCHED_PACKET_BYTES * watched + 2 * program_bytes(resolved)
        wall_s = BOOT_S + events / EVENTS_PER_S
        if runs_commands(resolved):
            wall_s += _COMMANDS_WALL_S * resolved["duration_ns"] / 1e9
        return Cost(events, memory_bytes, wall_s)

    def start(
        self,
        jobs: Iterator[Job],
        *,
        threads: int,
        cancel: _engine.Cancel,
        memory: MemoryLimit,
    ) -> Batch:
        """Start running jobs, each in its own kernel with a fixed amount of memory."""
        return _KernelBatch(self, jobs, threads, cancel)


class _KernelBatch:
    """One thread per guest, which waits for it."""

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
            try:
                folder = RunFolder()
            except OSError as error:  # a full disk
                self._running[index] = Path()
                self._ended.put(_failed(index, f"no folder for the guest: {error}"))
                continue
            self._running[index] = folder.path
            arguments = (index, job, folder)
            threading.Thread(target=self._run, args=arguments, name=f"guest-{index}").start()

    def _run(self, index: int, job: Job, folder: RunFolder) -> None:
        """Run a job and queue its outcome, whatever happens."""
        try:
            outcome = self._outcome(index, job, folder)
        except (DumbbellError, OSError, ValueError) as error:
            outcome = _failed(index, f"the guest could not be run: {error}")
        except BaseException as error:
            outcome = _failed(index, f"{type(error).__name__}: {error}")
            raise
        finally:
            if not outcome.files:
                folder.remove()
            self._ended.put(outcome)

    def _outcome(self, index: int, asked: Job, run_folder: RunFolder) -> Outcome:
        folder = run_folder.path
        resolved = json.loads(asked.resolved_json)
        output = folder / "output"
        output.mkdir()
        job_file = folder / "job.json"
        wanted = asked_tools(resolved)
        tools, readable = host_tools(wanted), files_read_inside(wanted)
        programs = login = None
        if programs_of(resolved):
            # Whole folders first: files inside them are then already mounted.
            readable = [*(SHOWN if starts_others(resolved) else ()), *readable]
            of_programs = {**tools, GUEST: OURSELVES}
            programs = program_jobs(resolved, asked.replication, of_programs)
            login = program_login(resolved, output, readable)
        modules = built_modules(asked.resolved_json)
        readable = [*readable, *(path for path, _ in modules.values())]
        player = player_of(resolved)
        library = tool_library()
        readable = [*readable, *(path for path in (player.module, library) if path is not None)]
        controllers = [
            {"module": str(path), "name": module.name, "flows": flows}
            for module, (path, flows) in modules.items()
        ]
        text = job(
            *(asked.resolved_json, asked.replication, output, tools),
            login=login,
            programs=programs,
            controllers=controllers,
            player=player,
            tool_library=library,
        )
        job_file.write_text(text, encoding="utf-8")
        cost = self._backend.check(asked.resolved_json)
        most_written = None
        if programs is not None:
            most_written = most_written_bytes(resolved, asked.replication, cost.memory_bytes)
        ended = launch(
            kernel_of(resolved).path,
            guest_program(),
            run_dir=folder,
            seed=kernel_seed(asked),
            wall_limit_s=max(_LEAST_WALL_LIMIT_S, _PATIENCE * cost.wall_s),
            memory_mb=cost.memory_bytes // 2**20 + 1,
            env={"DUMBBELL_JOB": str(job_file)},
            readable=readable,
            cancelled=self._cancel.is_set,
            most_written_bytes=most_written,
        )
        result = read_result(output) if ended.ok else None
        if result is None:
            # The run's folder is removed, so the path of the console would be useless.
            why = ended.why().replace(f" ({ended.console})", "")
            if (ended.timed_out or ended.overfull) and (said := unfinished_programs(output)):
                why = f"{why}\n  {said}"
            kind = FailureKind.CANCELLED if ended.cancelled else FailureKind.FAILED
            return Outcome(index, {}, 0, "", why, kind)
        cost_of_run = {"wall_s": ended.wall_s, "cpu_s": ended.cpu_s}
        meta: dict[str, Any] = {
            "longest_lateness_ns": result.longest_lateness_ns,
            "unknown_queues": list(result.unknown_queues),
        }
        meta |= description_of_player(resolved, player, result.module_refused)
        tables, digest = result.tables, result.digest
        written = {CAPTURE: output / CAPTURE} if captures(resolved) else {}
        if programs is not None:
            read = read_programs(resolved, asked.replication, output)
            tables |= read.tables
            digest = hashlib.sha256(f"{digest} {read.digest}".encode()).hexdigest()
            if read.series_names:
                meta["series_names"] = list(read.series_names)
            written |= written_files(resolved, asked.replication, output)
        files: dict[str, RunFile] = {}
        if written:
            files, of_files = kept_files(run_folder, written)
            meta |= of_files
        return Outcome(
            index,
            tables,
            result.events,
            digest,
            cost=cost_of_run,
            meta=meta,
            files=files,
        )


def kernel_of(resolved: Mapping[str, Any]) -> KernelInfo:
    """The kernel that a description asks for, with its timer frequency.

    Raises:
        KernelMissingError: This kernel has not been built.
    """
    asked = Resolved(resolved)
    return require_kernel(asked.timer_hz, asked.kernel)


def kernel_seed(job: Job) -> int:
    """Seed of the kernel's own random numbers (RED's drops, netem's losses)."""
    seed = json.loads(job.resolved_json)["seed"]
    text = f"dumbbell kernel {seed} {job.replication}".encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "little")


def _failed(index: int, why: str) -> Outcome:
    return Outcome(index, {}, 0, "", why)


def _share_done(folder: Path) -> float:
    """Progress that the guest reports, from 0 to 1."""
    try:
        return min(1.0, float((folder / "output/progress").read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0.0


BACKEND = Kernel()


def socket_bytes(resolved: Resolved) -> int:
    """Memory of a guest that TCP sockets may use.

    Args:
        resolved: The description.

    Returns:
        At most 4 GiB: a larger number of flows does not fill all buffers at once.
    """
    total = sum(_flow_bytes(flow.source) for flow in resolved.flows if flow.transport == "tcp")
    return min(total, _MOST_SOCKETS_BYTES)


def irtt_bytes(resolved: Resolved) -> int:
    """Memory of a guest that irtt programs may use.

    Args:
        resolved: The description.
    """
    sessions = [probe for probe in resolved.probes if probe.kind == "irtt"]
    trips = sum(probe.count or resolved.duration_ns // probe.interval_ns + 1 for probe in sessions)
    return len(sessions) * _IRTT_SESSION_BYTES + trips * _IRTT_ROUND_TRIP_BYTES


def _flow_bytes(source: Source) -> int:
    if source.kind == "sized":
        return min(2 * source.bytes, _FULL_SOCKETS_BYTES)
    return _LOOP_SOCKETS_BYTES if source.kind == "closed_loop" else _FULL_SOCKETS_BYTES
