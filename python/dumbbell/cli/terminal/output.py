"""The one way to the terminal: all that is printed passes here or `dumbbell.cli.terminal.consoles`.

Names, sentences and units come from a stranger's file, and a terminal obeys what is in them: it
would paint a verdict, or write to the clipboard. Here they are made printable. A test finds who
prints past it.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
import warnings
from types import TracebackType
from typing import Any, TextIO

from dumbbell.printable import printable

_COLOUR = re.compile(r"(\x1b\[[0-9;]*m)")


def say(text: object = "", *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print a result and end the line: on standard output, or where ``file`` says."""
    print(printable(str(text), lines=True), file=file, flush=flush)


def say_version() -> None:
    """Print what ``dumbbell --version`` does."""
    from dumbbell import __version__

    say(f"dumbbell {__version__}")


def say_coloured(text: str) -> None:
    """Print what a program printed that a person works with: its colours stay."""
    print(coloured(text), flush=True)


def coloured(text: str) -> str:
    """The text made printable but for the sequences that choose colours (ECMA-48 8.3.117, SGR)."""
    parts = _COLOUR.split(text)
    # Between colours, what was split at them.
    return "".join(
        part if index % 2 else printable(part, lines=True) for index, part in enumerate(parts)
    )


def tell(sentence: object) -> None:
    """Print a notice on standard error, so that results can be piped."""
    say(sentence, file=sys.stderr, flush=True)


def tell_whatever_fails() -> None:
    """Tell also tracebacks and warnings of Python's own, in the whole process."""
    sys.excepthook = _tell_fault
    threading.excepthook = lambda args: (
        _tell_fault(args.exc_type, args.exc_value, args.exc_traceback) if args.exc_value else None
    )
    warnings.formatwarning = _warning_text


_pythons_warning_text = warnings.formatwarning


def _warning_text(*warning: Any, **more: Any) -> str:
    return printable(_pythons_warning_text(*warning, **more), lines=True)


def _tell_fault(
    kind: type[BaseException], fault: BaseException, where: TracebackType | None
) -> None:
    tell("".join(traceback.format_exception(kind, fault, where)).rstrip("\n"))
