"""The page of a comparison: findings, figures, all numbers, and the description."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dumbbell.compare.comparison import Comparison
from dumbbell.compare.figures import arm_name, figures_of, goodput_of, latency_of
from dumbbell.compare.judging import Basis, Difference, Measured, Outcome
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm
from dumbbell.compare.words import sentences, sentences_of_groups, with_unit
from dumbbell.report import Cell, Report, Topology, ValueRow, ValueTable
from dumbbell.spec import testbed_lines

COMPARISON = "comparison"
"""Name of the page's study."""
MOST_SHOWN = 6
"""Number of cells whose topology and commands are shown; `meta.json` has all."""
_MARKS = {Outcome.DIFFERS: "≠", Outcome.SAME: "=", Outcome.OPEN: "?"}


def comparison_report(found: Comparison) -> Report:
    """The page of a comparison; its figures use the runs that were kept."""
    if found.grid is not None:
        from dumbbell.compare.sweep_page import sweep_report

        return sweep_report(found, found.grid)
    cells = found.cells[:MOST_SHOWN]
    return Report(
        study=COMPARISON,
        title=_title(found),
        summary=_summary(found),
        topologies=[Topology.of(each.label or "as described", each.experiment) for each in cells],
        values=[
            *(_numbers(found, backend) for backend in found.backends),
            *_differences(found),
            *_agreements(found),
        ],
        figures=list(figures_of(found)),
        commands={
            each.label or "as described": list(testbed_lines(each.experiment)) for each in cells
        },
        notes=list(_notes(found)),
        meta=_meta(found),
    )


def _summary(found: Comparison) -> str:
    """Latency and throughput of each cell, in sentences; the tables have the rest."""
    rows = [each for each in (latency_of(found), goodput_of(found)) if each is not None]
    if all(each.n < 2 for each in found.results.values()):
        return "One run of each: numbers without intervals. With --replications 10 there are some."
    kept = replace(
        found,
        differences=tuple(each for each in found.differences if each.quantity in rows),
        agreements=tuple(each for each in found.agreements if each.quantity in rows),
    )
    said = sentences(kept)[:MOST_SHOWN]
    if not said:
        said = [
            f"{row.words}: {with_unit(row, found.measured(row, arm.cell, arm.backend).value)}."
            for row in rows
            for arm in found.arms[:1]
        ]
    return " ".join(said) or "The tables have every number."


def _title(found: Comparison) -> str:
    names = list(dict.fromkeys(cell.experiment.name for cell in found.cells))
    labels = [cell.label for cell in found.cells if cell.label]
    told = f": {', '.join(labels[:4])}" if len(labels) > 1 else ""
    more = f" and {len(labels) - 4} more" if len(labels) > 4 else ""
    return f"{' and '.join(names[:3])}{told}{more}"


def _numbers(found: Comparison, backend: str) -> ValueTable:
    arms = [arm for arm in found.arms if arm.backend == backend]
    several = len(found.backends) > 1
    counts = ", ".join(str(n) for n in sorted({found.results[arm].n for arm in arms}))
    return ValueTable(
        title=f"Numbers, {backend}" if several else "Numbers",
        columns=[arm.cell or "as described" for arm in arms],
        rows=[
            ValueRow(
                quantity.words,
                quantity.measure.shown_unit[0],
                [
                    number_cell(quantity, found.measured(quantity, arm.cell, backend))
                    for arm in arms
                ],
            )
            for quantity in found.quantities
        ],
        caption=f"{counts} {'members of the ensemble' if found.ensemble else 'replications'} of "
        f"each. In brackets: {_in_brackets(found)}.",
    )


def _in_brackets(found: Comparison) -> str:
    if found.ensemble is not None:
        return "minimum and maximum of the ensemble, not a confidence interval"
    return (
        "the 95 % interval of the mean, of each number by itself; of skewed numbers (far "
        "percentiles, completion times) of the geometric mean; cut where nothing can be, as a "
        "rate below 0"
    )


