"""Figures of a dossier: outcomes by section, and each section's numbers with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import altair as alt
import polars as pl

from dumbbell.compare.checking.amounts import Scale
from dumbbell.compare.quantity import Quantity
from dumbbell.judge.dossier import Dossier, SectionResult
from dumbbell.judge.outcome_bar import COLOURS
from dumbbell.judge.section import Expectation
from dumbbell.judge.words import FAILS, HOLDS, OPEN
from dumbbell.report import Figure, IntervalRow, Plot, points_with_interval
from dumbbell.report.theme import FIGURE_WIDTH

OVERVIEW = "sections"
_ROW_HEIGHT = 26
_BOUNDS = ("above", "below", "value")


def figures_of(dossier: Dossier) -> Iterator[Figure]:
    """The overview, then a figure for each section that has numbers to draw."""
    yield overview(dossier)
    for found in dossier.found:
        figure = section_figure(found, dossier.backends)
        if figure is not None:
            yield figure


def overview(dossier: Dossier) -> Figure:
    """Number of expectations of each section that hold, do not hold, or are undecided."""
    counts = {
        _section_label(found): {
            HOLDS: len(found.holds),
            FAILS: len(found.fails),
            OPEN: len(found.open),
        }
        for found in dossier.found
    }
    return Figure(
        OVERVIEW,
        *outcome_bars(counts, "section"),
        caption="Of what is asked in each section: how much holds, does not hold, and is not "
        f"decided. The sections are named as in {dossier.suite.name}.",
        title="What holds, by section",
    )


def outcome_bars(counts: Mapping[str, Mapping[str, int]], of: str) -> Plot:
    """One stacked bar per row: holds, does not hold, undecided.

    Args:
        counts: Number of expectations by outcome, for each row's label.
        of: Name of the rows; a column of the data.
    """
    rows = [
        {of: label, "what": what, "expectations": each[what]}
        for label, each in counts.items()
        for what in (HOLDS, FAILS, OPEN)
    ]
    frame = pl.DataFrame(rows)
    order = list(counts)
    colours = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    base = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("expectations:Q", title="expectations", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y(f"{of}:N", title=None, sort=order, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("what:N", title=None, sort=None, scale=colours),
            order=alt.Order("rank:Q"),
            tooltip=[f"{of}:N", "what:N", "expectations:Q"],
        )
        .transform_calculate(rank=f"indexof({[HOLDS, FAILS, OPEN]}, datum.what)")
    )
    chart = alt.LayerChart(layer=[base]).properties(
        width=FIGURE_WIDTH, height=_ROW_HEIGHT * len(order)
    )
    return Plot(chart, frame)


def section_figure(found: SectionResult, backends: tuple[str, ...]) -> Figure | None:
    """The numbers of a section's `SectionFigure` quantity; None without any."""
    rows, scale = [], None
    several = len(backends) > 1
    for each in found.written.trial.expectations:
        if not each.label or not each.quantity.endswith(f".{found.section.drawn.quantity}"):
            continue
        scale = Scale.of(Quantity.parse(each.quantity).measure)
        for backend in backends:
            number = found.measured(each, backend)
            if not math.isfinite(number.value):
                continue
            low, high = (
                scale.factor * end if number.has_ends else None for end in (number.low, number.high)
            )
            rows.append(
                IntervalRow(
                    each.label,
                    scale.factor * number.value,
                    low,
                    high,
                    theory=threshold(each, scale),
                    style=backend if several else "",
                )
            )
    if not rows or scale is None:
        return None
    section = found.section
    unit = "" if scale.unit == "1" else f" ({scale.unit})"
    return Figure(
        section.id,
        *points_with_interval(
            rows,
            x_title=f"{section.drawn.title}{unit}",
            interval_title="95 % interval of the mean",
            theory_title="what is asked",
            coloured=several,
        ),
        caption=f"{section.question} The tick is the threshold.",
        title=section.heading,
        family="Section by section",
    )


def threshold(each: Expectation, scale: Scale) -> float | None:
    """The bound of an expectation, in the unit of the figure; None without a bound.

    Comparisons with another cell have none.
    """
    bound = next((each.rule[key] for key in _BOUNDS if key in each.rule), None)
    return scale.read(bound, each.id) if isinstance(bound, str | int | float) else None


def _section_label(found: SectionResult) -> str:
    return found.section.label
