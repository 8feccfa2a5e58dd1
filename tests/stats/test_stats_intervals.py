"""Intervals by hand-worked numbers, identities, and refusals."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError
from dumbbell.stats import (
    Estimate,
    IntervalKind,
    Moments,
    StatsError,
    batch_means,
    difference_interval,
    lag_one,
    merge_moments,
    prediction_interval,
    prediction_quantiles,
    quantile_interval,
    ratio_interval,
    replications_for_prediction,
    student_interval,
    warm_up_cut,
    welch_interval,
)

numbers = st.floats(-1e6, 1e6)


def test_student_by_hand() -> None:
    # mean 3, s^2 = 2.5, n = 5, t(0.975; 4) = 2.776445: half-width 1.963243.
    estimate = student_interval([1, 2, 3, 4, 5])
    assert estimate.value == 3.0
    assert estimate.half_width == pytest.approx(1.963243, abs=1e-6)
    assert (estimate.level, estimate.n, estimate.kind) == (0.95, 5, "mean")
    assert estimate.standard_error == pytest.approx(math.sqrt(2.5 / 5))
    assert estimate.relative_half_width == pytest.approx(0.654414, abs=1e-6)


def test_one_replication_says_nothing_about_its_spread() -> None:
    for estimate in (
        student_interval([7.0]),
        prediction_interval([7.0]),
        prediction_quantiles([7.0]),
        ratio_interval([14.0], [2.0]),
    ):
        assert estimate.value == 7.0
        assert (estimate.low, estimate.high) == (-math.inf, math.inf)
        assert estimate.standard_error == math.inf


def test_prediction_by_hand() -> None:
    # The same five values: 2.776445 * sqrt(2.5 * 1.2) = 4.808944.
    estimate = prediction_interval([1, 2, 3, 4, 5])
    assert estimate.half_width == pytest.approx(4.808944, abs=1e-6)
    assert estimate.kind == IntervalKind.PREDICTION


@given(st.lists(numbers, min_size=2, max_size=30), st.floats(0.01, 100.0), numbers)
def test_intervals_move_and_stretch_with_the_unit(
    x: list[float], factor: float, shift: float
) -> None:
    for interval in (student_interval, prediction_interval, prediction_quantiles):
        base = interval(x)
        moved = interval(np.array(x) * factor + shift)
        size = max(1.0, abs(factor) * max(map(abs, x)) + abs(shift))
        assert moved.low == pytest.approx(base.low * factor + shift, abs=1e-7 * size)
        assert moved.high == pytest.approx(base.high * factor + shift, abs=1e-7 * size)
        assert base.low <= base.value <= base.high


@given(st.lists(numbers, min_size=3, max_size=30))
def test_higher_levels_are_wider_and_prediction_wider_than_mean(x: list[float]) -> None:
    assert student_interval(x, 0.99).half_width >= student_interval(x, 0.9).half_width
    assert prediction_interval(x).half_width >= student_interval(x).half_width


def test_pairing_removes_what_the_arms_share() -> None:
    rng = np.random.default_rng(1)
    shared = rng.exponential(10.0, 20)
    a, b = shared + rng.normal(1.0, 0.1, 20), shared
    paired = difference_interval(a, b)
    assert paired.contains(1.0)
    assert paired.half_width < 0.1 < student_interval(a).half_width
    assert ratio_interval(2.0 * b, b).half_width == pytest.approx(0.0, abs=1e-12)


def test_ratio_by_hand() -> None:
    # Totals 12 / 6; leave-one-out 9/5, 8/4, 7/3: mean 2.0444, squares 0.14370, times 2/3.
    estimate = ratio_interval([3.0, 4.0, 5.0], [1.0, 2.0, 3.0])
    assert estimate.value == 2.0
    leave_one_out = np.array([9 / 5, 8 / 4, 7 / 3])
    error = math.sqrt(2 / 3 * ((leave_one_out - leave_one_out.mean()) ** 2).sum())
    assert estimate.standard_error == pytest.approx(error)
    # Not the mean of ratios, which is 2.222.
    assert estimate.value != pytest.approx(np.mean([3.0, 2.0, 5 / 3]))


@given(st.lists(st.floats(0.1, 100.0), min_size=3, max_size=20))
def test_ratio_to_a_constant_is_the_mean_over_it(x: list[float]) -> None:
    ratio, mean = ratio_interval(x, np.full(len(x), 4.0)), student_interval(x)
    assert ratio.value == pytest.approx(mean.value / 4)
    assert ratio.half_width == pytest.approx(mean.half_width / 4, rel=1e-6, abs=1e-9)


def test_prediction_quantiles_reach_their_level_with_39_runs() -> None:
    assert replications_for_prediction(0.95) == 39
    assert replications_for_prediction(0.99) == 199
    assert replications_for_prediction(0.9) == 19
    enough = prediction_quantiles(np.arange(1, 40))
    assert (enough.low, enough.high) == pytest.approx((1.0, 39.0))
    assert enough.level == 0.95
    assert enough.value == 20.0
    few = prediction_quantiles(np.arange(1, 10))
    assert (few.low, few.high) == (1.0, 9.0)
    assert few.level == pytest.approx(8 / 10)
    # With 59 runs the ranks are 1.5 and 58.5: half way between neighbours.
    more = prediction_quantiles(np.arange(1, 60))
    assert (more.low, more.high) == pytest.approx((1.5, 58.5))


def test_batch_means_drop_the_front_and_count_batches() -> None:
    x = np.concatenate([[1000.0], np.repeat(np.arange(4.0), 5)])
    estimate = batch_means(x, n_batches=4)
    assert estimate.value == 1.5
    assert estimate.n == 4
    assert estimate.low == pytest.approx(student_interval([0, 1, 2, 3]).low)


def test_lag_one_tells_correlated_from_independent() -> None:
    rng = np.random.default_rng(2)
    noise = rng.standard_normal(20_000)
    series = np.empty_like(noise)
    series[0] = noise[0]
    for i in range(1, noise.size):
        series[i] = 0.9 * series[i - 1] + noise[i]
    assert lag_one(series) == pytest.approx(0.9, abs=0.02)
    assert abs(lag_one(noise)) < 4 / math.sqrt(noise.size)
    assert abs(lag_one(series, n_batches=40)) < 0.4
    # Batch means see the correlation that a naive interval over all values misses.
    assert batch_means(series).half_width > 3 * student_interval(series).half_width


def test_quantiles_across_replications() -> None:
    runs = [np.arange(101.0) + shift for shift in (0.0, 1.0, 2.0)]
    estimate = quantile_interval(runs, 0.25)
    assert estimate.value == 26.0
    assert estimate.n == 3
    assert estimate.kind == IntervalKind.QUANTILE
    assert estimate.half_width == pytest.approx(student_interval([25, 26, 27]).half_width)


def test_warm_up_is_found_and_doubt_is_said() -> None:
    rng = np.random.default_rng(3)
    steady = rng.standard_normal(2000)
    transient = np.exp(-np.arange(2000) / 60.0) * 20.0
    cut = warm_up_cut(steady + transient)
    assert cut.reliable
    assert cut.index % 5 == 0
    assert 100 <= cut.index <= 500
    assert len((steady + transient)[cut:]) == 2000 - cut.index
    assert abs(cut.mean) < 0.2
    assert warm_up_cut(steady).index < 400
    # A series that only grows never becomes stationary.
    assert not warm_up_cut(np.arange(1000.0)).reliable
    # Averaging replications point by point shows a transient that one run's noise hides.
    runs = rng.standard_normal((50, 1000)) + np.exp(-np.arange(1000) / 40.0) * 3.0
    assert 40 <= warm_up_cut(runs).index <= 300


def test_warm_up_criterion_is_the_marginal_standard_error() -> None:
    rng = np.random.default_rng(4)
    x = rng.exponential(1.0, 100) + np.where(np.arange(100) < 15, 8.0, 0.0)
    batches = x.reshape(20, 5).mean(axis=1)
    criterion = [batches[d:].var() / (20 - d) for d in range(11)]
    assert warm_up_cut(x).index == 5 * int(np.argmin(criterion))


@given(st.lists(numbers, max_size=20), st.lists(numbers, max_size=20))
def test_merged_moments_are_those_of_everything(a: list[float], b: list[float]) -> None:
    merged, whole = Moments.of(a).merge(Moments.of(b)), Moments.of(a + b)
    assert merged.count == whole.count
    assert merged.mean == pytest.approx(whole.mean, abs=1e-6)
    assert merged.m2 == pytest.approx(whole.m2, rel=1e-9, abs=1e-3)


def test_moments_from_a_table() -> None:
    x, y = np.array([1.0, 4.0, 7.0]), np.array([2.0])
    parts = [
        Moments.from_sd(3, float(x.mean()), float(x.std(ddof=1))),
        Moments.from_sd(1, 2.0, math.nan),
        Moments.from_sd(0, math.nan, math.nan),
    ]
    merged = merge_moments(*parts)
    everything = np.concatenate([x, y])
    assert merged.mean == pytest.approx(everything.mean())
    assert merged.sd == pytest.approx(everything.std(ddof=1))
    assert math.isnan(Moments().sd)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: student_interval([]), "x has 0 values"),
        (lambda: student_interval([1.0, math.nan]), r"x\[1\] is nan"),
        (lambda: student_interval([[1.0, 2.0]]), "shape"),
        (lambda: student_interval([1.0], level=95), "level is 95"),
        (lambda: ratio_interval([1.0, 2.0], [1.0]), "num has 2 values and den has 1"),
        (lambda: ratio_interval([1.0, 2.0], [1.0, -1.0]), "mean zero"),
        (lambda: batch_means(np.ones(63)), "x has 63 values; at least 64"),
        (lambda: batch_means(np.ones(63), 1), "n_batches is 1"),
        (lambda: lag_one(np.ones(10)), "constant"),
        (lambda: warm_up_cut(np.ones(19)), "at least 20"),
        (lambda: quantile_interval([[1.0]], 1.5), "quantile levels"),
        (lambda: quantile_interval([[1.0], []], 0.5), r"replications\[1\] has 0 values"),
        (lambda: Estimate(1.0, 2.0, 0.0, 0.95, 3, IntervalKind.MEAN), "above high"),
        (lambda: student_interval([1.0, 2.0]).scaled(-1.0), "positive"),
        (lambda: Moments.of([math.inf]), "finite"),
    ],
)
def test_refusals_say_what_was_found(make: object, words: str) -> None:
    with pytest.raises(StatsError, match=words) as caught:
        make()  # type: ignore[operator]
    assert isinstance(caught.value, DumbbellError)
    assert isinstance(caught.value, ValueError)


def test_an_estimate_reads_as_one_line_and_changes_unit() -> None:
    estimate = Estimate(0.0123, 0.0120, 0.0126, 0.95, 30, IntervalKind.MEAN).scaled(1000.0)
    assert str(estimate) == "12.3 [12, 12.6] (95 % mean, n = 30)"
    assert estimate.contains(12.0)
    assert not estimate.contains(11.99)


def test_scipy_waits_until_it_is_needed() -> None:
    code = "import sys, dumbbell.stats, dumbbell.theory; sys.exit('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_welchs_interval_takes_neither_equal_spreads_nor_equal_numbers_for_granted() -> None:
    random = np.random.default_rng(5)
    a, b = random.normal(3.0, 4.0, 7), random.normal(1.0, 0.5, 40)
    expected = scipy.stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    found = welch_interval(a, b, 0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert (found.n, found.kind) == (7, IntervalKind.DIFFERENCE)
    assert found.standard_error == pytest.approx(np.sqrt(a.var(ddof=1) / 7 + b.var(ddof=1) / 40))
    assert welch_interval([1.0], b).low == -math.inf
    exact = welch_interval([2.0, 2.0], [1.0, 1.0, 1.0])
    assert (exact.low, exact.high) == (1.0, 1.0)


def test_an_interval_of_a_parameter_can_be_had_at_another_level() -> None:
    x = np.random.default_rng(6).normal(size=9)
    at_99 = student_interval(x).at_level(0.99)
    direct = student_interval(x, 0.99)
    assert (at_99.low, at_99.high, at_99.level) == pytest.approx((direct.low, direct.high, 0.99))
    assert student_interval([1.0]).at_level(0.5).high == math.inf
    with pytest.raises(StatsError, match="prediction"):
        prediction_interval(x).at_level(0.99)
