"""Rich consoles for tables and styled sentences."""

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
"""Width of tables if the output is not a terminal."""


class PrintingConsole(Console):
    """A console that escapes unprintable characters and ignores markup in text.

    Square brackets and colons are printed literally, in strings too.
    """

    def __init__(self, file: TextIO, **options: Any) -> None:
        """Create it for a stream; see rich's own for the options."""
        super().__init__(file=file, markup=False, emoji=False, **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Styled pieces of text; control sequences, such as those of a progress
        bar, are unchanged.
        """
        if isinstance(renderable, Text):
            renderable = printable_text(renderable)
        for piece in super().render(renderable, options):
            if piece.control:
                yield piece
            else:
                yield Segment(printable(piece.text, lines=True), piece.style)


def printable_text(text: Text) -> Text:
    """Escape text before lines are broken, since escapes take more columns."""
    if text.plain.isprintable():
        return text
    hidden = [at for at, each in enumerate(text.plain) if printable(each, lines=True) != each]
    if not hidden:
        return text
    shown = text.blank_copy()
    for piece in text.divide(sorted({*hidden, *(at + 1 for at in hidden)})):
        instead = Text(printable(piece.plain, lines=True), style=piece.style)
        for span in piece.spans:
            # An escape sequence must not be split.
            end = span.end if instead.plain == piece.plain else len(instead)
            instead.stylize(span.style, span.start, end)
        shown.append_text(instead)
    return shown


def standard_output() -> Console:
    """Standard output; wide enough for tables if it is not a terminal."""
    console = PrintingConsole(sys.stdout)
    return console if console.is_terminal else PrintingConsole(sys.stdout, width=PIPED_WIDTH)


def print_sentence(text: Text, console: Console) -> None:
    """Print a sentence: wrapped between words on a terminal, on one line in a file or a pipe."""
    console.print(text, soft_wrap=not console.is_terminal)


def print_to_copy(lines: Iterable[str], console: Console) -> None:
    """Print commands and configuration, indented. They are to be copied, so none is wrapped."""
    for line in lines:
        console.print(Text(f"    {line}"), soft_wrap=True)


def standard_error() -> Console:
    """Standard error."""
    return PrintingConsole(sys.stderr)


def sentences_console(*, as_json: bool) -> Console:
    """The console for tables and sentences.

    It is standard output, or standard error if the result is JSON, since a program parses the whole
    of standard output.
    """
    return standard_error() if as_json else standard_output()


def print_notices(notices: Iterable[PlacedNotice], console: Console) -> None:
    """Print warnings about values that tc interprets in an unexpected way, one line each."""
    for each in notices:
        print_sentence(Text(str(each), style="yellow"), console)
