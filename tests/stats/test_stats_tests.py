"""Equivalence, several tests at once, goodness of fit, coverage, bands."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.stats import (
    StatsError,
    cdf_difference_band,
    chi_square_fit,
    combined_z,
    comparison_range,
    coverage,
    equivalence,
    holm,
    prediction_interval,
    simultaneous_band,
    student_interval,
    z_score,
    z_spread,
)

samples = st.lists(st.floats(-100, 100), min_size=3, max_size=20).filter(lambda x: np.std(x) > 1e-3)


def test_holm_worked_by_hand() -> None:
    # Ordered 0.005, 0.01, 0.03, 0.04: times 4, 3, 2, 1 = 0.02, 0.03, 0.06, 0.04 -> 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]).size == 0
    assert holm([0.3]) == pytest.approx([0.3])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_lies_between_no_correction_and_bonferroni(p: list[float]) -> None:
    adjusted = holm(p)
    given_p = np.array(p)
    assert (adjusted >= given_p).all()
    assert (adjusted <= np.minimum(1.0, len(p) * given_p) + 1e-12).all()
    order = np.argsort(given_p, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


def test_holm_refuses_what_is_no_probability() -> None:
    with pytest.raises(StatsError, match="lie in"):
        holm([0.1, 1.2])
    with pytest.raises(StatsError, match="finite"):
        holm([math.nan])


def test_tost_by_hand() -> None:
    # mean 0.1, s = 0.158114, n = 5: se = 0.0707107; t at +0.5: 5.65685, at -0.5: 8.48528.
    estimate = student_interval([-0.1, 0.0, 0.1, 0.2, 0.3])
    result = equivalence(estimate, 0.5)
    assert result.verdict == "inside"
    # P(T_4 > 5.656854) = 0.0024063 (the incomplete beta function, or any table program).
    assert result.p_value == pytest.approx(0.0024063, rel=1e-3)
    assert equivalence(estimate, 0.05).verdict == "straddles"
    assert equivalence(estimate, 0.05, target=5.0).verdict == "outside"
    assert equivalence(estimate, 0.05, target=5.0).p_value == pytest.approx(1.0, abs=1e-6)


@given(samples, st.floats(0.01, 200.0), st.floats(-50, 50))
def test_tost_p_and_verdict_agree(x: list[float], margin: float, target: float) -> None:
    estimate = student_interval(x)
    verdict, p_value = equivalence(estimate, margin, target)
    if abs(p_value - 0.025) > 1e-6:
        assert (verdict == "inside") == (p_value < 0.025)
    if verdict == "outside":
        assert p_value > 0.5


def test_equivalence_refuses_a_prediction_and_a_missing_margin() -> None:
    with pytest.raises(StatsError, match="prediction"):
        equivalence(prediction_interval([1.0, 2.0, 3.0]), 1.0)
    with pytest.raises(StatsError, match="margin is 0"):
        equivalence(student_interval([1.0, 2.0]), 0.0)
    alone = equivalence(student_interval([1.0]), 1.0)
    assert alone.verdict == "straddles"
    assert math.isnan(alone.p_value)
    exact = student_interval([2.0, 2.0, 2.0])
    assert equivalence(exact, 0.1, target=2.0) == ("inside", 0.0)
    assert equivalence(exact, 0.1, target=3.0) == ("outside", 1.0)


def test_combined_scores_by_hand() -> None:
    assert combined_z([1.0, 1.0, 1.0, 1.0]) == pytest.approx((2.0, 0.0455003), rel=1e-5)
    assert combined_z([1.0, -1.0]).p_value == 1.0
    # Chi-square with 2 degrees of freedom: the upper tail at 4 is exp(-2).
    assert z_spread([math.sqrt(2), -math.sqrt(2)]) == pytest.approx((4.0, 2 * math.exp(-2)))


@given(samples, st.floats(-200, 200))
def test_z_score_has_the_sign_and_the_probability_of_t(x: list[float], target: float) -> None:
    estimate = student_interval(x)
    z = z_score(estimate, target)
    assert math.copysign(1.0, z) == math.copysign(1.0, estimate.value - target)
    # |z| is beyond 1.96 exactly when the 95 % interval misses the target.
    if abs(abs(z) - 1.959964) > 1e-4:
        assert (abs(z) > 1.959964) == (not estimate.contains(target))


def test_z_score_needs_a_spread_and_survives_a_huge_distance() -> None:
    with pytest.raises(StatsError, match="no spread"):
        z_score(student_interval([1.0]), 0.0)
    with pytest.raises(StatsError, match="no spread"):
        z_score(student_interval([1.0, 1.0]), 0.0)
    far = z_score(student_interval(np.linspace(0.0, 1e-6, 300)), 1e6)
    assert far < -30.0
    assert math.isfinite(far)


def test_chi_square_by_hand() -> None:
    # A die: (5, 8, 9, 8, 10, 20) in 60 throws gives 13.4 with 5 degrees of freedom.
    fit = chi_square_fit([5, 8, 9, 8, 10, 20], np.full(6, 1 / 6))
    assert fit.statistic == pytest.approx(13.4)
    assert (fit.degrees_of_freedom, fit.cells) == (5, 6)
    assert fit.p_value == pytest.approx(0.0199, abs=1e-4)
    assert chi_square_fit([5, 8, 9, 8, 10, 20], np.ones(6), fitted=2).degrees_of_freedom == 3


def test_thin_cells_are_merged_and_nothing_is_lost() -> None:
    observed, expected = [40.0, 30.0, 2.0, 3.0, 25.0, 0.0], [40.0, 30.0, 2.0, 4.0, 23.0, 1.0]
    fit = chi_square_fit(observed, expected)
    assert fit.cells == 4
    by_hand = 0 + 0 + (5 - 6) ** 2 / 6 + (25 - 24) ** 2 / 24
    assert fit.statistic == pytest.approx(by_hand)
    # A thin tail joins the last cell with what was counted in it.
    tail = chi_square_fit([10.0, 10.0, 4.0], [12.0, 9.0, 3.0])
    assert tail.cells == 2
    assert tail.statistic == pytest.approx(4 / 12 + 4 / 12)
    with pytest.raises(StatsError, match="no degree of freedom"):
        chi_square_fit([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(StatsError, match="as many of each"):
        chi_square_fit([1.0], [1.0, 2.0])


def test_chi_square_p_values_are_uniform_when_the_law_holds() -> None:
    rng = np.random.default_rng(21)
    law = np.array([0.1, 0.2, 0.3, 0.4])
    below = sum(chi_square_fit(rng.multinomial(500, law), law).p_value < 0.1 for _ in range(2000))
    assert coverage(below, 2000, 0.1).consistent


def test_coverage_by_hand() -> None:
    result = coverage(1900, 2000, 0.95)
    assert result.share == 0.95
    assert result.consistent
    assert result.p_value == pytest.approx(1.0, abs=0.1)
    assert not coverage(1860, 2000, 0.95).consistent
    assert not coverage(1940, 2000, 0.95).consistent
    # Clopper-Pearson with no failures in n: the lower end is (alpha/2)^(1/n).
    everything = coverage(10, 10, 0.9, confidence=0.95)
    assert everything.low == pytest.approx(0.025 ** (1 / 10))
    assert everything.high == 1.0
    assert coverage(0, 10, 0.5).low == 0.0
    with pytest.raises(StatsError, match="3 hits in 2 trials"):
        coverage(3, 2, 0.95)


def test_band_of_one_point_is_students_interval() -> None:
    x = np.random.default_rng(22).normal(1.0, 2.0, 8)
    band = simultaneous_band(x[:, None], draws=40_000)
    expected = student_interval(x)
    assert band.value[0] == pytest.approx(expected.value)
    assert band.low[0] == pytest.approx(expected.low, abs=0.03 * expected.half_width)


def test_band_is_repeatable_and_wider_than_pointwise() -> None:
    curves = np.random.default_rng(23).normal(0.0, 1.0, (15, 30))
    first, again = simultaneous_band(curves, draws=500), simultaneous_band(curves, draws=500)
    assert (first.low == again.low).all()
    assert first.critical != simultaneous_band(curves, draws=500, seed=1).critical
    # Thirty independent points: near Bonferroni's t(1 - 0.025/30; 14) = 3.9, above t = 2.14.
    assert 3.0 < first.critical < 4.5
    constant = simultaneous_band(np.ones((5, 3)))
    assert (constant.low == 1.0).all()
    assert constant.critical == 0.0


def test_everywhere_faster_is_shown_and_a_crossing_is_not() -> None:
    rng = np.random.default_rng(24)
    a = list(rng.exponential(1.0, (20, 500)))
    b = [2.0 * x for x in a]
    at = comparison_range(a, b, between=(0.05, 0.95), points=50)
    band = cdf_difference_band(a, b, at, draws=500)
    assert band.above()
    assert not band.below()
    assert cdf_difference_band(b, a, at, draws=500).below()
    wide = [1.0 + 3.0 * (x - 1.0) for x in a]
    at = comparison_range(a, wide, between=(0.05, 0.95), points=50)
    crossed = cdf_difference_band(a, wide, at, draws=500)
    assert not crossed.above()
    assert not crossed.below()


def test_what_bands_refuse() -> None:
    with pytest.raises(StatsError, match="replications >= 2"):
        simultaneous_band([[1.0, 2.0]])
    with pytest.raises(StatsError, match="paired"):
        cdf_difference_band([[1.0]], [], [0.5])
    with pytest.raises(StatsError, match="finite"):
        simultaneous_band([[1.0], [math.nan]])
    with pytest.raises(StatsError, match="3 points, the curves have 1"):
        simultaneous_band([[1.0], [2.0]], [1.0, 2.0, 3.0])
    with pytest.raises(StatsError, match="draws is 10"):
        simultaneous_band([[1.0], [2.0]], draws=10)
    with pytest.raises(StatsError, match="between"):
        comparison_range([[1.0]], [[2.0]], between=(0.9, 0.1))
