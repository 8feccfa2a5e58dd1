"""Files of unknown size, read up to a bound: a pipe and ``/dev/zero`` do not know theirs."""

from __future__ import annotations

from pathlib import Path

from dumbbell.formats.errors import FormatError
from dumbbell.inputs import open_input


def read_bounded(path: Path, most_bytes: int) -> bytes:
    """The whole content of a file, which is opened once.

    Args:
        path: A file, also a pipe.
        most_bytes: As many are read.

    Raises:
        FormatError: It has more.
        OSError: It cannot be read.
    """
    with open_input(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise too_large(path, most_bytes)
    return content


def too_large(path: Path, most_bytes: int) -> FormatError:
    """What to raise of a file with more than is read."""
    size = path.stat().st_size
    found = f"{size} bytes" if size > most_bytes else f"more than {most_bytes} bytes"
    return FormatError(str(path), found, f"at most {most_bytes} bytes are read")
