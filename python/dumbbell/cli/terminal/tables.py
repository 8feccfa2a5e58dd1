"""Tables that fit the terminal: a table that is too wide is set closer, or else transposed.

A table fits if each column has room for its longest number, or for the longest word in a column of
sentences. Otherwise its rows become columns, a few at a time. If several columns name a row (a
quantity and its unit), rows become blocks with one line per value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dumbbell.cli.terminal.consoles import printable_text

if TYPE_CHECKING:
    from rich.table import Column

BETWEEN = 2
"""Spaces between two values of a block."""
LEAST_OF_SENTENCES = 20
"""Smallest width of a column of sentences."""
INDENT = 2
_GAPS = (3, 2)
"""Spaces between the columns of a table with a box: the first with which it fits."""
_WIDEST = 10_000


def print_table(
    table: Table, console: Console, *, keys: int | None = None, beside: str | None = None
) -> None:
    """Print a table, transposed if it is wider than the terminal. No number or word is broken.

    Output to a file or a pipe is not transposed.

    Args:
        table: The table; columns with ``no_wrap`` are never broken, others only between words.
        console: The console.
        keys: Number of columns at the left that name a row; those without a head when None.
        beside: Heads of columns that share the line of the previous column in a block.
    """
    found = _Content.of(table, keys)
    width = console.width
    if table.title:
        console.print(_text(table.title))
    fitting = [gap for gap in _GAPS if found.least_width(gap) <= width]
    if fitting or not console.is_terminal:
        gap = fitting[0] if fitting else _GAPS[0]
        _print(found.as_it_is(max(width, found.least_width(gap)), gap), console)
    else:
        is_turned = found.n_keys == 1 and found.widest_turned <= width
        for part in found.turned(width) if is_turned else found.blocks(width, beside):
            _print(part, console)
    if table.caption:
        console.print(Text(str(table.caption), style="dim"))


def print_group(group: RenderableType, console: Console, *, keys: int | None = None) -> None:
    """Print tables and sentences, one below the other; tables as by `print_table`."""
    for each in group.renderables if isinstance(group, Group) else [group]:
        if isinstance(each, Table):
            print_table(each, console, keys=keys)
        else:
            console.print(each)


def _print(part: RenderableType, console: Console) -> None:
    # A truncated number is worse than a long line: ``5.462e-...`` is useless. Rich otherwise
    # truncates to the console's width.
    width = console.width
    console.width = max(width, _WIDEST)
    try:
        console.print(part, crop=False)
    finally:
        console.width = width


@dataclass(frozen=True)
class _Content:
    """The texts of a table, and their widths."""

    table: Table
    heads: Sequence[Text]
    rows: Sequence[Sequence[Text]]
    n_keys: int

    @classmethod
    def of(cls, table: Table, keys: int | None) -> _Content:
        heads = [_text(column.header) for column in table.columns]
        columns = [[_text(cell) for cell in column.cells] for column in table.columns]
        rows = [*zip(*columns, strict=True)]
        nameless = next((at for at, head in enumerate(heads) if head.plain), len(heads))
        return cls(table, heads, rows, nameless or 1 if keys is None else keys)

    # --- as it is ----------------------------------------------------------------------------

    def natural(self, at: int) -> int:
        """Preferred width of a column."""
        shown = [self.heads[at]] if self.table.show_header else []
        return max((_width(each) for each in (*shown, *(row[at] for row in self.rows))), default=0)

    def least(self, at: int) -> int:
        """Width without breaking a number or a word."""
        natural = self.natural(at)
        if self.table.columns[at].no_wrap:
            return natural
        texts = (self.heads[at], *(row[at] for row in self.rows))
        word = max((_longest_word(each) for each in texts), default=0)
        return max(word, min(natural, LEAST_OF_SENTENCES))

    def least_width(self, gap: int) -> int:
        """Width of the table without breaking a number or a word."""
        return sum(map(self.least, range(len(self.heads)))) + self._between(gap)

    def _between(self, gap: int) -> int:
        return _taken_between(len(self.heads), gap, has_box=self.table.box is not None)

    def as_it_is(self, width: int, gap: int) -> Table:
        """The table with column widths that break nothing; columns of sentences get the remaining
        width.
        """
        natural = [self.natural(at) for at in range(len(self.heads))]
        widths = [self.least(at) for at in range(len(self.heads))]
        left = width - self._between(gap) - sum(widths)
        for at in sorted(range(len(widths)), key=lambda at: natural[at] - widths[at]):
            more = min(natural[at] - widths[at], max(left, 0))
            widths[at] += more
            left -= more
        shown = _styled(self.table.box, gap, show_header=self.table.show_header)
        for at, column in enumerate(self.table.columns):
            _add_column(shown, self.heads[at], column, widths[at])
        for row in self.rows:
            shown.add_row(*row)
        return shown

    # --- turned ------------------------------------------------------------------------------

    def turned(self, width: int) -> Iterator[RenderableType]:
        """Rows as columns, as many side by side as fit."""
        groups: list[list[Sequence[Text]]] = []
        taken = width
        for row in self.rows:
            wide = max(map(_width_in_one_line, row)) + 3
            if taken + wide > width:
                groups.append([])
                taken = _taken_between(1) + self._widest_head
            groups[-1].append(row)
            taken += wide
        for rows in groups:
            part = _styled(box.SIMPLE_HEAD)
            part.add_column(_in_one_line(self.heads[0]), no_wrap=True)
            for row in rows:
                part.add_column(_in_one_line(row[0]), justify="right", no_wrap=True)
            for at, name in enumerate(self.heads[1:], start=1):
                part.add_row(*map(_in_one_line, (name, *(row[at] for row in rows))))
            yield part

    @property
    def widest_turned(self) -> int:
        """Width of the widest row as a column beside the heads."""
        widest = max((_width_in_one_line(each) for row in self.rows for each in row), default=0)
        return _taken_between(2) + self._widest_head + widest

    @property
    def _widest_head(self) -> int:
        return max(map(_width_in_one_line, self.heads), default=0)

    def blocks(self, width: int, beside: str | None) -> Iterator[RenderableType]:
        """A heading per row, and one line per value."""
        values = range(self.n_keys, len(self.heads))
        lines = [at for at in values if self.heads[at].plain != beside]
        # For each line: its value, and the values beside it.
        ends = {at: at + 1 for at in lines if at + 1 in values and at + 1 not in lines}
        of_heads = INDENT + self._widest_head + BETWEEN
        of_ends = self._width_of_lines(ends.values())
        if of_heads + self._width_of_lines(lines) + BETWEEN + of_ends > width:
            lines, ends, of_ends = [*values], {}, 0
        of_values = self._width_of_lines(lines, width - of_heads)
        # Numbers are right-aligned, words left-aligned.
        all_right = all(self.table.columns[at].justify == "right" for at in lines)
        side: Literal["left", "right"] = "right" if all_right else "left"
        for row in self.rows:
            keys = [each for each in row[: self.n_keys] if each.plain]
            heading = Text("  ").join(map(_in_one_line, keys))
            heading.stylize("bold")
            yield _wrapped(heading, width)
            block = Table.grid(padding=(0, BETWEEN, 0, 0))
            block.add_column(width=self._widest_head)
            block.add_column(width=of_values, justify=side)
            block.add_column(width=of_ends, justify=side)
            for at in lines:
                if row[at].plain:
                    other = row[ends[at]] if at in ends else Text()
                    block.add_row(*map(_in_one_line, (self.heads[at], row[at], other)))
            if block.row_count:
                yield Padding(block, (0, 0, 0, INDENT), expand=False)

    def _width_of_lines(self, columns: Iterable[int], most: int = _WIDEST) -> int:
        """Width of the cells of some columns; sentences are limited to a width that fits their
        words.
        """
        widths = [0]
        for at in columns:
            for row in self.rows:
                wide = _width_in_one_line(row[at])
                if not self.table.columns[at].no_wrap:
                    wide = min(wide, max(most, _longest_word(row[at])))
                widths.append(wide)
        return max(widths)


def _text(cell: RenderableType | None) -> Text:
    text = cell if isinstance(cell, Text) else Text("" if cell is None else str(cell))
    return printable_text(text)


def _width(text: Text) -> int:
    return max((line.cell_len for line in text.split("\n")), default=0)


def _longest_word(text: Text) -> int:
    return max((Text(word).cell_len for word in text.plain.split()), default=0)


def _in_one_line(text: Text) -> Text:
    return Text(" ").join(line for line in text.split("\n") if line.plain.strip())


def _width_in_one_line(text: Text) -> int:
    return _width(_in_one_line(text))


def _wrapped(text: Text, width: int) -> RenderableType:
    wide = max(width, _longest_word(text))
    grid = Table.grid()
    grid.add_column(width=min(wide, max(_width(text), 1)))
    grid.add_row(text)
    return grid


def _styled(lines: box.Box | None, gap: int = _GAPS[0], *, show_header: bool = True) -> Table:
    padding = (0, 1) if gap == _GAPS[0] else (0, 1, 0, 0)
    return Table(box=lines, show_header=show_header, pad_edge=False, padding=padding)


def _taken_between(columns: int, gap: int = _GAPS[0], *, has_box: bool = True) -> int:
    """Width of a table's separators: those between columns, and an edge at both ends."""
    return gap * (columns - 1) + 2 if has_box else (gap - 1) * (columns - 1)


def _add_column(table: Table, head: Text, column: Column, width: int) -> None:
    table.add_column(
        head, justify=column.justify, width=width, no_wrap=column.no_wrap, style=column.style
    )
