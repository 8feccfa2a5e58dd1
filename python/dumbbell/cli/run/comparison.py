"""``dumbbell run`` with several experiments, values, backends or replications: a comparison."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.pages import has_page, page_folder, result_name, result_place
from dumbbell.cli.common.store import stored_executor
from dumbbell.cli.run.highlights import highlights
from dumbbell.cli.run.number_texts import MARKS, difference_text, measured_text
from dumbbell.cli.terminal.consoles import print_notices, print_sentence
from dumbbell.cli.terminal.errors import print_error, print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.cli.terminal.tables import print_table
from dumbbell.compare import (
    Arm,
    Basis,
    Comparison,
    FailedCell,
    Quantity,
    compare,
)
from dumbbell.compare.judging import LEVEL, BackendAgreement
from dumbbell.compare.words import digits, sentences_of_groups
from dumbbell.errors import (
    EXIT_CONTRADICTED_OR_FAILED,
    EXIT_DONE,
)
from dumbbell.replication import Interrupted

if TYPE_CHECKING:
    from dumbbell.cli.common.pages import PagePlace
    from dumbbell.cli.run.options import RunOptions
    from dumbbell.cli.run.planning import PlannedCells
    from dumbbell.compare.exporting import Format

KEPT = 1
"""Replications of each arm that are kept for the page's figures over time."""
DIFFERENCE = "difference"
BESIDE = 3
"""Most cells whose differences are shown beside their numbers; with more they get their own table.
"""


def compare_files(
    asked: RunOptions, planned: PlannedCells, may_use_bytes: int | None, console: Console
) -> int:
    """Run the comparison and print its results.

    Returns:
        The exit status: 1 if a cell failed.
    """
    with _place(asked, planned) as place:
        agree_to_runs(
            [planned],
            asked.backends,
            jobs=asked.jobs,
            yes=asked.yes,
            may_use_bytes=may_use_bytes,
            storing=asked.storing,
            tables_below=kept_runs(asked, planned),
            cluster=asked.cluster,
        )
        found = _compared(planned, asked, may_use_bytes)
        _print_found(found, asked, console)
        if place is not None:
            from dumbbell.compare.exporting import exported_comparison
            from dumbbell.compare.page import comparison_report

            report = comparison_report(found) if _has_page(asked) else None
            place.write(report, exported_comparison(found, _formats(asked)), console)
    if found.grid is not None:
        from dumbbell.cli.run.sweep import print_failed_cells

        print_failed_cells(found.failed)
    else:
        for failed in found.failed:
            print_failed(failed)
    if found.interrupted:
        return Interrupted.exit_code
    return EXIT_CONTRADICTED_OR_FAILED if found.failed else EXIT_DONE


def _has_page(asked: RunOptions) -> bool:
    return has_page(asked.page, asked.out, as_json=asked.as_json)


def kept_runs(asked: RunOptions, planned: PlannedCells) -> int:
    """Number of replications of each arm that the page shows over time."""
    return KEPT if _has_page(asked) and planned.grid is None else 0


def _compared(planned: PlannedCells, asked: RunOptions, may_use_bytes: int | None) -> Comparison:
    keep = kept_runs(asked, planned)
    # Waiting for a scheduler can be interrupted at once.
    with (
        executor_for(
            asked.cluster,
            asked.jobs,
            may_use_bytes,
            with_tables=asked.storing.keep_tables,
        ) as executor,
        stopped_by_ctrl_c() as stop,
        shown_progress() as show,
    ):
        return compare(
            planned.cells,
            backends=asked.backends,
            replications=planned.replications,
            precision=planned.precision,
            failed=planned.refused,
            grid=planned.grid,
            figures=planned.figures,
            executor=stored_executor(asked.storing, executor, planned.cells, tables_below=keep),
            keep=keep,
            on_progress=show,
            cancel=stop,
        )


