"""Numbers of a league side by side: sections without operating points, and all numbers as CSV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from dumbbell.compare.checking.amounts import Scale
from dumbbell.compare.page import number_cell
from dumbbell.judge.figures import threshold
from dumbbell.judge.league import Entry, League, Standing
from dumbbell.report import Figure, IntervalRow, ValueRow, ValueTable, points_with_interval


def number_tables(league: League, standings: Sequence[Standing]) -> Iterator[ValueTable]:
    """A table for each section without an operating point: a row for each controller."""
    for names in league.drawn.values():
        first = league.entries[0].numbers[names[0]]
        unit = first.quantity.measure.shown_unit[0]
        of = first.section.drawn.title
        yield ValueTable(
            title=f"{first.section.heading}: {of}{f' ({unit})' if unit else ''}",
            columns=[league.entries[0].numbers[name].label for name in names],
            rows=[
                ValueRow(
                    row.entry.name,
                    "",
                    [
                        number_cell(found.quantity, found.measured)
                        for found in (row.entry.numbers[name] for name in names)
                    ],
                )
                for row in standings
            ],
            caption=f"{first.section.question} In brackets 95 % intervals of the mean.",
            is_folded=True,
            is_sortable=True,
        )


def number_figures(league: League, standings: Sequence[Standing]) -> Iterator[Figure]:
    """A figure for each cell of these sections: a row for each controller."""
    entries = [row.entry for row in standings]
    for names in league.drawn.values():
        for name in names:
            if figure := _figure(name, entries):
                yield figure


def numbers_frame(league: League) -> pl.DataFrame:
    """One row per shared expectation and controller: number, interval, unit and outcome."""
    return pl.DataFrame(
        [
            {
                "controller": entry.name,
                "reference": found.section.reference,
                "section": found.section.title,
                "id": name,
                "expectation": found.expectation.statement,
                "measured": factor * found.measured.value,
                "low": factor * found.measured.low,
                "high": factor * found.measured.high,
                "unit": unit,
                "replications": found.measured.n,
                "outcome": entry.outcomes[name],
            }
            for name in league.shared
            for entry in league.entries
            for found in [entry.numbers[name]]
            for unit, factor in [found.quantity.measure.shown_unit]
        ]
    )


def _figure(name: str, entries: Sequence[Entry]) -> Figure | None:
    first = entries[0].numbers[name]
    scale = Scale.of(first.quantity.measure)
    rows = []
    for entry in entries:
        number = entry.numbers[name].measured
        if not math.isfinite(number.value):
            continue
        low, high = (
            scale.factor * end if number.has_ends else None for end in (number.low, number.high)
        )
        asked = threshold(first.expectation, scale)
        rows.append(IntervalRow(entry.name, scale.factor * number.value, low, high, theory=asked))
    if not rows:
        return None
    unit = "" if scale.unit == "1" else f" ({scale.unit})"
    return Figure(
        name,
        *points_with_interval(
            rows,
            x_title=f"{first.section.drawn.title}{unit}",
            interval_title="95 % interval of the mean",
            theory_title="what is asked",
        ),
        caption=f"{first.section.question} The tick is the threshold.",
        title=f"{first.section.reference}: {first.label}",
        family="Section by section",
    )
