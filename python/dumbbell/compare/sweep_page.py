"""The page of a sweep: figures over its parameters, one row per cell, and the description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dumbbell.compare.axes import Grid
from dumbbell.compare.comparison import Comparison
from dumbbell.compare.figures import goodput_of, latency_of
from dumbbell.compare.judging import Difference
from dumbbell.compare.page import difference_cell, number_cell
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm
from dumbbell.compare.sweep_figures import figures_of_sweep
from dumbbell.compare.words import sentences, sentences_of_groups
from dumbbell.report import Cell, Report, Topology, ValueRow, ValueTable
from dumbbell.spec import testbed_lines

SWEEP = "sweep"
"""Name of the page's study."""
MOST_ROWS = 400
"""Most cells in the page's table; `tables/runs.parquet` and the figures' data have all."""
MOST_SAID = 4
MOST_NOTES = 30
"""Most cells named for failing, and for missing the requested precision."""


def sweep_report(found: Comparison, grid: Grid) -> Report:
    """The page of a sweep."""
    first = found.cells[0]
    return Report(
        study=SWEEP,
        title=_title(found, grid),
        summary=_summary(found),
        topologies=[Topology.of(first.label or "as described", first.experiment)],
        values=[
            *(_numbers(found, grid, backend) for backend in found.backends),
            *_differences(found, grid),
        ],
        figures=list(figures_of_sweep(found)),
        commands={first.label or "as described": list(testbed_lines(first.experiment))},
        notes=[*sentences(found), *_notes(found)],
        meta=_meta(found, grid),
        tables={"runs": runs_frame(found, grid)},
    )


def _summary(found: Comparison) -> str:
    """Latency and throughput in sentences; the notes have the rest."""
    if all(each.n < 2 for each in found.results.values()):
        return "One run of each: numbers without intervals. With replications = 10 there are some."
    rows = tuple(each for each in (latency_of(found), goodput_of(found)) if each is not None)
    differences = tuple(each for each in found.differences if each.quantity in rows)
    said = sentences(replace(found, quantities=rows, differences=differences))
    return " ".join(said[:MOST_SAID]) or "The table has every cell."


def runs_frame(found: Comparison, grid: Grid) -> pl.DataFrame:
    """All numbers of all runs, one row per run.

    Returns:
        Columns: each parameter by its path (numbers in the unit of its figures, otherwise words),
            ``backend``, ``replication``, and every quantity by its path in its own unit; null where
            a run has none.
    """
    numbers: dict[str, list[np.ndarray[Any, Any]]] = {}
    lengths: list[int] = []
    rows: dict[str, list[Any]] = {axis.path: [] for axis in grid.axes}
    rows |= {"backend": [], "replication": []}
    places = {cell.label: cell.place for cell in found.cells}
    for arm, replicates in found.results.items():
        for path, coordinate in grid.coordinates(places[arm.cell]).items():
            rows[path] += [coordinate] * replicates.n
        rows["backend"] += [arm.backend] * replicates.n
        rows["replication"] += range(replicates.n)
        for quantity in replicates.summaries[0].quantities:
            column = numbers.setdefault(quantity.path, [])
            column += [np.full(n, np.nan) for n in lengths[len(column) :]]
            column.append(replicates.values(quantity))
        lengths.append(replicates.n)
    for column in numbers.values():
        column += [np.full(n, np.nan) for n in lengths[len(column) :]]
    columns = {path: np.concatenate(column) for path, column in numbers.items()}
    return pl.DataFrame({**rows, **columns}).with_columns(pl.col(list(columns)).fill_nan(None))


def _title(found: Comparison, grid: Grid) -> str:
    swept = " and ".join(axis.name for axis in grid.axes if len(axis.values) > 1)
    return f"{found.cells[0].experiment.name}: {swept}" if swept else found.cells[0].experiment.name


def _numbers(found: Comparison, grid: Grid, backend: str) -> ValueTable:
    cells = [each for each in found.cells if Arm(each.label, backend) in found.results]
    counts = sorted({found.results[Arm(each.label, backend)].n for each in cells})
    varied = _varied(grid)
    shown = cells[:MOST_ROWS]
    rows = []
    for cell in shown:
        values: list[Cell] = [
            Cell(words=grid.axes[number].labels[cell.place[number]]) for number in varied[1:]
        ]
        values += [
            number_cell(quantity, found.measured(quantity, cell.label, backend))
            for quantity in found.quantities
        ]
        rows.append(ValueRow(_first_label(grid, varied, cell.place), "", values))
    left = f" The first {len(shown)} of {len(cells)} cells." if len(shown) < len(cells) else ""
    kind = "members of the ensemble" if found.ensemble else "replications"
    n = " to ".join(str(each) for each in dict.fromkeys((counts[0], counts[-1]))) if counts else 0
    return ValueTable(
        title=f"Every cell, {backend}" if len(found.backends) > 1 else "Every cell",
        columns=[
            *(grid.axes[number].title for number in varied[1:]),
            *(_titled(quantity) for quantity in found.quantities),
        ],
        rows=rows,
        caption=f"{n} {kind} of each; in brackets "
        + (
            "minimum and maximum of the ensemble, not a confidence interval."
            if found.ensemble
            else "95 % intervals, of each number by itself."
        )
        + f" By rows: {grid.axes[varied[0]].title if varied else 'the experiment'}.{left}",
    )


