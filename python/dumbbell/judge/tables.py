"""Tables of a dossier: expectations with numbers and outcomes, and harm; also as CSV and LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from dumbbell.compare.page import number_cell
from dumbbell.compare.quantity import Quantity
from dumbbell.judge.ccperf.rows import ccperf_tables
from dumbbell.judge.dossier import KERNEL, Compared, Dossier, KernelCheck, SectionResult
from dumbbell.judge.harm import harm
from dumbbell.judge.request import Depth
from dumbbell.judge.suite import Suite
from dumbbell.judge.words import outcome_words
from dumbbell.printable import printable
from dumbbell.report import Cell, ValueRow, ValueTable
from dumbbell.report.spreadsheets import for_spreadsheets
from dumbbell.stats import StatsError

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "–": "--",
        "−": "$-$",
    }
)


def value_tables(dossier: Dossier) -> Iterator[ValueTable]:
    """What differs on the kernel, which leads the page, and all that the kernel says; then one
    table per section, with harm and CCPerf's tables where they are measured.
    """
    several = len(dossier.backends) > 1
    if dossier.on_kernel is not None and dossier.on_kernel.compared:
        if dossier.on_kernel.differing:
            yield differing_table(dossier.on_kernel)
        yield kernel_table(dossier.on_kernel)
    for found in dossier.found:
        yield section_table(found, dossier.backends)
        for backend in dossier.backends:
            yield from ccperf_tables(found, backend, names_backend=several)
        if found.written.trial.harms:
            for backend in dossier.backends:
                yield harm_table(found, backend)


def section_table(found: SectionResult, backends: tuple[str, ...]) -> ValueTable:
    """A section's expectations, with the measured numbers and outcomes."""
    section = found.section
    outcomes = {(each.claim.id, each.backend): outcome_words(each) for each in found.judged}
    rows = []
    for each in found.written.trial.expectations:
        quantity = Quantity.parse(each.quantity)
        cells = [
            cell
            for backend in backends
            for cell in (
                Cell(words=outcomes.get((f"{section.id}-{each.id}", backend), "–")),
                number_cell(quantity, found.measured(each, backend)),
            )
        ]
        rows.append(ValueRow(each.statement, quantity.measure.shown_unit[0] or "1", cells))
    several = len(backends) > 1
    columns = [
        name
        for backend in backends
        for name in ((f"outcome, {backend}", backend) if several else ("outcome", "measured"))
    ]
    return ValueTable(
        title=section.heading,
        columns=columns,
        rows=rows,
        caption=f"{section.question} In brackets 95 % intervals of the mean. Run it alone: "
        f"{section.id}.toml.",
    )


def differing_table(check: KernelCheck) -> ValueTable:
    """The expectations that simulator and kernel decide differently; two columns fit a phone."""
    return ValueTable(
        title="Where simulator and kernel decide differently",
        columns=["simulator", "kernel"],
        rows=[
            _row(each, [replace(number, words=outcome) for outcome, number in _in_both(each)])
            for each in check.differing
        ],
        caption=f"{Depth.QUICK.replications} runs on the kernel; in brackets 95 % intervals of the "
        "mean. Which of the two is right is open: do not rely on these findings.",
        is_leading=True,
    )


def kernel_table(check: KernelCheck) -> ValueTable:
    """The deciding expectations in the simulator and on the kernel; those that differ first."""
    return ValueTable(
        title="What the Linux kernel says",
        columns=["differs", "outcome, sim", "sim", "outcome, kernel", "kernel"],
        rows=[
            _row(
                each,
                [
                    Cell(words="yes" if each.differs else "–"),
                    *(
                        cell
                        for outcome, number in _in_both(each)
                        for cell in (Cell(words=outcome), number)
                    ),
                ],
            )
            for each in check.compared
        ],
        caption="One cell of each section, which decides it: that of the expectation which misses "
        "its threshold by most, or, where all hold, of the one closest to its threshold; relative "
        "to the threshold. A cell whose runs take minutes each on the kernel is passed over. "
        f"{Depth.QUICK.replications} runs on the kernel; in brackets 95 % "
        "intervals of the mean. Run one alone: SECTION-kernel.toml.",
    )