def _differences(found: Comparison) -> Iterator[ValueTable]:
    for backend in found.backends:
        here = [each for each in found.differences if each.backend == backend]
        if not here:
            continue
        columns = list(dict.fromkeys(each.cell for each in here))
        by = {(each.quantity, each.cell): each for each in here}
        suffix = f", {backend}" if len(found.backends) > 1 else ""
        yield ValueTable(
            title=f"Differences from {here[0].base}{suffix}",
            columns=columns,
            rows=[
                ValueRow(
                    quantity.words,
                    quantity.measure.shown_unit[0],
                    [difference_cell(by[quantity, cell]) for cell in columns],
                )
                for quantity in found.quantities
            ],
            caption="Paired by replication: each pair saw the same random numbers. ≠ differs, = is "
            "the same within what matters, ? is not decided"
            + (
                "; what holds for every member of the ensemble."
                if found.ensemble
                else "; wrong anywhere in the table in 5 % of tables (Holm)."
            ),
        )


def _agreements(found: Comparison) -> Iterator[ValueTable]:
    for cell in found.cells:
        here = [each for each in found.agreements if each.cell == cell.label]
        if not here:
            continue
        columns = list(dict.fromkeys(f"{each.backend} less {each.other}" for each in here))
        rows = []
        for quantity in found.quantities:
            own = [each for each in here if each.quantity == quantity]
            cells = [
                _with_mark(quantity, each.measured, each.outcome if each.margin else None)
                for each in own
            ]
            rows.append(ValueRow(quantity.words, quantity.measure.shown_unit[0], cells))
        yield ValueTable(
            title=f"Backends{f': {cell.label}' if cell.label else ''}",
            columns=columns,
            rows=rows,
            caption="= agrees within the margin (5 %, a packet's time or 0.5 ms), ≠ does not.",
        )


def number_cell(quantity: Quantity, number: Measured) -> Cell:
    """A number as a table cell."""
    factor = quantity.measure.shown_unit[1]
    if number.basis is Basis.UNDEFINED:
        return Cell(words="–")
    if not number.has_ends:
        return Cell(factor * number.value, digits=4)
    return Cell(factor * number.value, factor * number.low, factor * number.high)


def difference_cell(each: Difference) -> Cell:
    """A difference with its sign of significance, as a table cell."""
    if each.measured.basis is Basis.GEOMETRIC:  # as a ratio
        number, words = each.measured, f"times {_MARKS[each.outcome]}"
        if not number.has_ends:
            return Cell(number.value, words=words)
        return Cell(number.value, number.low, number.high, words)
    return _with_mark(each.quantity, each.measured, each.outcome)


def _with_mark(quantity: Quantity, number: Measured, outcome: Outcome | None) -> Cell:
    cell = number_cell(quantity, number)
    mark = _MARKS[outcome] if outcome is not None and number.n > 1 else ""
    return Cell(cell.value, cell.low, cell.high, f"{cell.words} {mark}".strip(), cell.digits)


def _notes(found: Comparison) -> Iterator[str]:
    if found.interrupted:
        yield "Interrupted: only the replications that had finished are here."
    if found.ensemble is not None:
        yield (
            f"Nothing is random in {', '.join(found.ensemble.because)}. In place of replications "
            f"stands an ensemble: {found.ensemble.words}."
        )
    for failed in found.failed:
        yield f"{failed.label} failed: {failed.error} Again: {failed.command}"
    yield from sentences_of_groups(found)
    for arm in found.arms:
        if not found.results[arm].precise:
            yield f"{arm_name(found, arm)}: {found.results[arm].stopped_because}"
    if len(found.cells) > MOST_SHOWN:
        yield f"Drawn are {MOST_SHOWN} of {len(found.cells)} cells; meta.json has all of them."


def _meta(found: Comparison) -> dict[str, Any]:
    return {
        "backends": list(found.backends),
        "cells": [
            {
                "label": cell.label,
                "command": cell.command,
                "experiment": cell.experiment.resolved(),
                "replications": {
                    backend: found.results[Arm(cell.label, backend)].n
                    for backend in found.backends
                    if Arm(cell.label, backend) in found.results
                },
            }
            for cell in found.cells
        ],
    }
