"""Limits how much a guest writes to the machine's disk.

A program in it finds the folder of its run, and the limit of each file (`Task.most_bytes`) is none
of their sum. Two counts, of which the larger one holds: what the folder's files take, and what the
guest's processes were let write at all (``wchar`` of ``/proc/PID/io``, proc(5)), in which files
count too that have been removed and are open still. A guest writes there nothing but files, its
console and a few bytes to itself: networks, homes and `/tmp` lie in its memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

MOST_RUN_FILES = 100_000
_BLOCK_BYTES = 512
_EMPTY_BYTES = 4096
"""What a file takes at least, with its place in a folder."""
_LOOKED_EVERY_S = 0.5
_PATIENT = 20
"""This multiple of the time that a look took passes until the next one."""


@dataclass(slots=True)
class GuestFiles:
    """A guest's files, looked at now and then.

    Args:
        pid: Its first process.
        folder: Where it may write.
        most_bytes: How much; None without a limit.
    """

    pid: int
    folder: Path
    most_bytes: int | None
    _next: float = 0.0

    def is_too_much(self) -> bool:
        """Whether it has written more than it may; looks seldom enough to cost nothing."""
        now = time.monotonic()
        if self.most_bytes is None or now < self._next:
            return False
        count, size = _in_folder(self.folder)
        took = time.monotonic() - now
        self._next = now + took + max(_LOOKED_EVERY_S, _PATIENT * took)
        size += count * _EMPTY_BYTES
        return count > MOST_RUN_FILES or max(size, _handed_over_bytes(self.pid)) > self.most_bytes


def largest_file(folder: Path) -> str:
    """Name and size of the largest file directly in a folder, as a sentence; empty of none."""
    found: Iterable[tuple[int, str]] = ()
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        found = [
            (entry.stat(follow_symlinks=False).st_size, entry.name)
            for entry in entries
            if entry.is_file(follow_symlinks=False)
        ]
    size, name = max(found, default=(0, ""))
    return f"its largest file is {name}, {size / 2**20:.0f} MB" if size else ""


def _in_folder(folder: Path) -> tuple[int, int]:
    """How many files and folders, and the bytes they take; counts no further than one may."""
    count = size = 0
    folders = [os.fspath(folder)]
    while folders and count <= MOST_RUN_FILES:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    count += 1
                    size += _BLOCK_BYTES * entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    if count > MOST_RUN_FILES:
                        break
        except OSError as error:
            # Deeper than a path can be long: nobody's folders are, but who hides there.
            if error.errno == errno.ENAMETOOLONG:
                return MOST_RUN_FILES + 1, size
    return count, size


def _handed_over_bytes(pid: int) -> int:
    """Of a process and what it has reaped; 0 where this system does not say it."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "wchar":
                return int(value)
    return 0