def _in_both(each: Compared) -> list[tuple[str, Cell]]:
    """Outcome and number of an expectation in the simulator, and on the kernel."""
    quantity = Quantity.parse(each.expectation.quantity)
    return [
        (outcome_words(judged), number_cell(quantity, number))
        for judged, number in zip(each.judged, each.measured, strict=True)
    ]


def _row(each: Compared, cells: Sequence[Cell]) -> ValueRow:
    unit = Quantity.parse(each.expectation.quantity).measure.shown_unit[0] or "1"
    return ValueRow(f"{each.section.reference} {each.expectation.statement}", unit, cells)


def harm_table(found: SectionResult, backend: str) -> ValueTable:
    """Throughput of a rival alone, beside itself and beside the controller, and the harm."""
    rows = []
    for each in found.written.trial.harms:
        alone, own, beside = (
            found.values(each.quantity, where, backend)
            for where in (each.alone, each.own, each.beside)
        )
        cells = []
        for other in (own, beside):
            try:
                cells.append(Cell.of(harm(alone, other)))
            except StatsError:
                cells.append(Cell(words="–"))
        rows.append(ValueRow(f"{each.rival}, {each.label}", "1", cells))
    return ValueTable(
        title="Harm to throughput",
        columns=["by its own kind", "by this controller"],
        rows=rows,
        caption="(alone - beside) / alone, by Ware, Mukerjee, Seshan and Sherry (HotNets 2019): 0 "
        "is none, 1 the most. Two equal flows that share fairly do each other a harm of 0.5. On "
        f"{backend}, of means over the replications, with 95 % intervals.",
    )


def verdict_frame(dossier: Dossier) -> pl.DataFrame:
    """One row per expectation and backend: section, statement, number, interval, unit, outcome."""
    rows = _verdict_rows(dossier.found, dossier.backends)
    if dossier.on_kernel is not None:
        rows += _verdict_rows(dossier.on_kernel.found, (KERNEL,))
    return pl.DataFrame(rows)


def _verdict_rows(
    sections: Sequence[SectionResult], backends: Sequence[str]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for found in sections:
        outcomes = {(each.claim.id, each.backend): each for each in found.judged}
        for each in found.written.trial.expectations:
            quantity = Quantity.parse(each.quantity)
            unit, factor = quantity.measure.shown_unit
            for backend in backends:
                judged = outcomes.get((f"{found.section.id}-{each.id}", backend))
                number = found.measured(each, backend)
                rows.append(
                    {
                        found.section.suite.column: found.section.reference,
                        "section": found.section.title,
                        "id": f"{found.section.id}-{each.id}",
                        "expectation": each.statement,
                        "backend": backend,
                        "measured": factor * number.value,
                        "low": factor * number.low,
                        "high": factor * number.high,
                        "unit": unit,
                        "replications": number.n,
                        "outcome": "–" if judged is None else outcome_words(judged),
                    }
                )
    return rows


def csv_text(frame: pl.DataFrame) -> str:
    """The frame as CSV."""
    return for_spreadsheets(frame).write_csv()


def latex_text(frame: pl.DataFrame, suite: Suite) -> str:
    """The frame as a ``longtable`` of LaTeX (packages longtable and booktabs)."""
    lines = [
        r"% \usepackage{longtable,booktabs}",
        r"\begin{longtable}{lp{0.5\textwidth}rl}",
        r"\toprule",
        rf"{suite.name} & expectation & measured & outcome \\",
        r"\midrule",
        r"\endhead",
    ]
    for row in frame.iter_rows(named=True):
        number = Cell(
            row["measured"], _or_none(row["low"]), _or_none(row["high"]), row["unit"]
        ).text
        cells = (row[suite.column], row["expectation"], number, row["outcome"])
        lines.append(latex_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{longtable}", ""])


def latex_row(cells: Sequence[str]) -> str:
    """Cells as a row of a LaTeX table, with special characters escaped."""
    row = " & ".join(printable(each).translate(_LATEX) for each in cells) + r" \\"
    # After the end of a row, a bracket or a star is an argument of it, even on the next line.
    return "{}" + row if row.startswith(("[", "*")) else row


def _or_none(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value
