"""The page of a search: the answer, the settings by fit, and each printed number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from dumbbell.compare.explaining.fitting import Explanation, Fit, OneNumber
from dumbbell.compare.explaining.searching import AS_IT_IS
from dumbbell.compare.explaining.words import answer, outcome, remarks, to_json
from dumbbell.report import (
    Cell,
    Figure,
    IntervalRow,
    Report,
    Topology,
    ValueRow,
    ValueTable,
    points_with_interval,
)
from dumbbell.spec import testbed_lines

EXPLANATION = "explanation"
"""Name of the page's study."""
MOST_ROWS = 400
MOST_FIGURES = 12
_FAR_APART = 8
"""Ratio of values from which an axis is logarithmic."""
MOST_DRAWN = 8
"""Most settings in a figure; the file as it is always has a row."""


def explanation_report(found: Explanation) -> Report:
    """The page of a search."""
    experiment = found.search.base.claims.cells[0].experiment
    return Report(
        study=EXPLANATION,
        title=f"{experiment.name}: which setting gives the printed numbers?",
        summary=answer(found),
        topologies=[Topology.of(AS_IT_IS, experiment)],
        values=[_settings(found), *_beside(found)],
        figures=list(_figures(found)),
        commands={AS_IT_IS: list(testbed_lines(experiment))},
        notes=list(remarks(found)),
        meta=_meta(found),
    )


def _settings(found: Explanation) -> ValueTable:
    shown = found.fits[:MOST_ROWS]
    rows = [
        ValueRow(
            each.trial.label,
            "1",
            [
                outcome(each).value,
                Cell(each.joint.statistic),
                Cell(each.joint.p_value, digits=2),
                Cell(each.adjusted, digits=2),
                ", ".join(number.id for number in each.missed) or "none",
            ],
        )
        for each in shown
    ]
    left = len(found.fits) - len(shown)
    more = f" {left} settings that fit worse are in explanation.json." if left else ""
    return ValueTable(
        title="Settings by fit",
        columns=["outcome", "chi-square", "p", "p, corrected", "numbers missed"],
        rows=rows,
        caption=f"{found.replications} replications of each. A number is missed if it lies outside "
        f"the 95 % of one more run, taken by itself.{more}",
        is_sortable=True,
    )


def _drawn(found: Explanation) -> list[Fit]:
    """The best fits, and the file as it is."""
    best = list(found.fits[:MOST_DRAWN])
    own = [each for each in found.fits if not each.trial.choices]
    return best if not own or own[0] in best else [*best[:-1], *own]


def _numbers(fit: Fit) -> dict[str, OneNumber]:
    return {each.id: each for each in fit.numbers}


def _beside(found: Explanation) -> Iterator[ValueTable]:
    fits = _drawn(found)[:4]
    if not fits:
        return
    rows = [
        ValueRow(
            each.id,
            each.unit,
            [Cell(each.printed), *(Cell.of(_numbers(fit)[each.id].predicted) for fit in fits)],
        )
        for each in fits[0].numbers
    ]
    yield ValueTable(
        title="Printed numbers and the nearest settings",
        columns=["printed", *(fit.trial.label for fit in fits)],
        rows=rows,
        caption="In brackets where one more run lies with 95 %, with what print leaves open.",
        is_folded=True,
    )


def _figures(found: Explanation) -> Iterator[Figure]:
    fits = _drawn(found)
    for number in fits[0].numbers[:MOST_FIGURES] if fits else ():
        rows = []
        for fit in fits:
            each = _numbers(fit)[number.id]
            low, high = each.predicted.low, each.predicted.high
            rows.append(IntervalRow(fit.trial.label, each.predicted.value, low, high, each.printed))
        unit = "" if number.unit == "1" else f" {number.unit}"
        chart = points_with_interval(
            rows,
            x_title=f"{number.id} ({number.unit})" if unit else number.id,
            break_labels_at=" and ",
            log_x=_are_far_apart(rows),
        )
        yield Figure(
            re.sub(r"[^A-Za-z0-9._-]", "-", f"number-{number.id}"),
            *chart,
            f"The printed number, {number.printed:g}{unit}, beside one more run of each setting, "
            "best joint fit first.",
            title=number.id,
            family="Each printed number",
        )


def _are_far_apart(rows: Sequence[IntervalRow]) -> bool:
    ends = [end for row in rows for end in (row.low, row.high, row.published) if end is not None]
    return min(ends) > 0 and max(ends) > _FAR_APART * min(ends)


def _meta(found: Explanation) -> dict[str, Any]:
    base, settings = found.search.base, found.search.settings
    return {
        "experiment": base.claims.cells[0].experiment.resolved(),
        "explanation": to_json(found),
    } | ({"settings": [str(each) for each in settings]} if settings else {})
