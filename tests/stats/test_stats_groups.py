"""Runs that fall into two groups, and such as scatter."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.stats import StatsError, two_groups

BBR_MBPS = [19.0, 18.0, 19.0, 14.0, 1.7]
"""BBR beside CUBIC with a queue of 16 bandwidth-delay products: it starves in some runs."""


def test_a_flow_that_starves_in_one_run_of_five() -> None:
    found = two_groups(BBR_MBPS)
    assert found is not None
    assert (found.lower.n, found.upper.n, found.n) == (1, 4, 5)
    assert (found.lower.low, found.lower.high) == (1.7, 1.7)
    assert (found.upper.low, found.upper.high, found.upper.mean) == (14.0, 19.0, 17.5)
    assert found.p_value < 0.05


def test_states_are_told_in_the_share_in_which_they_are() -> None:
    random = np.random.default_rng(5)
    runs = np.concatenate([random.normal(18, 1.5, 14), random.normal(3, 0.5, 6)])
    found = two_groups(runs)
    assert found is not None and (found.lower.n, found.upper.n) == (6, 14)
    assert found.p_value < 0.01


LAWS = {
    "normal, wide": lambda random, n: random.normal(1.0, 0.4, n),
    "normal": lambda random, n: random.normal(1.0, 0.25, n),
    "uniform": lambda random, n: random.uniform(0.0, 2.0, n),
    "log-normal": lambda random, n: random.lognormal(0.0, 0.5, n),
    "exponential": lambda random, n: random.exponential(1.0, n),
}


@pytest.mark.parametrize("n", [4, 5, 10, 20, 40])
@pytest.mark.parametrize("law", LAWS)
def test_runs_of_one_state_are_parted_seldom(n: int, law: str) -> None:
    """In 6 % of samples at most, whatever the law."""
    random, trials, most = np.random.default_rng(11), 1000, 0.06
    parted = sum(two_groups(LAWS[law](random, n)) is not None for _ in range(trials))
    assert parted / trials <= most + 3 * np.sqrt(most * (1 - most) / trials)


def test_a_flow_that_gets_nothing_at_all() -> None:
    """Nothing has no logarithm."""
    found = two_groups([9.1, 0.0, 9.0, 9.3, 9.2, 0.0, 9.1])
    assert found is not None and (found.lower.n, found.upper.n) == (2, 5)


@pytest.mark.parametrize(
    "values",
    [
        [5.0],
        [1.0, 9.0],
        [1.0, 1.0, 9.0],
        [3.0] * 10,
        # A large gap between numbers that are nearly the same: a mean tells them well.
        [9.40, 9.41, 9.40, 9.41, 9.60],
        [0.0] * 5,
    ],
)
def test_what_has_no_two_groups(values: list[float]) -> None:
    assert two_groups(values) is None


def test_the_order_of_runs_and_their_unit_change_nothing() -> None:
    first = two_groups(BBR_MBPS)
    again = two_groups([1e6 * each for each in reversed(BBR_MBPS)])
    assert first is not None and again is not None
    assert again.p_value == first.p_value
    assert again.upper.mean == pytest.approx(1e6 * first.upper.mean)


def test_what_is_no_sample_is_refused() -> None:
    with pytest.raises(StatsError):
        two_groups([])
    with pytest.raises(StatsError):
        two_groups([1.0, float("nan"), 2.0, 3.0])
