"""Read files up to a size limit: the size of a pipe or ``/dev/zero`` is not known in advance."""

from __future__ import annotations

from pathlib import Path

from dumbbell.formats.errors import FormatError
from dumbbell.inputs import open_input


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """Read the whole content of a file, which is opened once.

    Args:
        path: A file or a pipe.
        most_bytes: Size limit.

    Raises:
        FormatError: The content exceeds the limit.
        OSError: It cannot be read.
    """
    with open_input(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise too_large(path, most_bytes)
    return content


def too_large(path: Path, most_bytes: int) -> FormatError:
    """The error for a file that exceeds the limit."""
    size = path.stat().st_size
    found = f"{size} bytes" if size > most_bytes else f"more than {most_bytes} bytes"
    return FormatError(str(path), found, f"at most {most_bytes} bytes are read")
