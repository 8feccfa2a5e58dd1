"""The stopping rule: fixed looks, replication order, reasons in words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.stats import StatsError, StoppingRule, coverage, student_interval


def test_looks_are_fixed_and_end_at_the_most_allowed() -> None:
    rule = StoppingRule(at_least=10, at_most=33, batch=8, relative_half_width=0.01)
    assert list(rule.looks()) == [10, 18, 26, 33]
    assert rule.next_look(0) == 10
    assert rule.next_look(10) == 18
    assert rule.next_look(33) is None
    assert list(StoppingRule(5, 5).looks()) == [5]


def test_it_stops_at_the_first_look_that_is_precise() -> None:
    rule = StoppingRule(at_least=4, at_most=100, batch=4, half_width=0.5)
    x = np.tile([1.0, 2.0], 50)
    first = next(n for n in rule.looks() if student_interval(x[:n]).half_width <= 0.5)
    assert first > 4
    for n in range(first):
        assert rule.decide(x[:n]) is None
    point = rule.stopping_point(x[:first])
    assert point is not None
    assert (point.n, point.precise) == (first, True)
    assert f"after {first} replications" in point.reason
    assert "±0.5 at level 95 %" in point.reason


@pytest.mark.slow
@given(st.lists(st.floats(0.5, 2.0), min_size=40, max_size=60), st.integers(0, 60))
def test_replications_that_finish_early_change_nothing(x: list[float], extra: int) -> None:
    rule = StoppingRule(at_least=3, at_most=40, batch=5, relative_half_width=0.1)
    decided = rule.stopping_point(x)
    assert decided is not None
    assert rule.stopping_point(x[: decided.n]) == decided
    assert rule.stopping_point(x[: decided.n + extra]) == decided
    assert all(rule.decide(x[:n]) is None for n in range(decided.n))
    # What comes after the stop has no say.
    assert rule.stopping_point([*x[: decided.n], *([1e9] * 50)]) == decided


def test_the_most_allowed_ends_it_and_says_so() -> None:
    rule = StoppingRule(at_least=2, at_most=6, batch=2, relative_half_width=0.001)
    x = [1.0, 5.0, 2.0, 9.0, 1.0, 4.0]
    assert rule.decide(x[:5]) is None
    point = rule.stopping_point(x)
    assert point is not None
    assert (point.n, point.precise) == (6, False)
    assert "the most allowed" in point.reason
    assert "±0.1 %" in point.reason


def test_every_quantity_must_be_precise() -> None:
    rule = StoppingRule(at_least=3, at_most=6, batch=3, relative_half_width=0.05)
    steady, noisy = np.full(6, 4.0), np.array([1.0, 9.0, 2.0, 7.0, 3.0, 5.0])
    assert rule.decide({"T": steady[:3]}) is not None
    assert rule.decide({"T": steady[:3], "loss": noisy[:3]}) is None
    point = rule.stopping_point({"T": steady, "loss": noisy})
    assert point is not None
    assert "for loss" in point.reason


def test_a_missing_value_is_never_precise() -> None:
    rule = StoppingRule(at_least=2, at_most=4, half_width=10.0)
    assert rule.decide([1.0, math.nan]) is None
    point = rule.stopping_point([1.0, math.nan, 1.0, 1.0])
    assert point is not None
    assert not point.precise
    # A mean of zero has no relative precision, unless nothing varies.
    relative = StoppingRule(at_least=2, at_most=4, relative_half_width=0.5)
    assert relative.decide([-1.0, 1.0]) is None
    assert relative.decide([0.0, 0.0]) is not None


def test_without_a_precision_the_least_number_is_enough() -> None:
    rule = StoppingRule(at_least=3, at_most=50, batch=5)
    assert rule.decide([1.0, 2.0]) is None
    assert rule.decide([1.0, 2.0, 30.0]) == "3 replications, as asked"
    assert StoppingRule(1, 1).decide([4.0]) == "1 replication, as asked"


def test_stopping_early_costs_little_coverage() -> None:
    rule = StoppingRule(at_least=20, at_most=200, batch=20, relative_half_width=0.05)
    rng = np.random.default_rng(41)
    found = 0
    for _ in range(1000):
        x = rng.normal(10.0, 2.0, 200)
        point = rule.stopping_point(x)
        assert point is not None
        found += student_interval(x[: point.n]).contains(10.0)
    # Below the nominal 95 %, by at most two points.
    assert coverage(found, 1000, 0.95).high > 0.95 - 0.02
    assert found / 1000 > 0.92


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"at_least": 0, "at_most": 5}, "at_least is 0"),
        ({"at_least": 1, "at_most": 5, "half_width": 1.0}, "2 or more"),
        ({"at_least": 6, "at_most": 5}, "below at_least"),
        ({"at_least": 2, "at_most": 5, "batch": 0}, "batch is 0"),
        ({"at_least": 2, "at_most": 5, "half_width": 0.0}, "half_width is 0"),
        ({"at_least": 2, "at_most": 5, "relative_half_width": math.nan}, "must be positive"),
        ({"at_least": 2, "at_most": 5, "level": 1.0}, "level is 1.0"),
    ],
)
def test_rules_that_cannot_be_followed(arguments: dict[str, float], words: str) -> None:
    with pytest.raises(StatsError, match=words):
        StoppingRule(**arguments)  # type: ignore[arg-type]


def test_values_that_are_no_replications() -> None:
    rule = StoppingRule(2, 4, half_width=1.0)
    with pytest.raises(StatsError, match="lengths differ"):
        rule.decide({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(StatsError, match="no quantity"):
        rule.decide({})
    with pytest.raises(StatsError, match="one row"):
        rule.decide([[1.0, 2.0]])
