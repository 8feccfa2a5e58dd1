from __future__ import annotations

import math

import pytest
from scipy.special import stdtr, stdtrit

from dumbbell.stats import _student_table
from dumbbell.stats._laws import student_quantile

LEVELS = (0.5, 0.9, 0.95, 0.975, math.nextafter(0.975, 1), 0.98, 0.99, 0.995, 0.9995)


@pytest.mark.parametrize("level", LEVELS)
def test_every_quantile_is_that_of_scipy_to_the_last_bit(level: float) -> None:
    freedoms = range(1, 10_001)
    ours = [student_quantile(level, freedom) for freedom in freedoms]
    assert ours == [float(stdtrit(freedom, level)) for freedom in freedoms]


@pytest.mark.parametrize("freedom", [0.5, 1.5, 7.25, 98.5])
def test_degrees_between_whole_numbers_are_not_rounded(freedom: float) -> None:
    found = student_quantile(_student_table.LEVEL, freedom)
    assert found == float(stdtrit(freedom, _student_table.LEVEL))
    assert stdtr(freedom, found) == pytest.approx(_student_table.LEVEL, rel=1e-12)


def test_one_and_two_degrees_have_closed_forms() -> None:
    """Cauchy's quantile, tan(pi (p - 1/2)), and (2p - 1) sqrt(2 / (4p (1 - p)))."""
    first, second = _student_table.QUANTILES[:2]
    p = _student_table.LEVEL
    assert first == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-14)
    assert second == pytest.approx((2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p))), rel=1e-14)
