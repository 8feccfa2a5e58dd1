"""Verdicts: each claim at every point of the grid by the rule of its kind, then over the grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims.legacy import (
    Claim,
    GridPoint,
    Judged,
    Kind,
    judge_free_parameters,
    judge_hardly_matters,
    judge_ordering,
    judge_published_number,
    judge_stated,
    not_testable,
)
from dumbbell.stats import (
    prediction_interval,
    ratio_interval,
    simultaneous_band,
    student_interval,
)
from dumbbell.studies.buffer_sizing import published
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.observations import FURTHER, OBSERVATIONS, Observation

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]
"""Number to a value a replication."""


TWINS = ("persistent small large loss", "persistent testbed loss over ns-2")
"""A number, and what its difference between the testbed's and ns-2's TCP is called."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """A claim over the grid.

    Attributes:
        whole: Over all points.
        points: At each of them.
    """

    whole: Judged
    points: Mapping[Point, Judged]


def judge_all(
    found: Mapping[Point, Values],
    *,
    duration_s: float = published.DURATION_S,
    backend: str = "sim",
) -> list[Verdicts]:
    """Every claim over the grid.

    Args:
        found: Point to its numbers, the nominal points first.
        duration_s: Of the runs. Numbers of one run are judged of runs as long as the source's.
        backend: Where they were measured.
    """
    if not found:
        return []
    stacks = {point.stack for point in found}
    known = with_twins(found)
    everything = (*OBSERVATIONS, *FURTHER)
    return [
        judge(each, known, duration_s=duration_s, backend=backend)
        for each in everything
        if stacks & set(each.stacks)
    ]


def judge(
    of: Observation,
    found: Mapping[Point, Values],
    *,
    duration_s: float = published.DURATION_S,
    backend: str = "sim",
) -> Verdicts:
    """One claim over the grid's points with the TCP it is about."""
    points = [point for point in found if point.stack in of.stacks]
    told = [point.parameters for point in points]
    varied = [name for name in told[0] if len({each[name] for each in told}) > 1]
    judged = [
        judge_at(of, found[point], duration_s=duration_s, backend=backend) for point in points
    ]
    grid = [
        GridPoint({name: each[name] for name in varied}, one)
        for each, one in zip(told, judged, strict=True)
    ]
    where = ", ".join(varied) or "one point"
    claim = Claim(
        id=of.id,
        statement=_numbered(of),
        source=of.source,
        kind=Kind.FREE_PARAMETERS,
        published=of.value,
        margin=of.margin,
        unit=of.unit,
        rule=(
            f"Measured: {of.metric}. At each of {len(points)} points of the grid ({where}): "
            f"{judged[0].claim.rule} Reproduced when that is so at every point; else it depends on "
            "what decides."
        ),
    )
    whole = judge_free_parameters(claim, grid, backend=backend)
    return Verdicts(whole, dict(zip(points, judged, strict=True)))


def _numbered(of: Observation) -> str:
    """The statement with the number of its observation in the source."""
    parts = of.id.split("-")
    return f"({int(parts[1])}) {of.statement}" if parts[0] == "observation" else of.statement


def judge_at(of: Observation, values: Values, *, duration_s: float, backend: str = "sim") -> Judged:
    """One claim at one point of the grid."""
    claim = Claim(
        id=of.id,
        statement=of.statement,
        source=of.source,
        kind=of.kind,
        published=of.value,
        margin=of.margin,
        unit=of.unit,
        rule=_rule(of),
    )
    columns = [values.get(name) for name in of.quantities]
    if any(column is None or not np.isfinite(column).all() for column in columns):
        return not_testable(claim, "a run has no such flows", backend=backend)
    known = [np.asarray(column) for column in columns]
    if of.how == "band":
        band = simultaneous_band(np.column_stack(known), level=claim.level)
        return judge_ordering(claim, band, backend=backend)
    if of.how == "prediction":
        if duration_s < published.DURATION_S:
            why = f"runs of {duration_s:g} s, where the source's took {published.DURATION_S} s"
            return not_testable(claim, why, backend=backend)
        return judge_published_number(claim, prediction_interval(known[0]), backend=backend)
    if of.how == "ratio":
        estimate = ratio_interval(known[0], known[1])
    else:
        estimate = student_interval(known[0])
    if of.kind is Kind.SHARE:
        low, high = max(0.0, estimate.low), min(1.0, estimate.high)
        estimate = replace(estimate, low=low, high=high)
    if of.kind is Kind.HARDLY_MATTERS:
        return judge_hardly_matters(claim, estimate, backend=backend)
    return judge_stated(claim, estimate, side=of.side, backend=backend)


def _rule(of: Observation) -> str:
    """The rule of one point, in words; the standard text where that fits."""
    if of.side == "equals":
        stated = "" if of.value is None else f" {of.value:g}"
        if of.kind is Kind.SHARE or of.kind is Kind.RANGE:
            return f"the 95 % interval of its mean lies inside{stated} ±{of.margin:g}."
        return ""
    return f"the 95 % interval lies wholly on the side claimed, {of.side} {of.value:g}."


def with_twins(found: Mapping[Point, Values]) -> dict[Point, Values]:
    """With the differences between the testbed's and ns-2's TCP, at points alike otherwise.

    The two see the same arrivals, replication by replication.
    """
    name, gap = TWINS
    known: dict[Point, Values] = dict(found)
    for point, values in found.items():
        twin = found.get(replace(point, stack="ns-2"))
        if point.stack == "testbed" and twin is not None and name in values and name in twin:
            known[point] = {**values, gap: values[name] - twin[name]}
    return known
