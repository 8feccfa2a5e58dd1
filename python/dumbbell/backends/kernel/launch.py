"""Run a guest: one User-Mode Linux kernel with bounded wall time and complete clean-up.

The kernel is an unprivileged process in its own process group. It writes to its folder only: the
console, and files that init writes through hostfs. Its processes end with the run, whether by
itself, by the time limit, by an exception here (such as Ctrl-C), or by the death of this process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from dumbbell.backends.kernel.confinement import SYSTEM, Confinement, best_confinement
from dumbbell.backends.kernel.output_limits import GuestFiles, largest_file
from dumbbell.backends.kernel.patience import Patience
from dumbbell.backends.kernel.processor import children_on, reserved_processor
from dumbbell.errors import RunError
from dumbbell.printable import printable

if TYPE_CHECKING:
    import resource

EPOCH_NS = 1_700_000_000 * 10**9
"""The guest's wall clock at boot, in nanoseconds: 2023-11-14 22:13:20 UTC."""

CONSOLE = "console.log"
"""File in the run's folder with all output of the kernel and init."""

TAIL_BYTES = 4000
"""Length of the end of the console that a result contains."""

CONSOLE_MAX_BYTES = 64 * 2**20
"""Limit of the console's size: a guest that prints more is killed before it fills the disk."""

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF
_POLL_S = 0.1
_TERM_S = 1.0
_COMMAND_LINE_MAX = 2048
_SEEDS = 2**64
# Options that User-Mode Linux accepts anywhere, even among the arguments of init.
_TAKEN = (
    *("mem=", "iomem=", "root=", "debug", "console=", "initrd=", "dtb=", "umid=", "uml_dir="),
    *("--version", "--help", "--showconfig", "noreboot", "nosysemu", "quiet", "xterm="),
    "dumbbell.",
)
_FULL_BYTES = 64 * 1024
"""Free space below which a file system counts as full."""

_Ending = Literal["by itself", "too long", "too loud", "too much", "asked"]
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class HostRefusesError(RunError):
    """A user cannot run the kernel on this machine; the message says what to change."""


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """How a guest ended, and its cost.

    Attributes:
        exit: Exit status of init, 0 to 255; negative: the signal that ended the kernel (-6 after a
            panic).
        console_tail: End of the console's output.
        console: File with all output.
        wall_s: Wall time from start to end.
        cpu_s: CPU time of the kernel and the guest's processes.
        timed_out: Whether it was killed at the limit of wall time.
        cancelled: Whether it was cancelled.
        flooded: Whether it was killed because it printed more than `CONSOLE_MAX_BYTES`.
        disk_full: Whether the file system of its folder was full at the end.
        most_written_bytes: The limit on its files, if it was killed for exceeding it; else None.
        largest: Its largest file at that time, as a sentence.
    """

    exit: int
    console_tail: str
    console: Path
    wall_s: float
    cpu_s: float
    timed_out: bool
    cancelled: bool = False
    flooded: bool = False
    disk_full: bool = False
    most_written_bytes: int | None = None
    largest: str = ""

    @property
    def ok(self) -> bool:
        """Whether init exited with status 0."""
        return self.exit == 0 and not (
            self.timed_out or self.cancelled or self.flooded or self.overfull
        )

    @property
    def overfull(self) -> bool:
        """Whether it was killed for exceeding the limit on its files."""
        return self.most_written_bytes is not None

    def why(self) -> str:
        """One line on how it ended, followed by the console's last lines."""
        if self.timed_out:
            how = f"did not end within {self.wall_s:.0f} s of wall time"
        elif self.cancelled:
            how = "was stopped"
        elif self.flooded:
            how = f"printed more than {CONSOLE_MAX_BYTES / 2**20:.0f} MB"
        elif self.most_written_bytes is not None:
            most_mb = self.most_written_bytes / 2**20
            how = f"wrote more than the {most_mb:.0f} MB that all files of this run may take"
            how += f" ({printable(self.largest)})" if self.largest else ""
        elif "Kernel panic" in self.console_tail:
            how = "panicked"
            if "deadlocked on memory" in self.console_tail:
                how += ": it ran out of memory"
        elif self.exit < 0:
            how = f"was ended by {_signal_name(-self.exit)}"
        else:
            how = f"ended with status {self.exit}"
        if self.disk_full:
            how += f" (no space left on the device of {self.console.parent})"
        lines = self.console_tail.splitlines()
        last = [printable(line) for line in lines if line.strip()][-12:]
        if not last:
            return f"the guest {how}; it printed nothing"
        return "\n  ".join([f"the guest {how}; its console ({self.console}) ends with", *last])


