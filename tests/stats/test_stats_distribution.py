"""Empirical distributions, histograms and crossings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dumbbell.stats import (
    IntervalKind,
    StatsError,
    cdf_crossings,
    crossing_interval,
    ecdf,
    ecdf_at,
    histogram_cdf,
    histogram_quantile,
    weighted_quantile,
)

values = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=30)


@given(values)
def test_ecdf_is_the_share_at_or_below(x: list[float]) -> None:
    steps, shares = ecdf(x)
    assert shares[-1] == 1.0
    assert (np.diff(steps) > 0).all()
    for step, share in zip(steps, shares, strict=True):
        assert share == pytest.approx(np.mean(np.array(x) <= step))
    assert ecdf_at(x, steps) == pytest.approx(shares)
    assert ecdf_at(x, min(x) - 1.0) == 0.0


@given(values, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_weighted_quantile_repeats_values(x: list[float], q: list[float]) -> None:
    distinct, counts = np.unique(x, return_counts=True)
    expected = np.quantile(x, q, method="inverted_cdf")
    assert weighted_quantile(distinct, counts, q) == pytest.approx(expected)
    # Only the proportions of the weights matter.
    assert weighted_quantile(distinct, counts * 0.37, q) == pytest.approx(expected)


def test_weighted_quantile_by_hand() -> None:
    # An M/M/1-like queue length weighted by seconds.
    n, seconds = [2, 0, 1, 3], [1.5, 5.0, 2.5, 0.0]
    assert weighted_quantile(n, seconds, [0.0, 0.5, 0.9, 1.0]) == pytest.approx([0, 0, 2, 2])
    assert weighted_quantile(n, seconds, 5.0 / 9.0) == 0.0


def test_histogram_by_hand() -> None:
    low, high, weight = [4.0, 0.0, 2.0], [8.0, 2.0, 4.0], [2.0, 1.0, 1.0]
    q = [0.0, 0.125, 0.25, 0.5, 0.75, 1.0]
    expected = [0.0, 1.0, 2.0, 4.0, 6.0, 8.0]
    assert histogram_quantile(low, high, weight, q) == pytest.approx(expected)
    assert histogram_cdf(low, high, weight, expected) == pytest.approx(q)
    assert histogram_cdf(low, high, weight, [-1.0, 9.0]) == pytest.approx([0.0, 1.0])


def test_bins_of_several_queues_are_added_and_gaps_are_flat() -> None:
    low, high = [0.0, 10.0, 0.0, 10.0], [1.0, 12.0, 1.0, 12.0]
    weight = [1.0, 3.0, 2.0, 2.0]
    assert histogram_cdf(low, high, weight, [1.0, 5.0, 10.0]) == pytest.approx([3 / 8] * 3)
    assert histogram_quantile(low, high, weight, 0.375) == pytest.approx(1.0)
    assert histogram_quantile(low, high, weight, 1.0) == pytest.approx(12.0)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), min_size=1, max_size=20))
def test_histogram_quantile_inverts_its_cdf(cells: list[tuple[int, int]]) -> None:
    low = np.array([cell for cell, _ in cells], dtype=float)
    weight = np.array([w for _, w in cells], dtype=float)
    q = np.linspace(0.0, 1.0, 21)
    t = histogram_quantile(low, low + 1.0, weight, q)
    assert (np.diff(t) >= 0).all()
    assert histogram_cdf(low, low + 1.0, weight, t) == pytest.approx(q)


def test_log_linear_bins_are_as_good_as_their_width() -> None:
    x = np.random.default_rng(31).exponential(5e6, 20_000)
    edges = np.geomspace(1.0, 1e9, 4000)
    weight, _ = np.histogram(x, edges)
    found = histogram_quantile(edges[:-1], edges[1:], weight, [0.25, 0.5, 0.95])
    assert found == pytest.approx(np.quantile(x, [0.25, 0.5, 0.95]), rel=1 / 128)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: weighted_quantile([1.0], [0.0], 0.5), "all are 0"),
        (lambda: weighted_quantile([1.0], [-1.0], 0.5), "negative"),
        (lambda: weighted_quantile([1.0, 2.0], [1.0], 0.5), "one weight each"),
        (lambda: weighted_quantile([1.0], [1.0], 1.1), "quantile levels"),
        (lambda: histogram_quantile([0.0, 1.0], [2.0, 3.0], [1.0, 1.0], 0.5), "overlap"),
        (lambda: histogram_quantile([0.0, 0.0], [2.0, 3.0], [1.0, 1.0], 0.5), "overlap"),
        (lambda: histogram_quantile([1.0, 0.0], [3.0, 2.0], [1.0, 1.0], 0.5), "overlap"),
        (lambda: histogram_quantile([0.0], [0.0], [1.0], 0.5), "upper edge"),
        (lambda: cdf_crossings([], [1.0]), "a has 0 values"),
        (lambda: crossing_interval([[1.0]], []), "paired"),
    ],
)
def test_refusals(make: object, words: str) -> None:
    with pytest.raises(StatsError, match=words):
        make()  # type: ignore[operator]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9)), min_size=1, max_size=20))
def test_bins_in_order_are_what_they_are_in_any(bins: list[tuple[int, int]]) -> None:
    assume(any(weight for _, weight in bins))
    levels = [0.0, 0.2, 0.5, 0.9, 1.0]
    found = []
    for order in (bins, sorted(bins), list({low: 1 for low, _ in sorted(bins)}.items())):
        low = np.array([low for low, _ in order], dtype=np.float64)
        weight = np.array([weight for _, weight in order], dtype=np.float64)
        found.append(histogram_quantile(low, low + 1.0, weight, levels))
    assert np.array_equal(found[0], found[1])
    once = sorted({low for low, _ in bins})
    assert found[2] == pytest.approx(
        [
            once[min(int(q * len(once) - 1e-9), len(once) - 1)] + _inside(q, len(once))
            for q in levels
        ]
    )


def _inside(q: float, n: int) -> float:
    """Of n bins of equal weight, one wide: how far into its own bin a level lies."""
    return q * n - min(int(q * n - 1e-9), n - 1)


def test_crossing_by_hand() -> None:
    # A is lower for the first half of the levels and higher after.
    crossed = cdf_crossings([1.0, 2.0, 7.0, 8.0], [3.0, 4.0, 5.0, 6.0])
    assert crossed.share_a_lower == 0.5
    assert crossed.levels == (0.5,)
    # Different sizes: 1 < 2 up to 1/3, 5 > 2 up to 1/2, 5 < 6 up to 2/3, 9 > 6 from there.
    crossed = cdf_crossings([1.0, 5.0, 9.0], [2.0, 6.0])
    assert crossed.share_a_lower == pytest.approx(1 / 3 + 1 / 6)
    assert crossed.levels == pytest.approx((1 / 3, 1 / 2, 2 / 3))
    same = cdf_crossings([1.0, 2.0], [1.0, 2.0])
    assert same.share_a_lower == 0.5
    assert same.levels == ()


@given(values, values)
def test_crossing_shares_are_complementary(a: list[float], b: list[float]) -> None:
    there, back = cdf_crossings(a, b), cdf_crossings(b, a)
    assert there.share_a_lower + back.share_a_lower == pytest.approx(1.0)
    assert there.levels == back.levels
    if max(a) < min(b):
        assert there.share_a_lower == 1.0


def test_crossing_interval_stays_in_the_unit_interval() -> None:
    rng = np.random.default_rng(32)
    a = list(rng.uniform(0.0, 1.0, (4, 40)))
    b = list(rng.uniform(0.0, 1.02, (4, 40)))
    estimate = crossing_interval(a, b)
    assert 0.0 <= estimate.low <= estimate.value <= estimate.high <= 1.0
    assert estimate.kind == IntervalKind.SHARE
