"""Run a guest: one User-Mode Linux kernel, bounded in wall time, leaving nothing behind.

The kernel is an ordinary process in a process group of its own, started by an ordinary user. What
it writes goes to its folder: the console, and what its init writes through hostfs. However the run
ends, by itself, by its limit, by an exception here (Ctrl-C is one) or by the death of this
process, its processes end too.
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
"""What the guest's wall clock shows when it boots, in nanoseconds: 2023-11-14 22:13:20 UTC."""

CONSOLE = "console.log"
"""File in the run's folder with everything the kernel and its init printed."""

TAIL_BYTES = 4000
"""So much of the console's end goes into a result."""

CONSOLE_MAX_BYTES = 64 * 2**20
"""A guest that prints more than this is ended, before it fills the disk."""

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF
_POLL_S = 0.1
_TERM_S = 1.0
_COMMAND_LINE_MAX = 2048
_SEEDS = 2**64
# Options that User-Mode Linux takes wherever they stand, also among the arguments of init.
_TAKEN = (
    *("mem=", "iomem=", "root=", "debug", "console=", "initrd=", "dtb=", "umid=", "uml_dir="),
    *("--version", "--help", "--showconfig", "noreboot", "nosysemu", "quiet", "xterm="),
    "dumbbell.",
)
_FULL_BYTES = 64 * 1024
"""A file system with less room than this is called full."""

_Ending = Literal["by itself", "too long", "too loud", "too much", "asked"]
_ENV_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class HostRefusesError(RunError):
    """This machine does not let a user run the kernel; the message says what to change."""


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """How a guest ended.

    Attributes:
        exit: Exit status of its init, 0 to 255; negative, the signal that ended the kernel (-6
            after a panic).
        console_tail: End of what was printed.
        console: File with all of it.
        wall_s: Wall time from start to end.
        cpu_s: CPU time of the kernel and of the guest's processes.
        timed_out: Whether it was ended because of the limit of wall time.
        cancelled: Whether it was ended because somebody asked.
        flooded: Whether it was ended because it printed more than `CONSOLE_MAX_BYTES`.
        disk_full: Whether the file system of its folder was full at the end.
        most_written_bytes: What its files were allowed together, where it was ended because they
            were more; else None.
        largest: Which of them was the largest then, as a sentence.
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
        """Whether init ended by itself with status 0."""
        return self.exit == 0 and not (
            self.timed_out or self.cancelled or self.flooded or self.overfull
        )

    @property
    def overfull(self) -> bool:
        """Whether it was ended because it wrote more than it may."""
        return self.most_written_bytes is not None

    def why(self) -> str:
        """One line on how it ended, then the console's last lines."""
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
    """Boot a kernel on the host's files with a program as its init, and wait for the end.

    The guest's root is the host's, of which it may read what is named here and write to its own
    folder, as far as this machine can hold it to that. It ends when init ends, with its exit
    status.

    Args:
        kernel: The kernel, as `build` makes it.
        init: Program or script that becomes process 1.
        run_dir: An existing folder that nothing else uses: the guest's working files and the
            console go there.
        seed: All randomness inside follows from it; 0 to 2^64 - 1.
        wall_limit_s: The guest is killed after these seconds of wall time in which it had a
            processor, and after ten times as many in any case.
        memory_mb: Memory of the guest, at least 32.
        time_travel: Virtual time; False runs in real time.
        args: Arguments of init.
        env: Environment of init besides HOME and TERM; names in capitals.
        readable: What it may read besides kernel and init: files, and folders with all that is in
            them.
        confinement: By what it is held to that; the best that this machine offers when None.
        cancelled: Asked every tenth of a second; True ends the guest.
        started: Is given the number of the kernel's process, for whoever stops it for a while.
        most_written_bytes: What its files may take together; None without a limit.

    Raises:
        GuestMissingError: The program that confines guests has not been built.
        HostRefusesError: The process cannot be started on this machine.
        ValueError: An argument that cannot be passed on a kernel's command line.
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
            # For kernels without our patch, which sets this itself.
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
            message = why.read()  # until the kernel begins, some milliseconds later
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
        # Relative to the run's folder: it holds a process number while the guest runs.
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
    """A word of the kernel's command line, in quotes where it has spaces."""
    if not text or '"' in text or not text.isprintable():
        raise ValueError(
            f"{text!r}: a kernel's command line takes no empty word, quote or control character"
        )
    return f'"{text}"' if " " in text else text


def _host_environment(run_dir: Path) -> dict[str, str]:
    """What the kernel sees of the host's environment: little, and the same for everybody."""
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": str(run_dir),
        "TMPDIR": str(run_dir),
        "DUMBBELL_PARENT": str(os.getpid()),
    }


@contextlib.contextmanager
def without_address_randomization() -> Iterator[None]:
    """What this thread starts meanwhile has its memory where it always is.

    The personality belongs to the thread: no other one is affected.
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
    """Wait for the end of the process, which is not reaped, or for a reason to end it."""
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
            if written.is_too_much():
                return "too much"


@contextlib.contextmanager
def _exit_awaited(pid: int) -> Iterator[Callable[[float], bool]]:
    """Give a function that waits up to its seconds and says whether the process has ended."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:  # Linux before 5.3, or refused
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
    """End what is left of the guest, reap it, and say what it used.

    A kernel that is asked (SIGTERM) ends and reaps its processes itself. The group is killed while
    its leader still stands in the process table, so that its number cannot mean another group.
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
