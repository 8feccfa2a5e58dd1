"""Messages for input that may be delayed."""

from __future__ import annotations

import os
from pathlib import Path

from dumbbell.cli.terminal.output import tell
from dumbbell.printable import printable

_STDIN = 0


def say_if_pipe(path: Path) -> None:
    """If a file is a named pipe, say on standard error that we wait for its writer.

    Standard input gets no message: the user of `` | dumbbell analyze /dev/stdin`` knows.
    """
    if path.is_fifo() and not _is_standard_input(path):
        name = printable(str(path))
        tell(f"{name}: a pipe; waiting for a program that writes to it and closes it")


def _is_standard_input(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(_STDIN))
    except OSError:  # closed
        return False
