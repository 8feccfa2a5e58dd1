"""CCPerf's tables of a section: each row of its pages, with an interval over the replications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import polars as pl

from dumbbell.compare import Measured, MeasureSubject
from dumbbell.compare.page import number_cell
from dumbbell.compare.quantity import Quantity
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.metrics.ccperf import ROWS, Row
from dumbbell.report import ValueRow, ValueTable

TITLES: Mapping[MeasureSubject, str] = MappingProxyType(
    {
        MeasureSubject.FLOW: "Flow metrics",
        MeasureSubject.QUEUE: "Link metrics",
        MeasureSubject.NETWORK: "Network metrics",
    }
)
"""Titles of CCPerf's tables."""


def ccperf_tables(found: SectionResult, backend: str, *, names_backend: bool) -> list[ValueTable]:
    """The tables of a section's runs; none if its runs do not have CCPerf's rows.

    Args:
        found: The section.
        backend: Backend of the numbers.
        names_backend: Whether the titles name it.
    """
    suffix = f", {backend}" if names_backend else ""
    tables = []
    for of, title in TITLES.items():
        columns = list(columns_of(found, backend, of))
        if not columns:
            continue
        rows = [
            ValueRow(
                row.name,
                row.unit,
                [
                    number_cell(
                        quantity, found.checked.comparison.measured(quantity, cell, backend)
                    )
                    for cell, _, quantity in _of_row(columns, row)
                ],
            )
            for row in rows_of(of)
        ]
        tables.append(
            ValueTable(
                title=f"{title}: {found.section.reference}{suffix}",
                columns=[_heading(found, cell, name, columns) for cell, name, _ in columns],
                rows=rows,
                caption="Means over the runs, with 95 % intervals. CCPerf's own rows come first; "
                "the definitions are on the page of metrics.",
                is_folded=True,
            )
        )
    return tables


def ccperf_frame(dossiers: Sequence[Dossier]) -> pl.DataFrame | None:
    """One row per number, with its interval; None if the runs do not have CCPerf's rows."""
    lines = [
        {
            "controller": dossier.request.name,
            "scenario": found.section.reference,
            "cell": cell_name(found, cell),
            "of": row.of,
            "name": name or "network",
            "backend": backend,
            "metric": row.name,
            "published": row.is_published,
            "unit": row.unit,
            **_numbers(found.checked.comparison.measured(quantity, cell, backend)),
        }
        for dossier in dossiers
        for found in dossier.found
        for backend in dossier.backends
        for of in TITLES
        for row in rows_of(of)
        for cell, name, quantity in _of_row(list(columns_of(found, backend, of)), row)
    ]
    return pl.DataFrame(lines) if lines else None


Column = tuple[str, str, Quantity]
"""Label of a cell, name of the flow or queue, and one of its quantities."""


def columns_of(found: SectionResult, backend: str, of: MeasureSubject) -> Iterator[Column]:
    """The flows, links or networks with CCPerf's rows, cell by cell; each with its first row."""
    comparison = found.checked.comparison
    failed = {each.label for each in comparison.failed}
    for cell in dict.fromkeys(found.written.labels):
        if cell in failed:
            continue
        seen: set[str] = set()
        for each in comparison.replicates(cell, backend).summaries[0].quantities:
            if each.of is of and each.measure.of_recorded and each.name not in seen:
                seen.add(each.name)
                yield cell, each.name, each


def _of_row(columns: Sequence[Column], row: Row) -> Iterator[Column]:
    for cell, name, first in columns:
        yield cell, name, Quantity(first.of, name, row.name)


def rows_of(of: MeasureSubject) -> list[Row]:
    """The rows of a table, CCPerf's own first, by name."""
    table = "link" if of is MeasureSubject.QUEUE else of.value
    rows = [each for each in ROWS.values() if each.of == table]
    return sorted(rows, key=lambda each: (not each.is_published, each.name))


def _heading(found: SectionResult, cell: str, name: str, columns: Sequence[Column]) -> str:
    """The cell's name in figures, and the flow's if it is not alone."""
    told = cell_name(found, cell)
    is_alone = sum(each[0] == cell for each in columns) == 1
    return told if is_alone else f"{told}, {name}"


def cell_name(found: SectionResult, cell: str) -> str:
    """The label of the cell's first expectation, or the cell's own."""
    pairs = zip(found.written.labels, found.written.trial.expectations, strict=True)
    return next((each.label for label, each in pairs if label == cell and each.label), cell)


def _numbers(number: Measured) -> dict[str, float | int]:
    return {
        "mean": number.value,
        "low": number.low,
        "high": number.high,
        "replications": number.n,
    }
