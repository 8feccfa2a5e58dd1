"""How the command line fails: one message, an exit status, no traceback."""

from __future__ import annotations

import os
import sys

from dumbbell.errors import (
    EXIT_BAD_INPUT,
    EXIT_CONTRADICTED_OR_FAILED,
    EXIT_NO_ROOM,
    NO_ROOM,
    DumbbellError,
    SpecError,
)
from dumbbell.printable import printable


def exit_code_of(error: Exception) -> int | None:
    """Print what went wrong and say how to leave; None for a fault of ours."""
    if isinstance(error, BrokenPipeError):
        # Whoever read our output (`| head`) has gone.
        _give_up_output()
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
        where = error.filename
        if error.errno in NO_ROOM and not where:
            # Whatever else is written has a name (`dumbbell.folders`).
            where = "standard output"
            _give_up_output()
        said = f"{f'{where}: ' if where else ''}{error.strerror or error}"
        print(f"error: {_shown(said)}", file=sys.stderr)
        return EXIT_NO_ROOM if error.errno in NO_ROOM else EXIT_BAD_INPUT
    return None


def _give_up_output() -> None:
    """Keep Python from trying once more when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_warning(sentence: str) -> None:
    """Something that is missing from what was done, on standard error."""
    print(f"warning: {_shown(sentence)}", file=sys.stderr)


def print_error(error: DumbbellError, of: str = "") -> None:
    """The message on standard error; of a `SpecError` with its parts on lines of their own.

    Args:
        error: What to say.
        of: What comes before it: whose error it is.
    """
    if isinstance(error, SpecError) and not error.is_sentence:
        where = _shown(error.path or "experiment")
        print(f"error: {of}{where}: {error.value!r}", file=sys.stderr)
        if error.reason:
            print(f"  because: {_shown(error.reason)}", file=sys.stderr)
        print(f"  allowed: {_shown(error.allowed)}", file=sys.stderr)
        if error.hint:
            print(f"  did you mean {error.hint!r}?", file=sys.stderr)
    else:
        print(f"error: {of}{_shown(str(error))}", file=sys.stderr)


def _shown(text: str) -> str:
    """With what a name of somebody's file may have in it."""
    return printable(text, lines=True)
