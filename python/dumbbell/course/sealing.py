"""Restrict the process of a submission just before the submission is loaded.

It is confined in two steps. Before its program starts, Landlock or a mount namespace hides all
files except the system's programs, Python, dumbbell and the process's own folder, and blocks the
network (`dumbbell.backends.kernel.confinement`, which also confines a guest's kernel). Then, before
the submission is loaded, this module forbids new processes, signals to other processes, and other
system calls that a congestion controller does not need (seccomp(2)), and sets limits
(setrlimit(2)).
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

LARGEST_FILE_BYTES: Final = 16 << 20
MOST_OPEN_FILES: Final = 64
COMPILER_CPU_S: Final = 60
COMPILER_MEMORY_BYTES: Final = 4 << 30
_AFTER_THE_WARNING_S = 2
"""Time between SIGXCPU, which may be ignored, and SIGKILL."""
_X86_64 = 0xC000003E
_X32 = 0x4000_0000
_CLONE_THREAD = 0x10000
# struct sock_filter of linux/filter.h: code, jump offsets if true and if false, operand.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT = 0, 4, 16  # struct seccomp_data
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_SET_NO_NEW_PRIVS, _SECCOMP, _SET_MODE_FILTER, _ALL_THREADS = 38, 317, 1, 1
_CLONE, _CLONE3, _TGKILL, _KILL_CALL, _PRLIMIT64 = 56, 435, 234, 62, 302
REFUSED: Final = {
    "fork": 57,
    "vfork": 58,
    "execve": 59,
    "execveat": 322,
    "socket": 41,
    "socketpair": 53,
    "connect": 42,
    "bind": 49,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "tkill": 200,
    "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297,
    "pidfd_open": 434,
    "pidfd_getfd": 438,
    "pidfd_send_signal": 424,
    "setpgid": 109,
    "setsid": 112,
    "setpriority": 141,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "sched_setaffinity": 203,
    "sched_setattr": 314,
    "ioprio_set": 251,
    "setrlimit": 160,
    "mkdir": 83,
    "mkdirat": 258,
    "memfd_create": 319,
    "shmget": 29,
    "semget": 64,
    "msgget": 68,
    "mq_open": 240,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "setns": 308,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "perf_event_open": 298,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
}
"""System calls of x86-64 refused with EPERM (arch/x86/entry/syscalls/syscall_64.tbl)."""


def has_filter() -> bool:
    """Whether the filter supports this machine's system calls."""
    return platform.system() == "Linux" and platform.machine() == "x86_64"


def limit_compiler() -> None:
    """Limit the process that runs before the submission is loaded: a compiler."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _lower(resource.RLIMIT_FSIZE, LARGEST_FILE_BYTES)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (COMPILER_CPU_S, hard))
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (COMPILER_MEMORY_BYTES, hard))


def seal(*, time_s: int, memory_bytes: int) -> None:
    """Restrict this process and all its threads permanently.

    Args:
        time_s: CPU time from now on, s; then SIGXCPU, and SIGKILL 2 s later.
        memory_bytes: Address space in addition to the current size.

    Raises:
        OSError: The kernel refuses the filter.
    """
    import resource

    used_s = math.ceil(time.process_time())
    _lower(resource.RLIMIT_NOFILE, MOST_OPEN_FILES)
    _set(resource.RLIMIT_AS, _address_space_bytes() + memory_bytes)
    soft = used_s + time_s
    resource.setrlimit(resource.RLIMIT_CPU, (soft, soft + _AFTER_THE_WARNING_S))
    if has_filter():
        _install(b"".join(_filter(os.getpid())))


def _lower(which: int, value: int) -> None:
    import resource

    hard = resource.getrlimit(which)[1]
    _set(which, value if hard == resource.RLIM_INFINITY else min(value, hard))


def _set(which: int, value: int) -> None:
    import resource

    resource.setrlimit(which, (value, value))


def _address_space_bytes() -> int:
    """Mapped address space, from the only file of /proc that a confined process can read."""
    total = 0
    for line in Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines():
        first, _, last = line.partition(" ")[0].partition("-")
        if not line.endswith("[vsyscall]"):
            total += int(last, 16) - int(first, 16)
    return total


def _filter(own: int) -> Iterator[bytes]:
    """The filter program, one item per instruction.

    Args:
        own: Id of this process, the only one that may receive its signals.
    """
    refuse = _ERRNO | errno.EPERM
    yield _instruction(_LOAD, _ARCH_AT)
    yield _instruction(_EQUAL, _X86_64, 1, 0)
    yield _instruction(_RETURN, _KILL)
    yield _instruction(_LOAD, _NUMBER_AT)
    yield _instruction(_AT_LEAST, _X32, 0, 1)
    yield _instruction(_RETURN, refuse)
    for number in sorted(REFUSED.values()):
        yield _instruction(_EQUAL, number, 0, 1)
        yield _instruction(_RETURN, refuse)
    # The flags of clone3 are in memory, which filters cannot read; without clone3, glibc uses
    # clone.
    yield _instruction(_EQUAL, _CLONE3, 0, 1)
    yield _instruction(_RETURN, _ERRNO | errno.ENOSYS)
    yield _instruction(_EQUAL, _CLONE, 0, 4)
    yield _instruction(_LOAD, _FIRST_ARGUMENT_AT)
    yield _instruction(_ANY_BIT, _CLONE_THREAD, 1, 0)
    yield _instruction(_RETURN, refuse)
    yield _instruction(_RETURN, _ALLOW)
    for number in (_KILL_CALL, _TGKILL, _PRLIMIT64):
        yield _instruction(_EQUAL, number, 0, 5)
        yield _instruction(_LOAD, _FIRST_ARGUMENT_AT)
        yield _instruction(_EQUAL, own, 2, 0)
        # For limits, 0 is the process itself; for signals, its group, of which it is the only
        # member.
        yield _instruction(_EQUAL, 0, 1, 0)
        yield _instruction(_RETURN, refuse)
        yield _instruction(_RETURN, _ALLOW)
    yield _instruction(_RETURN, _ALLOW)


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, operand)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _install(filter_bytes: bytes) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Program(len(filter_bytes) // 8, filter_bytes)
    if libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        _fail("prctl(PR_SET_NO_NEW_PRIVS)")
    done = libc.syscall(_SECCOMP, _SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(program))
    if done != 0:
        _fail("seccomp")


def _fail(what: str) -> None:
    number = ctypes.get_errno()
    raise OSError(number, f"{what}: {os.strerror(number)}")
