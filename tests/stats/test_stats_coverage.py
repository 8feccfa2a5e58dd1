"""Do intervals cover as often as they say? Two thousand replications of each, fixed seeds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from dumbbell.stats import (
    Estimate,
    batch_means,
    cdf_difference_band,
    combined_z,
    coverage,
    crossing_interval,
    difference_interval,
    prediction_interval,
    prediction_quantiles,
    ratio_interval,
    student_interval,
    z_score,
    z_spread,
)

TRIALS = 2000
Floats = NDArray[np.float64]


def hits(make: Callable[[np.random.Generator], tuple[Estimate, float]], seed: int) -> int:
    rng = np.random.default_rng(seed)
    return sum(estimate.contains(truth) for estimate, truth in (make(rng) for _ in range(TRIALS)))


@pytest.mark.parametrize("level", [0.9, 0.95])
@pytest.mark.parametrize("n", [3, 10, 40])
def test_student(n: int, level: float) -> None:
    found = hits(lambda rng: (student_interval(rng.normal(3.0, 2.0, n), level), 3.0), 11)
    assert coverage(found, TRIALS, level).consistent


def test_paired_difference() -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        shared = rng.exponential(5.0, 12)
        return difference_interval(shared + rng.normal(1.0, 1.0, 12), shared), 1.0

    assert coverage(hits(make, 12), TRIALS, 0.95).consistent


def test_ratio_of_means() -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        # Common random numbers: both arms share most of their spread.
        shared = rng.normal(10.0, 1.0, 30)
        num = shared + rng.normal(0.0, 0.5, 30)
        den = 2.0 * shared + rng.normal(0.0, 0.5, 30)
        return ratio_interval(num, den), 0.5

    assert coverage(hits(make, 13), TRIALS, 0.95).consistent


def test_prediction_of_one_run() -> None:
    def normal(rng: np.random.Generator) -> tuple[Estimate, float]:
        return prediction_interval(rng.normal(3.0, 2.0, 12)), float(rng.normal(3.0, 2.0))

    assert coverage(hits(normal, 14), TRIALS, 0.95).consistent


@pytest.mark.parametrize(("n", "level"), [(9, 0.8), (39, 0.95), (60, 0.95), (100, 0.9)])
def test_distribution_free_prediction_of_a_skewed_law(n: int, level: float) -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        estimate = prediction_quantiles(rng.pareto(1.5, n), level)
        assert estimate.level == pytest.approx(level)
        return estimate, float(rng.pareto(1.5))

    assert coverage(hits(make, 15), TRIALS, level).consistent


def test_few_runs_attain_the_level_they_state() -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        return prediction_quantiles(rng.exponential(1.0, 10), 0.95), float(rng.exponential(1.0))

    assert coverage(hits(make, 16), TRIALS, 9 / 11).consistent


def test_batch_means_of_a_correlated_series() -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        # A moving average over ten values, correlated over a fraction of a batch.
        noise = rng.standard_normal(6400 + 9)
        total = np.cumsum(noise)
        series = (total[10 - 1 :] - np.concatenate([[0.0], total[:-10]])) / 10.0
        return batch_means(series), 0.0

    assert coverage(hits(make, 17), TRIALS, 0.95).consistent


def test_scores_from_few_replications_are_standard_normal() -> None:
    rng = np.random.default_rng(18)
    scores = [z_score(student_interval(rng.normal(5.0, 3.0, 4)), 5.0) for _ in range(TRIALS)]
    assert combined_z(scores).p_value > 0.001
    assert z_spread(scores).p_value > 0.001
    # An error of a fifth of a standard error per seed is invisible alone and plain together.
    assert combined_z(np.array(scores) + 0.2).p_value < 1e-10
    assert z_spread(np.array(scores) * 1.2).p_value < 1e-6
    assert z_spread(np.array(scores) * 0.8).p_value < 1e-6


def test_crossing_share() -> None:
    def make(rng: np.random.Generator) -> tuple[Estimate, float]:
        # Uniform on [0, 1] against uniform on [0.25, 0.65]: quantiles cross at 5/12.
        a = rng.uniform(0.0, 1.0, (8, 300))
        b = rng.uniform(0.25, 0.65, (8, 300))
        return crossing_interval(list(a), list(b)), 5 / 12

    rng = np.random.default_rng(19)
    trials = 300
    found = sum(estimate.contains(truth) for estimate, truth in (make(rng) for _ in range(trials)))
    assert coverage(found, trials, 0.95).consistent


def exponential_arms(rng: np.random.Generator, n: int) -> tuple[list[Floats], list[Floats]]:
    arms = rng.exponential(1.0, (n, 200))
    return list(arms), list(1.3 * arms)


def test_the_band_covers_the_whole_curve_at_once() -> None:
    at = np.linspace(0.1, 3.0, 40)
    truth = np.exp(-at / 1.3) - np.exp(-at)
    rng = np.random.default_rng(20)
    trials, pointwise, whole = 150, 0, 0
    for _ in range(trials):
        a, b = exponential_arms(rng, 20)
        band = cdf_difference_band(a, b, at, draws=400)
        whole += bool(((band.low <= truth) & (truth <= band.high)).all())
        narrow = 2.093 / band.critical
        low = band.value - narrow * (band.value - band.low)
        high = band.value + narrow * (band.high - band.value)
        pointwise += bool(((low <= truth) & (truth <= high)).all())
    assert coverage(whole, trials, 0.95).consistent
    # Point by point 95 % intervals would claim a level they do not have.
    assert not coverage(pointwise, trials, 0.95).consistent