def _print_found(found: Comparison, asked: RunOptions, console: Console) -> None:
    if asked.as_json:
        from dumbbell.cli.run.comparison_json import comparison_json

        say(json_text(comparison_json(found)))
        return
    # Once for all cells.
    notices = {str(each): each for cell in found.cells for each in cell.experiment.notices()}
    print_notices(notices.values(), console)
    if found.grid is not None:
        from dumbbell.cli.run.sweep import print_sweep

        print_sweep(found, found.grid, console)
    else:
        print_comparison(found, console)


def _formats(asked: RunOptions) -> Sequence[Format]:
    """Formats of ``--to``; formats for single runs are refused before anything is run."""
    if asked.to is None:
        return ()
    from dumbbell.compare.exporting import check_comparable, formats_of

    formats = formats_of(asked.to)
    check_comparable(formats)
    return formats


def _place(
    asked: RunOptions, planned: PlannedCells
) -> contextlib.AbstractContextManager[PagePlace | None]:
    """Folder of the page; None without a page. The drawing processes start in the meantime."""
    formats = _formats(asked)
    if not planned.cells:
        return contextlib.nullcontext()
    name, file = planned.cells[0].experiment.name, asked.files[0]
    what = "compared" if planned.grid is None else "swept"
    return result_place(
        asked.out or page_folder(result_name(name, file), what, planned.besides),
        subject=f"{name} {what}",
        source=file if file.is_file() else None,
        replace=asked.replace,
        has_page=bool(_has_page(asked)),
        has_exports=bool(formats),
        is_asked_for=asked.page is True or asked.out is not None,
        opens=asked.opens,
    )


def print_failed(failed: FailedCell) -> None:
    """Print the error, and the command that reproduces it."""
    where = (
        failed.label
        if failed.replication is None
        else (f"{failed.label} ({failed.backend}, replication {failed.replication})")
    )
    print_error(failed.error, of=f"{where}: ")
    tell(f"  again: {failed.command}")


def print_comparison(found: Comparison, console: Console) -> None:
    """Print tables, a legend of the marks, and the findings."""
    print_sentence(Text(headline(found)), console)
    if found.ensemble is not None:
        print_sentence(Text(_declared(found)), console)
    if len(found.cells) > 1 or not found.agreements:
        for backend in found.backends:
            _print_cells(found, backend, console)
    for arm in found.arms:
        if not found.results[arm].precise and found.results[arm].stopped_because:
            where = _name(found, arm)
            print_warning(f"{where}: {found.results[arm].stopped_because}")
    for cell in found.cells:
        _print_backends(found, cell.label, console)
    print_sentence(Text(f"{legend(found)}. --json has each run's numbers", style="dim"), console)
    for line in (*highlights(found), *sentences_of_groups(found)):
        print_sentence(Text(line), console)


def headline(found: Comparison) -> str:
    """The cells compared, and the number of runs."""
    counts = sorted({each.n for each in found.results.values()})
    n = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    what = "members of an ensemble" if found.ensemble is not None else "replications"
    said = f"{n} {what} of each"
    if counts == [1]:
        said = "one run of each, so there are no intervals (--replications 10)"
    stopped = "; stopped by hand" if found.interrupted else ""
    return f"{', '.join(_titles(found))}: {said}{stopped}"


def _titles(found: Comparison) -> list[str]:
    return list(dict.fromkeys(cell.experiment.name for cell in found.cells))


def _declared(found: Comparison) -> str:
    assert found.ensemble is not None
    which = ", ".join(found.ensemble.because)
    return (
        f"Nothing is random in {which}, so replications would all be one run. In their place is an "
        f"ensemble: {found.ensemble.words}. What stands in brackets is its least and greatest."
    )


