"""Consoles, on which tables and styled sentences are printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from dumbbell.printable import printable

if TYPE_CHECKING:
    from dumbbell.spec import PlacedNotice

PIPED_WIDTH = 120
"""Columns of tables that no terminal limits."""


class PrintingConsole(Console):
    """A console on which text is text: it is made printable, and styles are ours alone.

    Square brackets and colons stand for themselves, in strings too.
    """

    def __init__(self, file: TextIO, **options: Any) -> None:
        """On a stream; see rich's own for the options."""
        super().__init__(file=file, markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Pieces of text with their styles; controls, as of a progress bar, stay as they are."""
        if isinstance(renderable, Text):
            renderable = printable_text(renderable)
        for piece in super().render(renderable, options):
            if piece.control:
                yield piece
            else:
                yield Segment(printable(piece.text, lines=True), piece.style)


def printable_text(text: Text) -> Text:
    """Text as it is shown, before lines are broken: what stands for a character takes more room."""
    if text.plain.isprintable():
        return text
    hidden = [at for at, each in enumerate(text.plain) if printable(each, lines=True) != each]
    if not hidden:
        return text
    shown = text.blank_copy()
    for piece in text.divide(sorted({*hidden, *(at + 1 for at in hidden)})):
        instead = Text(printable(piece.plain, lines=True), style=piece.style)
        for span in piece.spans:
            # Of a character all of what stands for it.
            end = span.end if instead.plain == piece.plain else len(instead)
            instead.stylize(span.style, span.start, end)
        shown.append_text(instead)
    return shown


def standard_output() -> Console:
    """Standard output; wide enough for tables where no terminal limits it."""
    console = PrintingConsole(sys.stdout)
    return console if console.is_terminal else PrintingConsole(sys.stdout, width=PIPED_WIDTH)


def print_sentence(text: Text, console: Console) -> None:
    """Print it, broken between words on a terminal, on one line in a file or a pipe."""
    console.print(text, soft_wrap=not console.is_terminal)


def standard_error() -> Console:
    """Standard error."""
    return PrintingConsole(sys.stderr)


def sentences_console(*, as_json: bool) -> Console:
    """Where a command prints tables and sentences.

    That is standard output; or, where the result is JSON, standard error: a program reads the
    whole of standard output as one document.
    """
    return standard_error() if as_json else standard_output()


def print_notices(notices: Iterable[PlacedNotice], console: Console) -> None:
    """What was read as tc reads it and may have been meant otherwise, a line each."""
    for each in notices:
        print_sentence(Text(str(each), style="yellow"), console)