def launch(
    kernel: Path,
    init: Path,
    *,
    run_dir: Path,
    seed: int,
    wall_limit_s: float,
    memory_mb: int = 256,
    time_travel: bool = True,
    args: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    readable: Iterable[Path] = SYSTEM,
    confinement: Confinement | None = None,
    cancelled: Callable[[], bool] | None = None,
    started: Callable[[int], None] | None = None,
    most_written_bytes: int | None = None,
) -> LaunchResult:
    """Boot a kernel on the host's files with a program as init, and wait for its end.

    The guest's root is the host's. It may read the files named here and write to its own folder, as
    far as this machine can enforce that. It ends when init ends, with the same exit status.

    Args:
        kernel: The kernel, as `build` makes it.
        init: Program or script that becomes process 1.
        run_dir: An existing, unused folder for the guest's working files and console.
        seed: Seed of all random numbers in the guest; 0 to 2^64 - 1.
        wall_limit_s: Wall time in which the guest had a processor after which it is killed, s; in
            any case after ten times as much wall time.
        memory_mb: Memory of the guest, at least 32.
        time_travel: Whether to use virtual time; False runs in real time.
        args: Arguments of init.
        env: Environment of init besides HOME and TERM; names in upper case.
        readable: Files and folders (with all contents) that it may read besides kernel and init.
        confinement: How it is confined; the best method available when None.
        cancelled: Called every tenth of a second; True ends the guest.
        started: Called with the id of the kernel's process, for callers that suspend it.
        most_written_bytes: Limit on the total size of its files; None without a limit.

    Raises:
        GuestMissingError: The confining program has not been built.
        HostRefusesError: The process cannot be started on this machine.
        ValueError: An argument cannot be passed on a kernel's command line.
    """
    run_dir = run_dir.resolve(strict=True)
    kernel, init = kernel.resolve(strict=True), init.resolve(strict=True)
    command = _command_line(kernel, init, seed, memory_mb, time_travel)
    command += _init_words(args, env or {})
    if sum(len(os.fsencode(word)) + 1 for word in command[1:]) >= _COMMAND_LINE_MAX:
        raise ValueError("the kernel's command line would be longer than 2048 bytes")
    held = confinement or best_confinement()
    seen = [init, *readable]
    console = run_dir / CONSOLE
    process = None
    ending: _Ending = "asked"
    began = time.monotonic()
    with reserved_processor() as processor:
        try:
            with children_on(processor):
                process = _started(command, held, seen, run_dir)
            if started is not None:
                started(process.pid)
            # For kernels without our patch, which sets this by itself.
            with contextlib.suppress(OSError, ValueError):
                import resource

                resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
            written = GuestFiles(process.pid, run_dir, most_written_bytes)
            ending = _wait(process.pid, wall_limit_s, console, cancelled, written)
        finally:
            usage = _end(process) if process else None
            shutil.rmtree(run_dir / "uml", ignore_errors=True)
    assert usage is not None
    return LaunchResult(
        exit=process.returncode,
        console_tail=_tail(console),
        console=console,
        wall_s=time.monotonic() - began,
        cpu_s=usage.ru_utime + usage.ru_stime,
        timed_out=ending == "too long",
        cancelled=ending == "asked",
        flooded=ending == "too loud",
        disk_full=shutil.disk_usage(run_dir).free < _FULL_BYTES,
        most_written_bytes=most_written_bytes if ending == "too much" else None,
        largest=largest_file(run_dir / "output") if ending == "too much" else "",
    )


def _started(
    command: list[str], confinement: Confinement, readable: list[Path], run_dir: Path
) -> subprocess.Popen[bytes]:
    told, failure = os.pipe()
    with open(told, encoding="utf-8", errors="replace") as why:  # noqa: PTH123
        try:
            command = confinement.confined(
                command, readable=readable, folder=run_dir, failure_fd=failure
            )
            process = _popen(command, run_dir, failure)
        except OSError as error:
            raise HostRefusesError(f"{command[0]}: cannot be started: {error.strerror}") from error
        finally:
            os.close(failure)
        try:
            message = why.read()  # until the kernel starts, a few milliseconds later
        except BaseException:
            _end(process)
            raise
    if message:
        _end(process)
        raise HostRefusesError(message)
    return process


def _popen(command: list[str], run_dir: Path, failure_fd: int) -> subprocess.Popen[bytes]:
    with (run_dir / CONSOLE).open("wb") as output, without_address_randomization():
        return subprocess.Popen(
            command,
            cwd=run_dir,
            env=_host_environment(run_dir),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=(failure_fd,),
        )


