"""Shares of flows that perform better, and percentile ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dumbbell.claims import (
    percentile_range,
    share_better,
)


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
