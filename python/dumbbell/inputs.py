"""Opening input: a file, or a pipe that may never deliver anything."""

from __future__ import annotations

import io
import os
import select
import sys
from pathlib import Path
from typing import BinaryIO


def open_input(path: Path) -> BinaryIO:
    """A file to read once, from its beginning to its end.

    Waiting for a named pipe ends with Ctrl-C. By itself it would not: polars sets a handler of
    signals after which the system goes on waiting in open(2) and read(2), but never in poll(2)
    (signal(7), "Interruption of system calls").

    Raises:
        OSError: It cannot be opened.
    """
    if sys.platform != "win32" and path.is_fifo():  # its named pipes are not among the files
        return io.BufferedReader(_Pipe(path))
    return path.open("rb")


if sys.platform != "win32":

    class _Pipe(io.RawIOBase):
        """The reading end of a named pipe, whether or not anybody has opened the other."""

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
                    continue  # another process was faster

        def close(self) -> None:
            if not self.closed:
                os.close(self._handle)
            super().close()
