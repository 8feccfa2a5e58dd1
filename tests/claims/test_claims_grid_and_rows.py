"""Grids of free parameters as they were judged before, shares and ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.claims import (
    percentile_range,
    share_better,
)
from dumbbell.claims.legacy import Claim, GridPoint, Judged, Kind, Verdict, judge_free_parameters

FREE = Claim("g", "It holds.", "A source", Kind.FREE_PARAMETERS, "ms")
INNER = Claim("i", "It holds here.", "A source", Kind.PUBLISHED_NUMBER, "ms", published=1.0)
YES, NO, MAYBE = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED, Verdict.INCONCLUSIVE


def point(verdict: Verdict, **parameters: float) -> GridPoint:
    return GridPoint(parameters, Judged(INNER, "sim", 1.0, 0.5, 1.5, 40, verdict))


def test_reproduced_only_when_it_holds_over_the_grid() -> None:
    whole = [point(YES, load=load) for load in (0.7, 0.8, 0.9)]
    assert judge_free_parameters(FREE, whole).verdict is YES
    assert judge_free_parameters(FREE, [point(NO, load=0.7)]).verdict is NO
    assert judge_free_parameters(FREE, [*whole, point(MAYBE, load=1.0)]).verdict is MAYBE


def test_the_deciding_parameter_is_named_and_where_it_turns() -> None:
    grid = [
        point(YES if load < 0.8 else NO, base=base, load=load)
        for base in (1.0, 2.0)
        for load in (0.7, 0.75, 0.9)
    ]
    judged = judge_free_parameters(FREE, grid)
    assert judged.verdict_text == "depends on load"
    assert judged.note == "reproduced at load = 0.7 / load = 0.75; not reproduced at load = 0.9"


def test_where_nothing_was_decided_is_told_by_all_parameters() -> None:
    grid = [
        point(MAYBE, base=1.0, load=0.9),
        point(NO, base=2.0, load=0.9),
        point(YES, base=2.0, load=0.7),
    ]
    judged = judge_free_parameters(FREE, grid)
    turns = "reproduced at load = 0.7; not reproduced at load = 0.9"
    assert judged.note == f"{turns}; inconclusive at base = 1, load = 0.9"


def test_undecided_points_do_not_hide_what_decides() -> None:
    grid = [
        point(YES, base=1.0, load=0.7),
        point(MAYBE, base=2.0, load=0.7),
        point(NO, base=1.0, load=0.9),
        point(NO, base=2.0, load=0.9),
    ]
    assert judge_free_parameters(FREE, grid).verdict_text == "depends on load"


def test_two_parameters_may_decide_together() -> None:
    grid = [
        point(YES if base * load > 1 else NO, base=base, load=load)
        for base in (1.0, 2.0)
        for load in (0.7, 0.9)
    ]
    assert judge_free_parameters(FREE, grid).verdict_text == "depends on base"
    grid = [point(YES if a == b else NO, a=a, b=b) for a in (1.0, 2.0) for b in (1.0, 2.0)]
    assert judge_free_parameters(FREE, grid).verdict_text == "depends on a and b"


def test_a_grid_must_be_one() -> None:
    with pytest.raises(ValueError, match="empty"):
        judge_free_parameters(FREE, [])
    with pytest.raises(ValueError, match="must name load"):
        judge_free_parameters(FREE, [point(YES, load=1.0), point(YES, base=1.0)])


def test_share_of_flows_that_do_better() -> None:
    # A is better (lower) up to its 70th percentile, then worse.
    a = [1.0] * 7 + [9.0] * 3
    b = [2.0] * 10
    assert share_better(a, b) == pytest.approx(0.7)
    assert share_better(a, b, better="higher") == pytest.approx(0.3)
    assert share_better([1.0], [1.0]) == 0.5


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
    st.lists(st.integers(0, 5), min_size=1, max_size=8),
)
def test_shares_of_both_arms_sum_to_one(a: list[int], b: list[int]) -> None:
    assert share_better(a, b) + share_better(b, a) == pytest.approx(1.0)


def test_a_percentile_range_does_not_grow_with_the_number_of_flows() -> None:
    generator = np.random.default_rng(1)
    few, many = (percentile_range(generator.normal(size=n)) for n in (2_000, 200_000))
    assert few == pytest.approx(2 * 1.6449, rel=0.06)
    assert many == pytest.approx(2 * 1.6449, rel=0.01)
    with pytest.raises(ValueError, match="finite"):
        percentile_range([1.0, np.nan])
