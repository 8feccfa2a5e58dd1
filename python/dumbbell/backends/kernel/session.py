"""A session of shells in the hosts of an experiment, inside the kernel in virtual time.

The guest (guest/src/shell.rs) reads orders from files and tells events in another. Before it looks
for the next orders it opens a gate, a file that is leased (``F_SETLEASE``, fcntl(2)): the open is
held back, and with it the kernel and its clock. So that the lease is not broken after
``lease-break-time`` (45 s), the kernel is stopped meanwhile (SIGSTOP). Where a file system has no
leases, the guest asks again and again until it is stopped.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from dumbbell.backends.base import Job
from dumbbell.backends.kernel import command_not_found
from dumbbell.backends.kernel.backend import Kernel, kernel_seed, the_kernel
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import check_kernel_can, job
from dumbbell.backends.kernel.launch import LaunchResult, launch
from dumbbell.backends.kernel.login import SHOWN, Login
from dumbbell.backends.kernel.programs import files_read_inside, host_tools
from dumbbell.backends.kernel.session_orders import Order
from dumbbell.errors import DumbbellError, RunError

PATIENCE_S = 120.0
"""So long, on the wall clock, may nothing happen while time should pass."""
MEMORY_MB = 1024
LONGEST_WAIT_NS = 3600 * 10**9
MOST_OUTPUT_BYTES = 16 * 2**20
MOST_WRITTEN_BYTES = 4 * 2**30

_LONGEST_S = 7 * 24 * 3600.0
_LOOKED_EVERY_S = 0.004
_SHELLS = (
    ("/bin/bash", "--noprofile", "--norc", "--noediting", "-i"),
    ("/bin/sh", "-i"),
)

Event = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a session may take.

    Attributes:
        patience_s: Wall time in which something has to happen, once the session has begun.
        longest_wait_ns: Virtual time of a wait without an end of its own.
        most_output_bytes: What a typed line may print.
        memory_mb: Of the guest; homes and what programs use lie in it.
        most_written_bytes: Of all files together that the session leaves on the disk, homes and
            what terminals printed; past that it is ended.
    """

    patience_s: float = PATIENCE_S
    longest_wait_ns: int = LONGEST_WAIT_NS
    most_output_bytes: int = MOST_OUTPUT_BYTES
    memory_mb: int = MEMORY_MB
    most_written_bytes: int = MOST_WRITTEN_BYTES