def _command_line(
    kernel: Path, init: Path, seed: int, memory_mb: int, time_travel: bool
) -> list[str]:
    if not 0 <= seed < _SEEDS:
        raise ValueError(f"seed {seed} is not between 0 and 2^64 - 1")
    if memory_mb < 32:
        raise ValueError(f"memory_mb {memory_mb} is less than 32")
    words = [
        str(kernel),
        f"mem={memory_mb}M",
        f"dumbbell.seed={seed}",
        # Relative to the run's folder: it contains a process id while the guest runs.
        "uml_dir=uml",
        "umid=guest",
        "noreboot",
        "quiet",
        "loglevel=4",
        "console=tty0",
        "con=null",
        "con0=null,fd:1",
        "oops=panic",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        f"init={_quoted(str(init))}",
    ]
    if time_travel:
        words += ["time-travel=inf-cpu", f"time-travel-start={EPOCH_NS}"]
    return words


def _init_words(args: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Environment and arguments of init as words of the kernel's command line."""
    words = []
    for name, value in env.items():
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{name!r}: names are of capitals, digits and underscores")
        words.append(f"{name}={_quoted(value)}")
    for arg in args:
        if arg.startswith(_TAKEN):
            raise ValueError(f"{arg!r}: the kernel would take this for an option of its own")
    return [*words, "--", *(_quoted(arg) for arg in args)] if args else words


def _quoted(text: str) -> str:
    """A word of the kernel's command line, quoted if it contains spaces."""
    if not text or '"' in text or not text.isprintable():
        raise ValueError(
            f"{text!r}: a kernel's command line takes no empty word, quote or control character"
        )
    return f'"{text}"' if " " in text else text


def _host_environment(run_dir: Path) -> dict[str, str]:
    """The environment of the kernel's process: minimal, and the same for every user."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(run_dir),
        "TMPDIR": str(run_dir),
        "DUMBBELL_PARENT": str(os.getpid()),
    }


@contextlib.contextmanager
def without_address_randomization() -> Iterator[None]:
    """Start processes from this thread without address space randomization.

    The personality is a property of the thread: other threads are not affected.
    """
    personality = ctypes.CDLL(None, use_errno=True).personality
    personality.argtypes = [ctypes.c_ulong]
    before = personality(_ASK_PERSONALITY)
    if before < 0 or personality(before | _ADDR_NO_RANDOMIZE) < 0:
        raise HostRefusesError(
            "personality(ADDR_NO_RANDOMIZE) is refused here, so runs would not repeat: a "
            "container's seccomp profile does that (docker run --security-opt seccomp=unconfined)"
        )
    try:
        yield
    finally:
        personality(before)


def _wait(
    pid: int,
    limit_s: float,
    console: Path,
    cancelled: Callable[[], bool] | None,
    written: GuestFiles,
) -> _Ending:
    """Wait until the process ends (it is not reaped) or must be killed."""
    patience = Patience(pid, limit_s)
    with _exit_awaited(pid) as wait_for_exit:
        while True:
            left = patience.left_s()
            if left <= 0:
                return "too long"
            if wait_for_exit(min(left, _POLL_S)):
                return "by itself"
            if cancelled is not None and cancelled():
                return "asked"
            if console.stat().st_size > CONSOLE_MAX_BYTES:
                return "too loud"
            if written.is_exceeded():
                return "too much"


@contextlib.contextmanager
def _exit_awaited(pid: int) -> Iterator[Callable[[float], bool]]:
    """Return a function that waits up to the given seconds and tells whether the
    process has ended.
    """
    try:
        fd = os.pidfd_open(pid)
    except OSError:  # Linux before 5.3, or not permitted
        yield lambda seconds: _polled_exit(pid, seconds)
        return
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        yield lambda seconds: bool(poll.poll(max(1, round(1000 * seconds))))
    finally:
        os.close(fd)


def _polled_exit(pid: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= until:
            return False
        time.sleep(0.01)
    return True


def _end(process: subprocess.Popen[bytes]) -> resource.struct_rusage:
    """Kill the rest of the guest, reap it, and return its resource usage.

    On SIGTERM the kernel ends and reaps its processes itself. The group is killed while its leader
    is still in the process table, so that its id cannot belong to another group.
    """
    pid = process.pid
    try:
        with _exit_awaited(pid) as wait_for_exit:
            if not wait_for_exit(0.001):
                os.kill(pid, signal.SIGTERM)
                wait_for_exit(_TERM_S)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def _tail(console: Path) -> str:
    with console.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - TAIL_BYTES))
        return stream.read().decode("utf-8", "replace").replace("\r\n", "\n")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
