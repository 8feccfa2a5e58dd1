"""Report errors: one message, an exit status, no traceback."""

from __future__ import annotations

import os
import sys

from dumbbell.cli.terminal.output import tell
from dumbbell.errors import (
    EXIT_BAD_INPUT,
    EXIT_CONTRADICTED_OR_FAILED,
    EXIT_NO_ROOM,
    NO_ROOM,
    DumbbellError,
    SpecError,
)


def exit_code_of(error: Exception) -> int | None:
    """Print an error and return the exit status; None for a bug in dumbbell."""
    if isinstance(error, BrokenPipeError):
        # The reader of our output (`| head`) has gone.
        _give_up_output()
        return 0
    if isinstance(error, DumbbellError):
        print_error(error)
        return error.exit_code
    if isinstance(error, MemoryError) or _is_unmapped_library(error):
        tell(
            "error: there is not enough memory (ulimit -v, a container's limit or the machine's): "
            "shorten the run, sample less often, or leave record_packets off"
        )
        return EXIT_CONTRADICTED_OR_FAILED
    if isinstance(error, OSError):
        # A file that cannot be read or written: the user can fix it.
        where = error.filename
        if error.errno in NO_ROOM and not where:
            # All other files that we write have names (`dumbbell.folders`).
            where = "standard output"
            _give_up_output()
        said = f"{f'{where}: ' if where else ''}{error.strerror or error}"
        tell(f"error: {said}")
        return EXIT_NO_ROOM if error.errno in NO_ROOM else EXIT_BAD_INPUT
    return None


def _is_unmapped_library(error: Exception) -> bool:
    """Whether a library failed to load for lack of memory (by the messages of ld.so)."""
    words = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
    return isinstance(error, ImportError) and any(each in str(error).lower() for each in words)


def _give_up_output() -> None:
    """Keep Python from flushing the output again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_warning(sentence: str) -> None:
    """Print on standard error what is missing from a result."""
    tell(f"warning: {sentence}")


def print_error(error: DumbbellError, of: str = "") -> None:
    """Print an error on standard error; the parts of a `SpecError` are on separate lines.

    Args:
        error: The error.
        of: Prefix that names the origin of the error.
    """
    if isinstance(error, SpecError) and not error.is_sentence:
        where = error.path or "experiment"
        tell(f"error: {of}{where}: {error.value!r}")
        if error.reason:
            tell(f"  because: {error.reason}")
        tell(f"  allowed: {error.allowed}")
        if error.hint:
            tell(f"  did you mean {error.hint!r}?")
    else:
        tell(f"error: {of}{error}")
