"""Terminal output of a twin."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.cli.terminal.consoles import print_sentence
from dumbbell.cli.terminal.tables import print_table
from dumbbell.report.numbers import plain
from dumbbell.twin.prediction import Predicted
from dumbbell.twin.result import Quantity, Trust, Twin
from dumbbell.twin.words import class_words, reasons, value_words, verdict


def print_twin(twin: Twin, console: Console) -> None:
    """Print its numbers, disciplines, unidentifiable parameters, and predictions."""
    console.print(Text(f"Twin of {', '.join(twin.sources)}", style="bold"))
    table = _table("", "", "twin", "by arithmetic", keys=2)
    for each in twin.parameters:
        if not each.unidentifiable or each.quantity is Quantity.BUFFER:
            direct = plain(None if math.isnan(each.direct) else each.direct, 4)
            table.add_row(each.name, each.unit, value_words(each), direct)
    print_table(table, console, keys=2)
    for way in twin.ways:
        print_sentence(Text(f"discipline {way.value}: {class_words(twin, way)}"), console)
    unknown = list(reasons(twin))
    if unknown:
        console.print(Text("Not identifiable:", style="bold"))
        for sentence in unknown:
            print_sentence(Text(f"  {sentence}"), console)
    if twin.predicted:
        print_table(predicted_table(twin.predicted, "held out"), console, keys=3)
    for note in twin.notes:
        print_sentence(Text(note, style="dim"), console)
    style = "bold" if twin.trust is Trust.PREDICTS else "bold yellow"
    print_sentence(Text(verdict(twin), style=style), console)


def predicted_table(predicted: Sequence[Predicted], title: str) -> Table:
    """Return predicted beside measured numbers, one row each, named by three columns.

    Args:
        predicted: The predictions.
        title: Heading of the first column.
    """
    table = _table(title, "", "", "measured", "twin allows", "inside", keys=3)
    for number in predicted:
        table.add_row(
            number.load,
            number.name,
            number.unit,
            plain(number.measured, 4),
            f"{plain(number.low, 4)} to {plain(number.high, 4)}",
            Text("yes", style="green") if number.is_inside else Text("no", style="bold red"),
        )
    return table


def _table(*heads: str, keys: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, head in enumerate(heads):
        table.add_column(head, justify="left" if place < keys else "right", no_wrap=place >= keys)
    return table
