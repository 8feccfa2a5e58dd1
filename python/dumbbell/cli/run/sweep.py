"""A sweep on the terminal: one row per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console
from rich.text import Text

from dumbbell.cli.run.comparison import headline, legend, print_rows
from dumbbell.cli.run.number_texts import difference_mark, measured_text
from dumbbell.cli.terminal.consoles import print_sentence
from dumbbell.cli.terminal.errors import print_error, print_warning
from dumbbell.cli.terminal.output import tell
from dumbbell.compare import Arm, Cell, Comparison, FailedCell, Quantity, sentences
from dumbbell.compare.axes import Grid
from dumbbell.compare.words import sentences_of_groups

MOST_ROWS = 200
"""Most rows on the terminal; the page's tables and ``--json`` have all."""
MOST_NAMED = 20
"""Most cells that are named individually in messages."""


def print_sweep(found: Comparison, grid: Grid, console: Console) -> None:
    """Print the table, a legend, the findings, and cells that missed the precision."""
    n = len(found.cells)
    print_sentence(Text(f"{headline(found)}, {n} cell{'s' if n > 1 else ''}"), console)
    if found.ensemble is not None:
        print_sentence(
            Text(
                f"Nothing is random in {len(found.ensemble.because)} cells, so replications would "
                f"all be one run. In their place is an ensemble: {found.ensemble.words}. What "
                "stands in brackets is its least and greatest."
            ),
            console,
        )
    for backend in found.backends:
        _print_cells(found, grid, backend, console)
    print_sentence(Text(_legend(found, grid), style="dim"), console)
    for sentence in (*sentences(found), *sentences_of_groups(found)):
        print_sentence(Text(sentence), console)
    _say_imprecise(found)


def print_failed_cells(failed: Sequence[FailedCell]) -> None:
    """Print each error once, with the number of its cells and the command that reproduces it."""
    alike: dict[str, list[FailedCell]] = {}
    for each in failed:
        alike.setdefault(str(each.error), []).append(each)
    for cells in list(alike.values())[:MOST_NAMED]:
        first = cells[0]
        n = len(cells) - 1
        more = f" and {n} more cell{'s' if n > 1 else ''}" if n else ""
        print_error(first.error, of=f"{first.label}{more}: ")
        tell(f"  again: {first.command}")
    if len(alike) > MOST_NAMED:
        tell(f"and {len(alike) - MOST_NAMED} more errors, in --json")


def _print_cells(found: Comparison, grid: Grid, backend: str, console: Console) -> None:
    cells = [each for each in found.cells if Arm(each.label, backend) in found.results]
    marks = {
        (each.quantity, each.cell): difference_mark(each)
        for each in found.differences
        if each.backend == backend and each.measured.n > 1
    }
    varied = [number for number, axis in enumerate(grid.axes) if len(axis.values) > 1]
    head = [
        *(f"{grid.axes[number].name}\n{grid.axes[number].unit}".rstrip() for number in varied),
        *(_headed(quantity) for quantity in found.quantities),
    ]
    rows = [
        [
            *(grid.axes[number].labels[each.place[number]] for number in varied),
            *_row(found, each, backend, marks),
        ]
        for each in cells[:MOST_ROWS]
    ]
    if len(found.backends) > 1:
        console.print(Text(backend, style="bold"))
    left = [not grid.axes[number].is_numeric for number in varied]
    print_rows(console, "", head, rows, left=[*left, *(False for _ in found.quantities)])
    if len(cells) > MOST_ROWS:
        console.print(f"and {len(cells) - MOST_ROWS} more cells: on the page, or with --json")


def _row(
    found: Comparison, cell: Cell, backend: str, marks: dict[tuple[Quantity, str], str]
) -> list[str]:
    values = []
    for quantity in found.quantities:
        text = measured_text(quantity, found.measured(quantity, cell.label, backend))
        # A space replaces a missing mark, so that numbers are aligned.
        values.append(f"{text} {marks.get((quantity, cell.label), ' ' if marks else '')}")
    return values


def _headed(quantity: Quantity) -> str:
    name, _, words = quantity.words.rpartition(": ")
    unit = quantity.measure.shown_unit[0]
    return "\n".join(each for each in (name, words, unit) if each)


def _legend(found: Comparison, grid: Grid) -> str:
    if all(each.measured.n < 2 for each in found.differences):
        # Differences between backends are described in sentences, without marks.
        return legend(replace(found, agreements=()))
    axis = grid.axes[grid.along]
    base = f"{axis.name} {axis.label(0)}" if axis.is_numeric else axis.label(0)
    return f"{legend(found)}: from {base}, all else equal"


def _say_imprecise(found: Comparison) -> None:
    wanting = found.imprecise
    for arm in wanting[:MOST_NAMED]:
        where = arm.cell if len(found.backends) == 1 else f"{arm.cell} ({arm.backend})"
        print_warning(f"{where}: {found.results[arm].stopped_because}")
    if len(wanting) > MOST_NAMED:
        tell(f"and {len(wanting) - MOST_NAMED} more cells, in --json")