class Session:
    """One, from its beginning to its end: a context.

    ``events`` gives what happens until the guest asks for orders; ``give`` gives them.
    """

    def __init__(self, resolved_json: str, limits: Limits | None = None) -> None:
        """Check that it can be run here.

        Args:
            resolved_json: Canonical description; its traffic is left out.
            limits: The usual ones when None.

        Raises:
            SpecError: The description cannot be run on the kernel.
            KernelMissingError: No kernel has been built; nor may the guest (GuestMissingError).
            RunError: A tool of the host is not there.
        """
        self._json = resolved_json
        self._limits = limits or Limits()
        resolved = json.loads(resolved_json)
        check_kernel_can(resolved)
        self._kernel = the_kernel(resolved)
        guest_program()
        host_tools()
        self.versions = Kernel().versions(resolved)
        self._cancel = threading.Event()
        self._pid: int | None = None
        self._ended: LaunchResult | None = None
        self._failure: BaseException | None = None
        self._asked: int | None = None

    def __enter__(self) -> Self:
        """Start the kernel."""
        remove_left_folders()
        self._folder = RunFolder()
        path = self._folder.path
        self.homes = path / "homes"
        self._orders = path / "orders"
        for folder in (self.homes, self._orders):
            folder.mkdir()
        self._said = self._orders / "said"
        self._stop = self._orders / "stop"
        self._said.touch()
        self._gate = _Gate(self._orders / "gate-0")
        self._thread = threading.Thread(target=self._run, name="session")
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the kernel, wherever it is, and remove its folder."""
        self._cancel.set()
        self._go_on()
        self._gate.open()
        self._thread.join()
        self._folder.remove()

    def events(self, *, paced_at: float | None = None) -> Iterator[Event]:
        """What happens, until orders are wanted or the session has ended.

        Args:
            paced_at: Virtual seconds a second of the wall clock at most; as fast as it goes when
                None.

        Raises:
            RunError: Nothing moved for too long, or the guest failed.
        """
        last_s = time.monotonic()
        limit_s = self._limits.patience_s
        if not self._read_bytes:
            # Its programs are found and it comes up: how long that takes is the machine's affair.
            limit_s = max(limit_s, PATIENCE_S)
        pace = _Pace(paced_at)
        with self._said.open("rb") as said:
            said.seek(self._read_bytes)
            while True:
                line = said.readline()
                if line.endswith(b"\n"):
                    self._read_bytes += len(line)
                    last_s, limit_s = time.monotonic(), self._limits.patience_s
                    event = json.loads(line)
                    if event["event"] == "asking":
                        self._asked = event["number"]
                        self._hold()
                        yield event
                        return
                    yield event
                    if event["event"] == "beat":
                        self._rest(pace.ahead_s(event["at_ns"]))
                    continue
                said.seek(self._read_bytes)
                if not self._thread.is_alive() and not said.read(1):
                    self._check_end()
                    return
                said.seek(self._read_bytes)
                if time.monotonic() - last_s > limit_s:
                    raise StuckError(limit_s)
                time.sleep(_LOOKED_EVERY_S)

    _read_bytes = 0

    def give(self, orders: Sequence[Order]) -> None:
        """Tell the guest what to do next, when it has asked, and let it go on."""
        assert self._asked is not None, "it has not asked"
        number = self._asked
        self._asked = None
        # A wish that came when its wait was over is not for the next one.
        self._stop.unlink(missing_ok=True)
        text = json.dumps([order.for_guest() for order in orders])
        part = self._orders / "order.part"
        part.write_text(text, encoding="utf-8")
        part.rename(self._orders / f"order-{number}")
        before, self._gate = self._gate, _Gate(self._orders / f"gate-{number + 1}")
        before.open()
        self._go_on()

    def stand_still(self) -> None:
        """Have the present wait end; it does at its next beat."""
        self._stop.touch()

    # --- the kernel's process -----------------------------------------------------------------

    def _run(self) -> None:
        folder = self._folder.path
        try:
            shell = next((words for words in _SHELLS if Path(words[0]).exists()), _SHELLS[-1])
            asked = {
                "folder": str(self._orders),
                "shell": list(shell),
                "environment": [[command_not_found.VARIABLE, command_not_found.function()]],
                "longest_wait_ns": self._limits.longest_wait_ns,
                "most_output_bytes": self._limits.most_output_bytes,
            }
            job_file = folder / "job.json"
            text = job(self._json, 0, folder, host_tools(), login=Login(self.homes), shell=asked)
            job_file.write_text(text, encoding="utf-8")
            self._ended = launch(
                self._kernel.path,
                guest_program(),
                run_dir=folder,
                seed=kernel_seed(Job(self._json, 0)),
                wall_limit_s=_LONGEST_S,
                memory_mb=self._limits.memory_mb,
                most_written_bytes=self._limits.most_written_bytes,
                env={"DUMBBELL_JOB": str(job_file)},
                readable=[*files_read_inside(), *SHOWN],
                cancelled=self._cancel.is_set,
                started=self._started,
            )
        except BaseException as error:
            self._failure = error

    def _started(self, pid: int) -> None:
        self._pid = pid

    def _check_end(self) -> None:
        if isinstance(self._failure, DumbbellError | OSError):
            raise self._failure
        if self._failure is not None:
            raise RunError(f"the guest could not be run: {self._failure}") from self._failure
        assert self._ended is not None
        if not self._ended.ok:
            raise RunError(self._ended.why().replace(f" ({self._ended.console})", ""))

    def _hold(self) -> None:
        """Stop the kernel once it waits at the gate."""
        end_s = time.monotonic() + self._limits.patience_s
        while self._thread.is_alive() and time.monotonic() < end_s:
            if self._gate.somebody_waits():
                self._signal(signal.SIGSTOP)
                return
            time.sleep(_LOOKED_EVERY_S / 4)

    def _go_on(self) -> None:
        self._signal(signal.SIGCONT)

    def _rest(self, seconds: float) -> None:
        if seconds <= 0:
            return
        self._signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self._go_on()

    def _signal(self, number: signal.Signals) -> None:
        if self._pid is not None and self._thread.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def keep(self, folder: Path) -> None:
        """Copy what the hosts left in their homes: a folder a host, none that is empty.

        Args:
            folder: Is made.
        """
        for home in sorted(self.homes.iterdir()):
            if any(home.iterdir()):
                # No link is followed, even where nothing kept the guest from laying one.
                shutil.copytree(home, folder / home.name, symlinks=True)


class StuckError(RunError):
    """Nothing happened for too long: something computes and does not end."""

    def __init__(self, patience_s: float) -> None:
        """Say how long."""
        super().__init__(
            f"nothing happened for {patience_s:.0f} s of wall time: something computes without end"
        )


class _Pace:
    """How far virtual time is ahead of a pace, from the first instant on."""

    def __init__(self, at: float | None) -> None:
        self._at = at
        self._first: tuple[int, float] | None = None

    def ahead_s(self, at_ns: int) -> float:
        now = time.monotonic()
        if self._first is None:
            self._first = (at_ns, now)
        if self._at is None:
            return 0.0
        return (at_ns - self._first[0]) / 1e9 / self._at - (now - self._first[1])


class _Gate:
    """A file: another process that opens it waits."""

    def __init__(self, path: Path) -> None:
        import fcntl

        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._is_leased = False
        with contextlib.suppress(OSError):
            # A signal that nobody minds, in place of SIGIO, which ends a process.
            fcntl.fcntl(self._file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            self._is_leased = True

    def somebody_waits(self) -> bool:
        """Whether it is being opened; where there is no lease, it may have been."""
        import fcntl

        if not self._is_leased:
            return True
        return fcntl.fcntl(self._file, fcntl.F_GETLEASE) != fcntl.F_WRLCK

    def open(self) -> None:
        """Let the waiting process pass."""
        if self._file >= 0:
            os.close(self._file)  # and with it the lease
            self._file = -1
