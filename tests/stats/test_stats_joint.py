"""One chi-square over several printed numbers: it rejects what is true as often as it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from dumbbell.stats import StatsError, Together, joint_fit, prediction_fit

N, DRAWS = 10, 2000
MIXED = np.array([[1.0, 0.0, 0.0], [2.0, 0.5, 0.0], [0.1, 0.3, 3.0]])


def drawn(random: np.random.Generator, p: int, *, away: float = 0.0) -> Together:
    """Replications, and one more run as printed; the numbers of a run are correlated."""
    values = random.standard_normal((N, p)) @ MIXED[:p, :p].T
    printed = MIXED[:p, :p] @ random.standard_normal(p) + away
    return Together(values, printed, np.zeros(p))


@pytest.mark.parametrize("groups", [(3,), (1, 1, 2), (3, 3, 3)])
def test_p_values_are_uniform_where_the_printed_numbers_are_of_one_more_run(
    groups: tuple[int, ...],
) -> None:
    random = np.random.default_rng(1)
    p_values = [joint_fit([drawn(random, p) for p in groups]).p_value for _ in range(DRAWS)]
    assert kstest(p_values, "uniform").pvalue > 0.001
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(0.05, abs=0.016)


def test_numbers_that_are_each_a_little_off_are_rejected_together() -> None:
    random = np.random.default_rng(2)
    alone = [prediction_fit(drawn(random, 1, away=2.0)).p_value for _ in range(300)]
    several = [
        joint_fit([drawn(random, 1, away=2.0) for _ in range(8)]).p_value for _ in range(300)
    ]
    assert np.mean(np.array(alone) < 0.05) < 0.5
    assert np.mean(np.array(several) < 0.05) > 0.95


def test_chi_squares_add() -> None:
    random = np.random.default_rng(3)
    groups = [drawn(random, p) for p in (1, 2)]
    found = joint_fit(groups)
    assert found.freedom == 3
    assert found.statistic == pytest.approx(sum(prediction_fit(each).statistic for each in groups))


def test_runs_that_never_differ_exclude_any_other_number() -> None:
    settled = Together(np.full((N, 1), 7.0), np.array([7.5]), np.zeros(1))
    found = joint_fit([settled, drawn(np.random.default_rng(4), 1)])
    assert math.isinf(found.statistic) and found.p_value == 0.0
    rounded = Together(settled.values, settled.printed, np.array([0.5]))
    assert joint_fit([rounded]).p_value > 0.3


def test_there_must_be_numbers_and_runs() -> None:
    with pytest.raises(StatsError, match="no printed numbers"):
        joint_fit([])
    with pytest.raises(StatsError, match="2 replications of 2"):
        joint_fit([Together(np.zeros((2, 2)), np.zeros(2), np.zeros(2))])