def _differences(found: Comparison, grid: Grid) -> Iterator[ValueTable]:
    if not found.differences:
        return
    axis, varied = grid.axes[grid.along], _varied(grid)
    places = {cell.label: cell.place for cell in found.cells}
    for backend in found.backends:
        of_cells: dict[str, dict[Quantity, Difference]] = {}
        for each in found.differences:
            if each.backend == backend:
                of_cells.setdefault(each.cell, {})[each.quantity] = each
        rows = []
        for label, differences in list(of_cells.items())[:MOST_ROWS]:
            place = places[label]
            words = [Cell(words=grid.axes[number].labels[place[number]]) for number in varied[1:]]
            numbers = [difference_cell(differences[each]) for each in found.quantities]
            rows.append(ValueRow(_first_label(grid, varied, place), "", [*words, *numbers]))
        suffix = f", {backend}" if len(found.backends) > 1 else ""
        yield ValueTable(
            title=f"Differences from {axis.name} {axis.label(0)}{suffix}",
            columns=[
                *(grid.axes[number].title for number in varied[1:]),
                *(_titled(quantity) for quantity in found.quantities),
            ],
            rows=rows,
            caption=f"Each cell less the one with {axis.name} {axis.label(0)} and all else equal, "
            "paired by replication. ≠ differs, = is the same within what matters, ? is not decided"
            + (
                "; what holds for every member of the ensemble."
                if found.ensemble
                else "; wrong anywhere in the table in 5 % of tables (Holm)."
            ),
            is_folded=True,
        )


def _varied(grid: Grid) -> list[int]:
    """Indices of the axes that have several values."""
    return [number for number, axis in enumerate(grid.axes) if len(axis.values) > 1]


def _first_label(grid: Grid, varied: list[int], place: tuple[int, ...]) -> str:
    return grid.axes[varied[0]].label(place[varied[0]]) if varied else "as described"


def _titled(quantity: Quantity) -> str:
    unit = quantity.measure.shown_unit[0]
    return f"{quantity.words} ({unit})" if unit else quantity.words


def _notes(found: Comparison) -> Iterator[str]:
    if found.interrupted:
        yield "Interrupted: only the replications that had finished are here."
    if found.ensemble is not None:
        yield (
            f"Nothing is random in {len(found.ensemble.because)} of the cells. In place of "
            f"replications stands an ensemble: {found.ensemble.words}."
        )
    for failed in found.failed[:MOST_NOTES]:
        yield f"{failed.label} failed: {failed.error} Again: {failed.command}"
    if len(found.failed) > MOST_NOTES:
        yield f"{len(found.failed) - MOST_NOTES} more failed; meta.json names them."
    yield from sentences_of_groups(found)
    wanting = found.imprecise
    for arm in wanting[:MOST_NOTES]:
        yield f"{arm.cell}: {found.results[arm].stopped_because}."
    if len(wanting) > MOST_NOTES:
        yield f"{len(wanting) - MOST_NOTES} more are not as precise as was asked."
    yield "Every number of every run, with its parameters: tables/runs.parquet."


def _meta(found: Comparison, grid: Grid) -> dict[str, Any]:
    """What determines the result: the first cell's description, and how the others differ."""
    return {
        "backends": list(found.backends),
        "parameters": [
            {"path": axis.path, "name": axis.name, "unit": axis.unit, "values": list(axis.values)}
            for axis in grid.axes
        ],
        "experiment": found.cells[0].experiment.resolved(),
        "cells": [
            {
                "label": cell.label,
                "command": cell.command,
                "replications": {
                    backend: found.results[Arm(cell.label, backend)].n
                    for backend in found.backends
                    if Arm(cell.label, backend) in found.results
                },
            }
            for cell in found.cells
        ],
    } | _failed(found)


def _failed(found: Comparison) -> dict[str, Any]:
    """An empty list without failures: the page shows only the runs here."""
    told = [{"label": each.label, "command": each.command} for each in found.failed]
    return {"failed_cells": told} if told else {}
