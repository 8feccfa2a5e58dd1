"""Name the file in errors of a full disk: write(2) does not report it, and libraries hide the
error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import IO, cast

from dumbbell.errors import NO_ROOM

_PROBE_BYTES = 1 << 16


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add this path to errors without a file name, and to all errors of a full disk.

    Raises:
        OSError: As raised inside.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM or (error.errno is not None and error.filename is None):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def disk_full_error(folder: Path) -> OSError | None:
    """Check by writing whether the disk is full; returns the error in that case."""
    probe = folder / "probe"
    try:
        with FileIO(probe, "w") as file:
            rest = memoryview(bytes(_PROBE_BYTES))
            while rest:
                rest = rest[file.write(rest) :]
    except OSError as error:
        return error if error.errno in NO_ROOM else None
    finally:
        with contextlib.suppress(OSError):
            probe.unlink()
    return None


@contextlib.contextmanager
def file_for_library(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for a library that hides why writing failed.

    Raises:
        OSError: It cannot be written.
    """
    with FileIO(path, "w") as file:
        remembering = _FileWithError(file)
        try:
            yield cast(IO[bytes], remembering)
        except Exception as error:
            raise (remembering.error or error) from None


class _FileWithError:
    """The file interface that libraries need; remembers the error of a failed write."""

    def __init__(self, file: FileIO) -> None:
        self._file = file
        self.error: OSError | None = None

    def write(self, content: bytes) -> int:
        """Write all of the content."""
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            self.error = error
            raise
        return len(content)

    def flush(self) -> None:
        """Do nothing: writes are unbuffered."""