def legend(found: Comparison) -> str:
    """A legend of the marks in the table."""
    parts = []
    numbers = [
        found.measured(quantity, arm.cell, arm.backend)
        for arm in found.arms
        for quantity in found.quantities
    ]
    bases = {each.basis for each in numbers}
    if Basis.MEAN in bases or Basis.GEOMETRIC in bases:
        parts.append(f"±: {100 * LEVEL:g} % interval of the mean, of each number by itself")
    if any(each.is_cut for each in numbers):
        parts.append("brackets: the same, cut where nothing can be, as a rate below 0")
    if Basis.GEOMETRIC in bases:
        parts.append(
            "±%: the same of the geometric mean, where values are skewed; ×: times as large"
        )
    if Basis.CONSTANT in bases:
        without = "±" if found.ensemble is None else "brackets"
        parts.append(f"no {without}: the same in all runs")
    if any(each.measured.n > 1 for each in found.differences):
        family = "" if found.ensemble else " (5 % over the whole table, Holm)"
        parts.append(f"*: differs, =: the same within what matters, ?: not decided{family}")
    elif found.agreements:
        parts.append("=: agree within the margin, *: do not, ?: not decided")
    return ". ".join(parts)


def _print_cells(found: Comparison, backend: str, console: Console) -> None:
    labels = [cell.label for cell in found.cells if Arm(cell.label, backend) in found.results]
    if not labels:
        return
    differences = {
        (each.quantity, each.cell): each for each in found.differences if each.backend == backend
    }
    beside = len(labels) <= BESIDE
    head: list[str] = []
    for label in labels:
        head.append(label)
        if beside and label != labels[0]:
            head.append(DIFFERENCE)
    rows = []
    for quantity in found.quantities:
        cells = []
        for label in labels:
            cells.append(measured_text(quantity, found.measured(quantity, label, backend)))
            if beside and label != labels[0]:
                cells.append(difference_text(differences[quantity, label]))
        rows.append((*_named(quantity), *cells))
    title = backend if len(found.backends) > 1 else ""
    _print(console, title, ("", "", *head), rows)
    if not beside:
        _print(
            console,
            f"{title} Less {labels[0]}".strip(),
            ("", "", *labels[1:]),
            [
                (
                    *_named(quantity),
                    *(difference_text(differences[quantity, x]) for x in labels[1:]),
                )
                for quantity in found.quantities
            ],
        )


def _print_backends(found: Comparison, cell: str, console: Console) -> None:
    agreements = [each for each in found.agreements if each.cell == cell]
    if not agreements:
        return
    here = [each for each in found.backends if Arm(cell, each) in found.results]
    rows = []
    for quantity in found.quantities:
        numbers = [measured_text(quantity, found.measured(quantity, cell, each)) for each in here]
        own = [each for each in agreements if each.quantity == quantity]
        told = [text for each in own for text in _agreement(each)]
        rows.append((*_named(quantity), *numbers, *told))
    columns = [text for each in here[1:] for text in (f"less {here[0]}", "margin")]
    title = f"{' and '.join(here)}: {cell}"
    _print(console, title, ("", "", *here, *columns), rows)


def _named(quantity: Quantity) -> tuple[str, str]:
    return quantity.words, quantity.measure.shown_unit[0]


def _agreement(each: BackendAgreement) -> tuple[str, str]:
    text = measured_text(each.quantity, each.measured)
    factor = each.quantity.measure.shown_unit[1]
    margin = "" if each.margin is None else digits(factor * each.margin)
    mark = MARKS[each.outcome] if each.margin is not None else ""
    return f"{'+' if each.measured.value > 0 else ''}{text} {mark}".rstrip(), margin


def _print(
    console: Console, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    print_rows(console, title, head, rows, left=[index < 2 for index in range(len(head))])


def print_rows(
    console: Console,
    title: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    left: Sequence[bool],
) -> None:
    """Print a table without cutting its numbers.

    Args:
        console: The console.
        title: Its title; empty for none.
        head: Column heads.
        rows: Cells of each row.
        left: Indices of left-aligned columns.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title_justify="left")
    if title:
        table.title = Text(title, style="bold")
    for name, begins_left in zip(head, left, strict=True):
        side: Literal["left", "right"] = "left" if begins_left else "right"
        table.add_column(Text(name, justify=side), justify=side, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    print_table(table, console, beside=DIFFERENCE)


def _name(found: Comparison, arm: Arm) -> str:
    return arm.cell if len(found.backends) == 1 else f"{arm.cell} ({arm.backend})"
