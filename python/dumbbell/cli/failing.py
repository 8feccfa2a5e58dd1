"""How the command line fails: one message, an exit status, no traceback."""

from __future__ import annotations

import os
import sys

from dumbbell.errors import (
    EXIT_BAD_INPUT,
    EXIT_CONTRADICTED_OR_FAILED,
    DumbbellError,
    SpecError,
)


def exit_code_of(error: Exception) -> int | None:
    """Print what went wrong and say how to leave; None for a fault of ours."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output (`| head`) has gone. Keep Python from trying once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    if isinstance(error, DumbbellError):
        print_error(error)
        return error.exit_code
    if isinstance(error, MemoryError):
        print(
            "error: there is not enough memory (ulimit -v, a container's limit or the machine's): "
            "shorten the run, sample less often, or leave record_packets off",
            file=sys.stderr,
        )
        return EXIT_CONTRADICTED_OR_FAILED
    if isinstance(error, OSError):
        # A file that cannot be read or written: the person can mend it.
        where = f"{error.filename}: " if error.filename else ""
        print(f"error: {where}{error.strerror or error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    return None


def print_error(error: DumbbellError) -> None:
    """The message on standard error; of a `SpecError` with its parts on lines of their own."""
    if isinstance(error, SpecError) and not error.is_sentence:
        print(f"error: {error.path or 'experiment'}: {error.value!r}", file=sys.stderr)
        print(f"  allowed: {error.allowed}", file=sys.stderr)
        if error.hint:
            print(f"  did you mean {error.hint!r}?", file=sys.stderr)
    else:
        print(f"error: {error}", file=sys.stderr)
