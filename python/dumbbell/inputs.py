"""Opening input files, including pipes that may never deliver data."""

from __future__ import annotations

import io
import os
import select
import sys
from pathlib import Path
from typing import BinaryIO


def open_input(path: Path) -> BinaryIO:
    """Open a file for a single sequential read.

    Ctrl-C interrupts the wait for a named pipe. Plain open(2) and read(2) would not be interrupted,
    because polars installs a signal handler with SA_RESTART; poll(2) is never restarted (signal(7),
    "Interruption of system calls").

    Raises:
        OSError: The file cannot be opened.
    """
    if sys.platform != "win32" and path.is_fifo():  # Windows has no named pipes in its file system
        return io.BufferedReader(_Pipe(path))
    return path.open("rb")


if sys.platform != "win32":

    class _Pipe(io.RawIOBase):
        """The reading end of a named pipe, even if no process has opened the writing end."""

        def __init__(self, path: Path) -> None:
            self._handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            self._poll = select.poll()
            self._poll.register(self._handle, select.POLLIN)

        def readable(self) -> bool:
            return True

        def fileno(self) -> int:
            return self._handle

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            while True:
                self._poll.poll()
                try:
                    return os.readv(self._handle, [buffer])
                except BlockingIOError:
                    continue  # another process took the data first

        def close(self) -> None:
            if not self.closed:
                os.close(self._handle)
            super().close()
