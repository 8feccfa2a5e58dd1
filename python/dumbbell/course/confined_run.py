"""The process of a submission: started confined, watched, and killed with its children.

One process runs one submission in one experiment, so a failure affects only that submission.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dumbbell.backends import Cancellation
from dumbbell.backends.kernel.confinement import (
    Confinement,
    ConfinementMethod,
    Refusal,
    best_confinement,
)
from dumbbell.backends.native import HEADER
from dumbbell.compare.executing import FailedTask, FinishedTask, Task
from dumbbell.compare.executing.wire import Receiver, tasks_as_json
from dumbbell.course.sealing import has_filter
from dumbbell.course.submissions import Submission
from dumbbell.errors import DumbbellError, RunError
from dumbbell.folders.temporary import TemporaryFolder, remove_left
from dumbbell.printable import printable

IDLE_S: Final = 20.0
"""A waiting process is ended if it did not use the CPU for this time."""
MOST_FOLDER_BYTES: Final = 64 << 20
MOST_SAID_BYTES: Final = 32 << 20
"""Limit of the outcomes' size: the numbers of a thousand runs take some megabytes."""
KEPT_OUTPUT_BYTES: Final = 4000
_BUSY = "RD"
"""States of a thread that is running, runnable, or waiting for a disk."""
_LINES_BEFORE = 2
"""Lines that `worker` writes before it loads a submission."""
_POLL_S = 0.2
_LONGEST_REASON = 4000
_PREFIX = "dumbbell-submission-"
_SYSTEM = tuple(
    Path(place)
    for place in (
        *("/bin", "/lib", "/lib64", "/usr/bin", "/usr/lib", "/usr/lib64", "/usr/libexec"),
        *("/usr/include", "/usr/local/lib", "/usr/local/include"),
        *("/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime"),
    )
)
"""Programs and libraries; without the tables of users."""
_KEPT_VARIABLES = ("PATH", "CC", "LD_LIBRARY_PATH")
_CODE = "import sys; sys.path[:] = sys.argv[1:]; from dumbbell.course import worker; worker.main()"
_PACKAGE = Path(__file__).parents[1]
_NAME_OF_A_COMPILER = re.compile(r"\S*/cc[A-Za-z0-9]{6}(\.[a-z]+)")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{5,16}\b")


class NotConfinedError(DumbbellError):
    """This machine cannot confine a submission, and running unconfined was not allowed."""

    exit_code = 2


def confinement_here(*, is_unconfined_allowed: bool) -> Confinement:
    """How submissions are confined on this machine.

    Args:
        is_unconfined_allowed: Whether the teacher allowed running unconfined.

    Raises:
        NotConfinedError: No method works, and running unconfined was not allowed.
    """
    try:
        found = best_confinement()
    except DumbbellError as error:
        found = Confinement(
            ConfinementMethod.NOTHING, refused=(Refusal(ConfinementMethod.LANDLOCK, str(error)),)
        )
    if not has_filter():
        why = Refusal(
            ConfinementMethod.LANDLOCK, "system calls are filtered on Linux, x86-64, alone"
        )
        found = Confinement(ConfinementMethod.NOTHING, refused=(*found.refused, why))
    if found.means is ConfinementMethod.NOTHING and not is_unconfined_allowed:
        reasons = "; ".join(each.why for each in found.refused)
        raise NotConfinedError(
            "this machine cannot confine submissions to their own folders; they would run with all "
            f"your permissions, so nothing was run ({reasons}). --allow-native runs them anyway: "
            "use it in a virtual machine, or if you have read every file"
        )
    return found


def confinement_sentence(confinement: Confinement) -> str:
    """How a submission is confined, in a sentence for the teacher."""
    if confinement.means is ConfinementMethod.NOTHING:
        return (
            "Submissions are limited in CPU time and memory, but not confined otherwise: "
            "each can read, write and send whatever you can"
        )
    by = "Landlock" if confinement.means is ConfinementMethod.LANDLOCK else "a mount namespace"
    return (
        f"Submissions are confined by {by} and a system call filter: no files but the system's "
        "programs, Python and their own folder, no network, no new processes"
    )


@dataclass
class SubmissionRun:
    """Result of a submission in an experiment.

    Attributes:
        outcomes: Outcome of each task, in order.
        reason: Why the first failed task failed; empty if none did.
        output: The beginning of its output; empty if it was killed from outside, since the moment
            of that varies.
    """

    outcomes: list[FinishedTask | FailedTask] = field(default_factory=list)
    reason: str = ""
    output: str = ""


