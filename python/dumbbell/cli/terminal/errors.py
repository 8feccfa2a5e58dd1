"""How the command line fails: one message, an exit status, no traceback."""

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
    """Print what went wrong and say how to leave; None for a fault of ours."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output (`| head`) has gone.
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
        # A file that cannot be read or written: the person can mend it.
        where = error.filename
        if error.errno in NO_ROOM and not where:
            # Whatever else is written has a name (`dumbbell.folders`).
            where = "standard output"
            _give_up_output()
        said = f"{f'{where}: ' if where else ''}{error.strerror or error}"
        tell(f"error: {said}")
        return EXIT_NO_ROOM if error.errno in NO_ROOM else EXIT_BAD_INPUT
    return None


def _is_unmapped_library(error: Exception) -> bool:
    """Whether a library could not be loaded as there is no memory for it (ld.so's own words)."""
    words = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
    return isinstance(error, ImportError) and any(each in str(error).lower() for each in words)


def _give_up_output() -> None:
    """Keep Python from trying once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_warning(sentence: str) -> None:
    """Something that is missing from what was done, on standard error."""
    tell(f"warning: {sentence}")


def print_error(error: DumbbellError, of: str = "") -> None:
    """The message on standard error; of a `SpecError` with its parts on lines of their own.

    Args:
        error: What to say.
        of: What comes before it: whose error it is.
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
