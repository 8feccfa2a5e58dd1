"""Check that this machine lets an ordinary user run the kernel.

Each check performs the operation as the kernel would. Failed checks say what to change.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dumbbell.backends.kernel.cache import MACHINE, this_machine
from dumbbell.backends.kernel.launch import HostRefusesError, without_address_randomization
from dumbbell.backends.memory import available_memory_bytes

_MB = 1024 * 1024
_PTRACE_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"

# In a separate process, where forking is safe: can we stop a child and replace the number of its
# system call? A container's seccomp profile or Yama may refuse it.
_TRACE = """
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
def ptrace(request, pid, data=0):
    if libc.ptrace(request, pid, None, data) < 0:
        sys.stderr.write(os.strerror(ctypes.get_errno()))
        os._exit(1)
child = os.fork()
if child == 0:
    ptrace(0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(7)
_, status = os.waitpid(child, os.WUNTRACED)
if not os.WIFSTOPPED(status):
    os._exit(1)
ptrace(0x4200, child, 1 | 0x100000)
ptrace(31, child)
os.waitpid(child, 0)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check.

    Attributes:
        name: Name of the check.
        ok: Whether it passed.
        detail: The finding; how to fix it on failure.
    """

    name: str
    ok: bool
    detail: str


def host_checks(memory_mb: int = 256) -> list[Check]:
    """Perform all checks; takes about a tenth of a second.

    Args:
        memory_mb: Memory of the guest.
    """
    machine = _machine()
    if not machine.ok:
        return [machine]  # on another platform the other checks make no sense
    return [
        machine,
        _address_randomization(),
        _ptrace(),
        _memory_file(memory_mb),
        _memory(memory_mb),
        _limits(memory_mb),
    ]


def require_host(checks: Iterable[Check]) -> None:
    """Raise an error unless all checks passed.

    Raises:
        HostRefusesError: Checks failed; the message lists them.
    """
    bad = [f"{check.name}: {check.detail}" for check in checks if not check.ok]
    if bad:
        raise HostRefusesError("this machine does not run the kernel: " + "; ".join(bad))


def _machine() -> Check:
    found = this_machine()
    ok = found == MACHINE
    return Check("machine", ok, found if ok else f"{found}, but {MACHINE} is needed")


def _address_randomization() -> Check:
    name = "fixed addresses"
    try:
        with without_address_randomization():
            return Check(name, True, "personality(ADDR_NO_RANDOMIZE) is allowed")
    except HostRefusesError as error:
        return Check(name, False, str(error))


def _ptrace() -> Check:
    command = [sys.executable, "-I", "-S", "-c", _TRACE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("ptrace", False, f"could not be tried: {error}")
    if done.returncode == 0:
        return Check("ptrace", True, "system calls of a child can be traced and replaced")
    why = done.stderr.strip().splitlines()[-1:] or [f"status {done.returncode}"]
    advice = (
        "sysctl kernel.yama.ptrace_scope=1"
        if _first_line(_PTRACE_SCOPE) == "3"
        else "in a container: docker run --security-opt seccomp=unconfined, or --cap-add SYS_PTRACE"
    )
    return Check("ptrace", False, f"refused ({why[0]}); {advice}")


def _memory_file(memory_mb: int) -> Check:
    """The guest's memory is a mapped file: a memfd, or a file in a temporary folder."""
    name = "memory file"
    try:
        os.close(os.memfd_create("dumbbell-check"))
        return Check(name, True, "memfd_create is allowed: no folder is needed")
    except (OSError, AttributeError):
        pass
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free // _MB
    if free >= memory_mb:
        return Check(name, True, f"memfd_create is refused; the run's folder is used ({folder})")
    return Check(
        name,
        False,
        f"memfd_create is refused and {folder} has {free} MB of the {memory_mb} MB needed: set "
        "TMPDIR to a larger place",
    )


def _memory(memory_mb: int) -> Check:
    available = available_memory_bytes()
    if available is None:
        return Check("memory", True, "unknown; taken for enough")
    free = available // _MB
    ok = free >= memory_mb
    detail = f"{free} MB free, a guest has {memory_mb} MB"
    return Check("memory", ok, detail if ok else f"{detail}: give it less, or free some")


def _limits(memory_mb: int) -> Check:
    """Resource limits of the shell that would end the guest during a run."""
    import resource

    wanted: list[tuple[str, int, int, Callable[[int], str]]] = [
        ("ulimit -v", resource.RLIMIT_AS, 4 * memory_mb * _MB, lambda size: f"{size // _MB} MB"),
        ("ulimit -f", resource.RLIMIT_FSIZE, memory_mb * _MB, lambda size: f"{size // _MB} MB"),
    ]
    for name, number, needed, text in wanted:
        soft, _ = resource.getrlimit(number)
        if soft != resource.RLIM_INFINITY and soft < needed:
            return Check("limits", False, f"{name} is {text(soft)}; at least {text(needed)} needed")
    return Check("limits", True, "none that matters")


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:  # noqa: PTH123
            return stream.readline().strip()
    except OSError:
        return ""
