"""Runs the command line in a Python from which is taken what Windows' Python has not.

``as_on_windows.py import`` imports every module instead. No test of Windows: of what its absent
modules, functions and signals, and its open files that cannot be removed, do to us. What they are
is in the documentation of each ("Availability: Unix").
"""

from __future__ import annotations

import ctypes
import fcntl
import importlib
import os
import pkgutil
import platform
import shutil
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

NO_MODULES = ("fcntl", "resource", "pwd", "grp", "pty", "termios", "tty")
NO_FUNCTIONS = (
    *("fork", "getuid", "geteuid", "getgid", "killpg", "getpgid", "setsid", "statvfs", "sysconf"),
    *("sched_getaffinity", "sched_setaffinity", "readv", "set_blocking", "mkfifo", "wait4"),
    *("O_NONBLOCK", "O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "memfd_create"),
)
NO_SIGNALS = ("SIGHUP", "SIGQUIT", "SIGKILL", "SIGSTOP", "SIGCHLD", "SIGPIPE", "SIGALRM", "SIGUSR1")
# They choose by the system when they are imported: with it, they have to be ours.
OTHERS = (
    *(
        "altair",
        "distributed",
        "jinja2",
        "numpy",
        "polars",
        "pyarrow",
        "pydantic",
        "rich.console",
        "rich.progress",
    ),
    *("scipy.optimize", "scipy.stats", "sqlite3", "tempfile", "tomllib", "typer", "zipfile"),
)


def take_away() -> None:
    """Make this process look like one on Windows."""
    for name in OTHERS:
        importlib.import_module(name)
    sys.modules["msvcrt"] = msvcrt()
    for name in NO_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in NO_FUNCTIONS:
        if hasattr(os, name):
            delattr(os, name)
    members = dict(signal.Signals.__members__)
    for name in NO_SIGNALS:
        delattr(signal, name)
        del signal.Signals._member_map_[members[name].name]
    os.supports_follow_symlinks.discard(os.link)
    ctypes.CDLL = NoMain  # type: ignore[misc]
    forbid_what_is_open()
    refuse_handles()
    platform.system = lambda: "Windows"
    platform.machine = lambda: "AMD64"
    sys.platform = "win32"


def msvcrt() -> types.ModuleType:
    """Its locks, by ours: of an open file, gone when it is closed."""
    module: Any = types.ModuleType("msvcrt")
    module.LK_LOCK, module.LK_NBLCK = fcntl.LOCK_EX, fcntl.LOCK_EX | fcntl.LOCK_NB

    def locking(handle: int, mode: int, n_bytes: int) -> None:
        assert n_bytes == 1
        try:
            fcntl.flock(handle, mode)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    module.locking = locking
    return module  # type: ignore[no-any-return]


class NoMain(ctypes.CDLL):
    """``CDLL(None)`` names no library there."""

    def __init__(self, name: str | None, *arguments: Any, **options: Any) -> None:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        super().__init__(name, *arguments, **options)


def forbid_what_is_open() -> None:
    """A file that this process has open is neither removed nor moved, nor a folder with one."""
    shutil._use_fd_functions = False  # type: ignore[attr-defined]

    def refusing(function: Any) -> Any:
        def refuse(path: Any, *arguments: Any, **options: Any) -> Any:
            for opened in open_files():
                if opened == Path(path).absolute() or Path(path).absolute() in opened.parents:
                    raise PermissionError(13, "it is being used by another process", str(path))
            return function(path, *arguments, **options)

        return refuse

    for name in ("unlink", "remove", "rmdir", "replace"):
        setattr(os, name, refusing(getattr(os, name)))
    rename = refusing(os.rename)

    def no_overwriting(source: Any, target: Any, **options: Any) -> None:
        if os.path.lexists(target):
            raise FileExistsError(17, "Cannot create a file when that file already exists")
        rename(source, target, **options)

    os.rename = no_overwriting


def open_files() -> list[Path]:
    """Those of this process."""
    found = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            found.append(entry.readlink())
        except OSError:
            continue  # the one of this listing
    return found


def refuse_handles() -> None:
    """As ``subprocess`` does there."""
    begin = subprocess.Popen.__init__

    def refuse(self: Any, *arguments: Any, **options: Any) -> None:
        assert not options.get("pass_fds"), "pass_fds not supported on Windows."
        begin(self, *arguments, **options)

    subprocess.Popen.__init__ = refuse  # type: ignore[method-assign]


def import_everything() -> None:
    """Every module of the package, but those that are programs."""
    import dumbbell

    for module in pkgutil.walk_packages(dumbbell.__path__, "dumbbell."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)


if __name__ == "__main__":
    take_away()
    if sys.argv[1:] == ["import"]:
        import_everything()
    else:
        from dumbbell.cli import main

        main()
