"""Paired tests and intervals on a logarithmic scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dumbbell.stats import StatsError, geometric_interval, paired_p_value


def test_the_paired_test_by_hand() -> None:
    # mean 2, s = 1, t = 2 / (1 / sqrt 3) = 3.464, two degrees of freedom.
    assert paired_p_value([1.0, 2.0, 3.0]) == pytest.approx(0.0742, abs=1e-4)
    assert paired_p_value([-1.0, -2.0, -3.0]) == paired_p_value([1.0, 2.0, 3.0])


def test_equal_differences_are_judged_by_their_sign() -> None:
    assert paired_p_value([0.1] * 10) == pytest.approx(2**-9)
    assert paired_p_value([0.0] * 10) == 1
    assert paired_p_value([5.0]) == 1


def test_p_values_are_uniform_where_nothing_differs() -> None:
    draws = np.random.default_rng(1).normal(size=(4000, 6))
    p = np.array([paired_p_value(each) for each in draws])
    for level in (0.05, 0.5):
        # Four standard errors of a share of 4000.
        assert (p < level).mean() == pytest.approx(level, abs=4 * math.sqrt(level / 4000))


def test_a_geometric_interval_covers_the_median_of_a_lognormal() -> None:
    draws = np.random.default_rng(2).lognormal(1.0, 1.5, size=(2000, 10))
    covered = np.mean([geometric_interval(each).contains(math.e) for each in draws])
    assert covered == pytest.approx(0.95, abs=4 * math.sqrt(0.05 * 0.95 / 2000))


def test_a_geometric_interval_by_hand() -> None:
    found = geometric_interval([1.0, 100.0])
    assert found.value == pytest.approx(10)
    assert found.low * found.high == pytest.approx(100)
    alone = geometric_interval([3.0])
    assert (alone.low, alone.high) == (0.0, math.inf)
    with pytest.raises(StatsError, match="above 0"):
        geometric_interval([1.0, 0.0])
