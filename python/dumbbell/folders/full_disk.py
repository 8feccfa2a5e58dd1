"""A full disk says where it was met: a failed write(2) knows no name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dumbbell.errors import NO_ROOM


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an error without a file's name this one.

    Raises:
        OSError: As inside.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM or (error.errno is not None and error.filename is None):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