def run_confined(
    submission: Submission,
    tasks: Sequence[Task],
    *,
    confinement: Confinement,
    time_s: int,
    memory_mb: int,
    imports: Sequence[str],
    cancel: Cancellation | None = None,
) -> SubmissionRun:
    """Run tasks with a submission's controller.

    Args:
        submission: A submission without a fault.
        tasks: Tasks for the simulator.
        confinement: How it is confined.
        time_s: CPU time of all tasks, s.
        memory_mb: Memory in addition to the simulator's own, MiB.
        imports: Modules that a submission in Python may import.
        cancel: Set it to kill the process.

    Raises:
        RunError: No process can be started.
    """
    remove_left(_PREFIX)
    folder = TemporaryFolder(_PREFIX)
    try:
        place = folder.path.resolve()
        source = place / ("submission.py" if submission.is_python else "submission.c")
        source.write_bytes(submission.source)
        request = {
            **tasks_as_json(tasks),
            "source": str(source),
            "shown": Path(submission.file).name,
            "time_s": time_s,
            "memory_bytes": memory_mb << 20,
            "imports": list(imports),
        }
        request["tasks"] = [(described, number) for described, number, _ in request["tasks"]]
        process = _Process(place, confinement)
        try:
            why = process.watched(request, time_s, cancel)
        finally:
            process.end()
        return _ran(process, tasks, why, str(place))
    finally:
        _remove(folder)


class _Process:
    """The process and its output."""

    def __init__(self, folder: Path, confinement: Confinement) -> None:
        self._folder = folder
        command = [sys.executable, "-sPBu", "-X", "utf8", "-c", _CODE, *_search_path()]
        if confinement.means is not ConfinementMethod.NOTHING:
            command = confinement.confined(command, readable=_readable(), folder=folder)
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env=_environment(folder),
                # In its own session and process group: without a terminal, and killed with its
                # children.
                start_new_session=True,
                close_fds=True,
            )
        except OSError as error:
            raise RunError(f"no process can be started for a submission: {error}") from None
        self.said = bytearray()
        self.output = bytearray()
        self.is_output_cut = False
        streams = self._process.stdin, self._process.stdout, self._process.stderr
        stdin, stdout, stderr = (each.fileno() for each in streams if each is not None)
        os.set_blocking(stdin, False)
        self._open = {stdout: self.said, stderr: self.output}

    def watched(self, request: Mapping[str, Any], time_s: int, cancel: Cancellation | None) -> str:
        """Wait for its end. Returns why it was killed; empty if it ended by itself."""
        watch = _Watch(self, time_s)
        to_send = memoryview(json.dumps(request).encode() + b"\n")
        while self._open:
            to_send = self._exchanged(to_send)
            if cancel is not None and cancel.is_set():
                return "stopped by hand"
            if why := watch.reason():
                return why
        try:
            self._process.wait(timeout=IDLE_S)
        except subprocess.TimeoutExpired:
            return "it closed its output and kept running"
        return ""

    def _exchanged(self, to_send: memoryview) -> memoryview:
        """Write and read once, with a short timeout. Returns the data that remains
        to be written.
        """
        stdin = self._process.stdin
        assert stdin is not None
        writing = [stdin] if to_send else []
        ready, writable, _ = select.select(list(self._open), writing, [], _POLL_S)
        if writable:
            to_send = to_send[self._sent(stdin.fileno(), to_send) :]
        for handle in ready:
            content = os.read(handle, 1 << 16)
            if not content:
                del self._open[handle]
            elif self._open[handle] is self.said:
                self.said += content
            else:
                self._keep_output(content)
        return to_send

    def end(self) -> None:
        """Kill it with its children."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._process.wait()

    @property
    def status(self) -> int:
        """Exit status as in `subprocess`: negative for a signal."""
        return self._process.returncode

    def _sent(self, handle: int, to_send: memoryview) -> int:
        try:
            return os.write(handle, to_send[: 1 << 16])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            return len(to_send)

    def _keep_output(self, content: bytes) -> None:
        left = KEPT_OUTPUT_BYTES - len(self.output)
        self.output += content[: max(left, 0)]
        self.is_output_cut = self.is_output_cut or len(content) > left

    @property
    def is_held(self) -> bool:
        """Whether the submission is about to be loaded; before that only our own program runs."""
        return self.said.count(b"\n") >= _LINES_BEFORE

    @property
    def is_waiting(self) -> bool:
        """Whether no thread of it is running, runnable, or reading a disk: proc_pid_stat(5)."""
        states = []
        for each in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                states.append(each.read_text(errors="replace").rpartition(")")[2][1:2])
        return not any(state in _BUSY for state in states)

    def written_bytes(self) -> int:
        """Size of the files in its folder."""
        return _size_bytes(self._folder)


class _Watch:
    """Decides when to kill a process that no system limit ends."""

    def __init__(self, process: _Process, time_s: int) -> None:
        self._watched = process
        self._began_s = self._since_s = time.monotonic()
        self._longest_s = 20 * time_s + 300

    def reason(self) -> str:
        """The reason to kill it, in a sentence; empty while it may continue."""
        if len(self._watched.said) > MOST_SAID_BYTES:
            return "it sent more output than the numbers of its runs"
        if self._watched.written_bytes() > MOST_FOLDER_BYTES:
            return f"it wrote more than {MOST_FOLDER_BYTES >> 20} MiB"
        now_s = time.monotonic()
        if not (self._watched.is_held and self._watched.is_waiting):
            self._since_s = now_s
        elif now_s - self._since_s >= IDLE_S:
            return "it waited, and computed nothing"
        return "it did not end" if now_s - self._began_s > self._longest_s else ""


def _ran(process: _Process, tasks: Sequence[Task], why: str, folder: str) -> SubmissionRun:
    if not why and not process.said:
        words = printable(process.output.decode("utf-8", errors="replace").strip()[-300:])
        raise RunError(f"the process that was to run a submission did not begin: {words}")
    found, refused = _outcomes(process.said, tasks)
    if not why and refused is None and len(found) < len(tasks):
        why = _how_it_ended(process.status)
    reason = why or ("" if refused is None else refused)
    ran = SubmissionRun()
    for index in range(len(tasks)):
        missing = FailedTask(index, RunError(_stable(reason or "no outcome came", folder)))
        outcome = found.get(index, missing)
        if isinstance(outcome, FailedTask):
            outcome = FailedTask(index, RunError(_stable(str(outcome.error), folder)))
            ran.reason = ran.reason or str(outcome.error)
        ran.outcomes.append(outcome)
    if not why:
        text = _stable(process.output.decode("utf-8", errors="replace"), folder)
        ran.output = f"{text.rstrip()}\n... and more" if process.is_output_cut else text.rstrip()
    return ran


def _how_it_ended(status: int) -> str:
    match -status:
        case signal.SIGXCPU:
            return "it needed more CPU time than it may have"
        case signal.SIGKILL:
            # SIGXCPU was ignored, or the system killed it for lack of memory.
            return "it was killed: more CPU time than it may have, or the machine's memory was full"
        case signal.SIGSEGV | signal.SIGABRT | signal.SIGBUS | signal.SIGFPE | signal.SIGILL:
            return f"it crashed ({signal.Signals(-status).name})"
    return "it ended its process" if status >= 0 else f"it ended by signal {-status}"


def _outcomes(
    said: bytearray, tasks: Sequence[Task]
) -> tuple[dict[int, FinishedTask | FailedTask], str | None]:
    """Outcomes by task, and the reason for missing ones; parsing stops at malformed data."""
    found: dict[int, FinishedTask | FailedTask] = {}
    receiver = Receiver()
    for line in bytes(said).splitlines():
        try:
            message = json.loads(line)
            if "begun" in message or "held" in message:
                continue
            if "refused" in message:
                return {}, str(message["refused"])
            outcome = receiver.outcome(message)
            if not isinstance(outcome.index, int) or not 0 <= outcome.index < len(tasks):
                break
            if isinstance(outcome, FinishedTask):
                shape = (len(outcome.summary.quantities),)
                if outcome.summary.numbers.shape != shape:
                    break
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            break
        except DumbbellError:
            break
        found.setdefault(outcome.index, outcome)
    return found, None


def _stable(text: str, folder: str) -> str:
    """Make messages reproducible: without folder names and addresses, which vary."""
    text = _NAME_OF_A_COMPILER.sub(r"submission\1", text.replace(f"{folder}/", ""))
    return printable(_ADDRESS.sub("0x...", text)[:_LONGEST_REASON], lines=True)


def _search_path() -> list[str]:
    """Python's module search path: its own folders, installed packages and dumbbell."""
    standard = sysconfig.get_path("stdlib")
    paths = [standard, sysconfig.get_config_var("DESTSHARED") or f"{standard}/lib-dynload"]
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    return list(dict.fromkeys([*paths, *installed, str(_PACKAGE.parent)]))


