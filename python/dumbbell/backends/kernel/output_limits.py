"""Limit how much a guest writes to the machine's disk.

A program in the guest can write to the run's folder, and the limit per file (`Task.most_bytes`)
does not limit their sum. The larger of two counts applies: the size of the folder's files, and the
bytes written by the guest's processes (``wchar`` of ``/proc/PID/io``, proc(5)), which include
removed files that are still open. A guest writes only files, its console and a few internal bytes
to the disk: networks, homes and `/tmp` are in its memory.
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
"""Smallest disk usage of a file, with its directory entry."""
_LOOKED_EVERY_S = 0.5
_PATIENT = 20
"""Interval between two checks, as a multiple of a check's duration."""


@dataclass(slots=True)
class GuestFiles:
    """The total size of a guest's files, checked at intervals.

    Args:
        pid: The guest's first process.
        folder: Folder that it can write to.
        most_bytes: Limit; None without one.
    """

    pid: int
    folder: Path
    most_bytes: int | None
    _next: float = 0.0

    def is_exceeded(self) -> bool:
        """Whether the limit is exceeded; checks rarely enough to cost nothing."""
        now = time.monotonic()
        if self.most_bytes is None or now < self._next:
            return False
        count, size = _in_folder(self.folder)
        took = time.monotonic() - now
        self._next = now + took + max(_LOOKED_EVERY_S, _PATIENT * took)
        size += count * _EMPTY_BYTES
        return count > MOST_RUN_FILES or max(size, _handed_over_bytes(self.pid)) > self.most_bytes


def largest_file(folder: Path) -> str:
    """Name and size of the largest file directly in a folder, as a sentence; empty
    without files.
    """
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
    """Number of files and folders and their size; stops counting at the limit."""
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
            # Deeper than the longest path: only a program that hides its files makes such folders.
            if error.errno == errno.ENAMETOOLONG:
                return MOST_RUN_FILES + 1, size
    return count, size


def _handed_over_bytes(pid: int) -> int:
    """Bytes written by a process and its reaped children; 0 where the system does not
    count them.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(":")
            if name == "wchar":
                return int(value)
    return 0
