"""Escaped output: everything that is printed passes through here or
`dumbbell.cli.terminal.consoles`.

Names, sentences and units may come from a stranger's file. Control sequences in them could forge a
verdict or write to the clipboard, so they are escaped. A test checks that no other code prints.
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
    """Print a result and end the line: on standard output, or on ``file``."""
    print(printable(str(text), lines=True), file=file, flush=flush)


def say_version() -> None:
    """Print the text of ``dumbbell --version``."""
    from dumbbell import __version__

    say(f"dumbbell {__version__}")


def say_coloured(text: str) -> None:
    """Print the output of an interactive program; its colours are kept."""
    print(coloured(text), flush=True)


def coloured(text: str) -> str:
    """Escape text except for the sequences that select colours (ECMA-48 8.3.117, SGR)."""
    parts = _COLOUR.split(text)
    # The text between colour sequences.
    return "".join(
        part if index % 2 else printable(part, lines=True) for index, part in enumerate(parts)
    )


def tell(sentence: object) -> None:
    """Print a notice on standard error, so that results can be piped."""
    say(sentence, file=sys.stderr, flush=True)


def escape_tracebacks_and_warnings() -> None:
    """Also escape tracebacks and Python's own warnings, in the whole process."""
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
