"""A session of shells in the hosts of an experiment, on the kernel in virtual time.

The guest (guest/src/shell.rs) reads orders from files and writes events to another file. Before it
reads the next orders it opens a gate, a file on which we hold a lease (``F_SETLEASE``, fcntl(2)).
The open blocks, and with it the kernel and its clock. The kernel is then stopped (SIGSTOP), so that
the lease is not broken after ``lease-break-time`` (45 s). On file systems without leases the guest
polls until it is stopped.
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
from dumbbell.backends.kernel.backend import Kernel, kernel_of, kernel_seed
from dumbbell.backends.kernel.capabilities import capabilities_for
from dumbbell.backends.kernel.folders import RunFolder, remove_left_folders
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.backends.kernel.job import check_kernel_can, job
from dumbbell.backends.kernel.launch import LaunchResult, launch
from dumbbell.backends.kernel.login import SHOWN, Login
from dumbbell.backends.kernel.programs import files_read_inside, host_tools
from dumbbell.backends.kernel.session_orders import Order
from dumbbell.backends.kernel.tool_library import tool_library
from dumbbell.errors import DumbbellError, RunError

PATIENCE_S = 120.0
"""Wall time without progress that is allowed while virtual time should pass."""
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
    """Limits of a session.

    Attributes:
        patience_s: Wall time without progress that is allowed once the session runs.
        longest_wait_ns: Longest virtual wait without an end of its own.
        most_output_bytes: Largest output of a typed line.
        memory_mb: Memory of the guest, including homes and programs.
        most_written_bytes: Limit on all files that the session leaves on disk (homes, terminal
            output); beyond it the session is ended.
    """

    patience_s: float = PATIENCE_S
    longest_wait_ns: int = LONGEST_WAIT_NS
    most_output_bytes: int = MOST_OUTPUT_BYTES
    memory_mb: int = MEMORY_MB
    most_written_bytes: int = MOST_WRITTEN_BYTES


class Session:
    """A session, from start to end: a context manager.

    ``events`` yields events until the guest asks for orders; ``give`` sends them.
    """

    def __init__(self, resolved_json: str, limits: Limits | None = None) -> None:
        """Check that the session can run here.

        Args:
            resolved_json: Canonical description; its traffic is ignored.
            limits: The default limits when None.

        Raises:
            SpecError: The description cannot be run on the kernel.
            KernelMissingError: No kernel has been built (or no guest: GuestMissingError).
            RunError: A tool of the host is not installed.
        """
        self._json = resolved_json
        self._limits = limits or Limits()
        resolved = json.loads(resolved_json)
        check_kernel_can(resolved, capabilities_for(resolved))
        self._kernel = kernel_of(resolved)
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
        """End the kernel and remove its folder."""
        self._cancel.set()
        self._go_on()
        self._gate.open()
        self._thread.join()
        self._folder.remove()

    def events(self, *, paced_at: float | None = None) -> Iterator[Event]:
        """Events until orders are wanted or the session has ended.

        Args:
            paced_at: Largest speed, in virtual seconds per second of wall time; unlimited when
                None.

        Raises:
            RunError: There was no progress for too long, or the guest failed.
        """
        last_s = time.monotonic()
        limit_s = self._limits.patience_s
        if not self._read_bytes:
            # Locating its programs and booting are not limited: they depend on the machine.
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
        """Send orders to the guest, which must have asked for them, and let it continue."""
        assert self._asked is not None, "it has not asked"
        number = self._asked
        self._asked = None
        # A request to stop waiting that arrived after the wait had ended must not affect the next
        # one.
        self._stop.unlink(missing_ok=True)
        text = json.dumps([order.for_guest() for order in orders])
        part = self._orders / "order.part"
        part.write_text(text, encoding="utf-8")
        part.rename(self._orders / f"order-{number}")
        before, self._gate = self._gate, _Gate(self._orders / f"gate-{number + 1}")
        before.open()
        self._go_on()

    def end_wait(self) -> None:
        """End the present wait; takes effect at the guest's next tick."""
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
            library = tool_library()
            text = job(
                *(self._json, 0, folder, host_tools()),
                login=Login(self.homes),
                shell=asked,
                tool_library=library,
            )
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
                readable=[*files_read_inside(), *SHOWN, *([] if library is None else [library])],
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
            if self._gate.is_being_opened():
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
        """Copy the files in the hosts' homes: one folder per host, none that is empty.

        Args:
            folder: Target folder, which is created.
        """
        for home in sorted(self.homes.iterdir()):
            if any(home.iterdir()):
                # Links are not followed, even if the guest could create them unconfined.
                shutil.copytree(home, folder / home.name, symlinks=True)


class StuckError(RunError):
    """There was no progress for too long: a program computes without end."""

    def __init__(self, patience_s: float) -> None:
        """State the limit in the message."""
        super().__init__(
            f"nothing happened for {patience_s:.0f} s of wall time: something computes without end"
        )


class _Pace:
    """How far virtual time is ahead of the given pace, measured from the first event."""

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
    """A leased file: another process that opens it blocks."""

    def __init__(self, path: Path) -> None:
        import fcntl

        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._is_leased = False
        with contextlib.suppress(OSError):
            # Signal with no default action; the default SIGIO would end a process.
            fcntl.fcntl(self._file, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(self._file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            self._is_leased = True

    def is_being_opened(self) -> bool:
        """Whether a process is opening it; without a lease, whether one may have been."""
        import fcntl

        if not self._is_leased:
            return True
        return fcntl.fcntl(self._file, fcntl.F_GETLEASE) != fcntl.F_WRLCK

    def open(self) -> None:
        """Let the waiting process continue."""
        if self._file >= 0:
            os.close(self._file)  # this also ends the lease
            self._file = -1
