"""How the command line fails: one message, an exit status, no traceback."""

from __future__ import annotations

import os
import sys

from dumbbell.errors import EXIT_BAD_INPUT, EXIT_NO_ROOM, NO_ROOM, DumbbellError, SpecError


def exit_code_of(error: Exception) -> int | None:
    """Print what went wrong and say how to leave; None for a fault of ours."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output (`| head`) has gone.
        _give_up_output()
        return 0
    if isinstance(error, DumbbellError):
        print_error(error)
        return error.exit_code
    if isinstance(error, OSError):
        # A file that cannot be read or written: the person can mend it.
        where = error.filename
        if error.errno in NO_ROOM and not where:
            # Whatever else is written has a name (`dumbbell.folders`).
            where = "standard output"
            _give_up_output()
        print(f"error: {f'{where}: ' if where else ''}{error.strerror or error}", file=sys.stderr)
        return EXIT_NO_ROOM if error.errno in NO_ROOM else EXIT_BAD_INPUT
    return None


def _give_up_output() -> None:
    """Keep Python from trying once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_error(error: DumbbellError, of: str = "") -> None:
    """The message on standard error; of a `SpecError` with its parts on lines of their own.

    Args:
        error: What to say.
        of: What comes before it: whose error it is.
    """
    if isinstance(error, SpecError) and not error.is_sentence:
        print(f"error: {of}{error.path or 'experiment'}: {error.value!r}", file=sys.stderr)
        if error.reason:
            print(f"  because: {error.reason}", file=sys.stderr)
        print(f"  allowed: {error.allowed}", file=sys.stderr)
        if error.hint:
            print(f"  did you mean {error.hint!r}?", file=sys.stderr)
    else:
        print(f"error: {of}{error}", file=sys.stderr)
