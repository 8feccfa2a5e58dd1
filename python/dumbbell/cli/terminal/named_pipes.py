"""Input that may take its time to come."""

from __future__ import annotations

import os
from pathlib import Path

from dumbbell.cli.terminal.output import tell
from dumbbell.printable import printable

_STDIN = 0


def say_if_pipe(path: Path) -> None:
    """Say what is waited for, on standard error, where a file is a pipe.

    Not of standard input: whoever typed `` | dumbbell analyze /dev/stdin`` knows.
    """
    if path.is_fifo() and not _is_standard_input(path):
        name = printable(str(path))
        tell(f"{name}: a pipe; waiting until somebody writes to it, and ends")


def _is_standard_input(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(_STDIN))
    except OSError:  # it was closed
        return False
