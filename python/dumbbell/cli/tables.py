"""Tables whose numbers are never cut."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_WIDEST = 10_000


def print_table(table: Table, console: Console) -> None:
    """Print a table, wider than the console where its columns that do not wrap need that.

    Half a number is worse than a long line: ``5.462e-...`` says nothing.
    """
    wide = console.options.update(max_width=_WIDEST)
    for column in table.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(Measurement.get(console, wide, cell).maximum for cell in cells)
    needed = Measurement.get(console, wide, table).minimum
    console.print(table, width=max(console.width, needed), crop=False)
