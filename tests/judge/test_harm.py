"""Harm as Ware, Mukerjee, Seshan and Sherry define it."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.judge.harm import harm
from dumbbell.stats import StatsError


def test_of_what_should_be_large() -> None:
    assert harm([10.0, 10.0], [5.0, 5.0]).value == pytest.approx(0.5)
    assert harm([10.0, 10.0], [0.0, 0.0]).value == pytest.approx(1.0)
    assert harm([10.0, 10.0], [10.0, 10.0]).value == pytest.approx(0.0)
    assert harm([10.0, 10.0], [12.0, 12.0]).value == pytest.approx(-0.2)


def test_of_what_should_be_small() -> None:
    assert harm([20.0, 20.0], [80.0, 80.0], more_is_better=False).value == pytest.approx(0.75)
    assert harm([20.0, 20.0], [20.0, 20.0], more_is_better=False).value == pytest.approx(0.0)


def test_the_interval_holds_the_value_and_narrows() -> None:
    draw = np.random.default_rng(5)
    few, many = (harm(draw.normal(10, 0.1, n), draw.normal(4, 1, n)) for n in (5, 500))
    for each in (few, many):
        assert each.low < each.value < each.high
    assert many.half_width < few.half_width
    assert many.contains(0.6)


def test_a_flow_that_gets_nothing_alone_has_none() -> None:
    with pytest.raises(StatsError):
        harm([0.0, 0.0], [1.0, 1.0])
