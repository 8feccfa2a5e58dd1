"""Points for a verdict: full, none, or by the part of the interval in which the claim holds."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.claims import Claim, Curves, Grid, GridPoint, Verdict, judge, not_testable
from dumbbell.claims.rules import Direction, Ordering
from dumbbell.course.marks import mark_of, share_of

RULE = Ordering(over="", unit="ms")


def claimed(values: list[float], rule: Ordering = RULE) -> float:
    rows = np.array(values, dtype=float)[:, None]
    claim = Claim(id="c", statement="s", source="t", rule=rule)
    return share_of(judge(claim, Curves(rows)))


def test_whole_and_none() -> None:
    assert claimed([5.0, 5.1, 4.9, 5.0]) == 1.0
    assert claimed([-5.0, -5.1, -4.9, -5.0]) == 0.0


def test_an_interval_around_the_bound_earns_the_part_on_the_claimed_side() -> None:
    assert claimed([-1.0, 1.0, -1.0, 1.0]) == pytest.approx(0.5)
    judged = judge(
        Claim(id="c", statement="s", source="t", rule=RULE),
        Curves(np.array([[-1.0], [1.5], [-1.0], [1.5]])),
    )
    assert judged.verdict is Verdict.INCONCLUSIVE
    low, high = judged.found.low, judged.found.high
    assert low is not None
    assert high is not None
    assert share_of(judged) == pytest.approx(high / (high - low))
    assert mark_of(judged, 4.0, partial=True).points == round(4.0 * high / (high - low), 2)
    assert mark_of(judged, 4.0, partial=False).points == 0.0


def test_slack_counts_as_the_claimed_side() -> None:
    tight = claimed([-1.0, 1.0, -1.0, 1.0])
    assert claimed([-1.0, 1.0, -1.0, 1.0], Ordering(over="", unit="ms", slack=0.5)) > tight


def test_too_few_runs_earn_nothing() -> None:
    assert claimed([5.0]) == 0.0


def test_a_grid_earns_the_share_of_its_settings() -> None:
    def at(value: float) -> Curves:
        return Curves(value + np.array([[0.0], [0.1], [-0.1], [0.05]]))

    rule = Direction(at_each=RULE, grid="buffer: 4 points")
    claim = Claim(id="c", statement="s", source="t", rule=rule)
    points = [GridPoint({"buffer": n}, at(value)) for n, value in enumerate((5.0, 5.0, 5.0, -5.0))]
    judged = judge(claim, Grid(points))
    assert judged.verdict is Verdict.DEPENDS_ON
    assert share_of(judged) == 0.75


def test_what_was_not_run_earns_nothing() -> None:
    assert share_of(not_testable(Claim(id="c", statement="s", source="t", rule=RULE), "")) == 0.0