def _readable() -> list[Path]:
    places = [*_SYSTEM, *map(Path, _search_path()), HEADER.parent]
    places += [Path(sys.prefix) / "pyvenv.cfg", Path(sys.prefix) / "bin", Path(sys.prefix) / "lib"]
    places += [Path(sys.base_prefix) / "lib", Path(sys.base_prefix) / "bin"]
    real = [Path(sys.executable).resolve(), Path(sys.executable).resolve().parent]
    compiler = shutil.which((os.environ.get("CC") or "cc").split()[0])
    return [*places, *real, *([Path(compiler)] if compiler else [])]


def _environment(folder: Path) -> dict[str, str]:
    """The teacher's environment reduced to the search path for programs and the compiler."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "XDG_CACHE_HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        # The iteration order of a set of strings depends on the hash seed, and results must not.
        "PYTHONHASHSEED": "0",
        # Libraries' threads use address space, which is limited.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
    }


def _size_bytes(folder: Path) -> int:
    """Size of all files in it; subfolders cannot be created in it."""
    total = 0
    try:
        with os.scandir(folder) as entries:
            for each in entries:
                with contextlib.suppress(OSError):
                    total += each.stat(follow_symlinks=False).st_size
    except OSError:
        return 0
    return total


def _remove(folder: TemporaryFolder) -> None:
    with contextlib.suppress(OSError):
        folder.remove()
