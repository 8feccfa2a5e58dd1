"""What a coefficient of variation and a rate say of the longest standstill."""

from __future__ import annotations

import numpy as np
import pytest

from dumbbell.studies.traffic_policing.standstill import (
    least_cov,
    longest_by_cov_s,
    longest_by_rate_s,
)

INTERVAL_S, DURATION_S = 0.1, 15.0
SAMPLES = 150


@pytest.mark.parametrize("seed", range(20))
def test_no_series_with_a_standstill_is_more_even(seed: int) -> None:
    """Whatever the other samples are, and wherever the standstill begins between two samples."""
    draw = np.random.default_rng(seed)
    begins_s, length_s = draw.uniform(0, 10), draw.uniform(0.05, 4)
    edges = np.arange(SAMPLES + 1) * INTERVAL_S
    silent = np.clip(np.minimum(edges[1:], begins_s + length_s) - np.maximum(edges[:-1], begins_s),
                     0, None)  # fmt: skip
    rate = draw.choice([np.ones(SAMPLES), draw.uniform(0.5, 2, SAMPLES)])
    throughput = rate * (1 - silent / INTERVAL_S)
    cov = throughput.std() / throughput.mean()
    assert cov >= least_cov(length_s, INTERVAL_S, DURATION_S) - 1e-9
    assert length_s <= longest_by_cov_s(cov, INTERVAL_S, DURATION_S)


def test_the_bound_is_reached_where_all_else_is_even() -> None:
    throughput = np.ones(SAMPLES)
    throughput[40:60] = 0
    cov = throughput.std() / throughput.mean()
    # Twenty whole samples: a standstill of up to 22 intervals, and of 21 at least on any grid.
    assert cov == pytest.approx(least_cov(2.1, INTERVAL_S, DURATION_S))
    assert longest_by_cov_s(cov, INTERVAL_S, DURATION_S) == pytest.approx(2.2)


def test_no_standstill_says_nothing() -> None:
    assert least_cov(0.05, INTERVAL_S, DURATION_S) == 0
    with pytest.raises(ValueError, match="a shorter one"):
        least_cov(20.0, INTERVAL_S, DURATION_S)


def test_a_bucket_gives_back_no_more_than_its_burst() -> None:
    """4 Mbit/s and 1 Mbit of burst: a second of standstill costs 3 Mbit of 61."""
    assert longest_by_rate_s(61e6, 4e6, 1e6, 15) == pytest.approx(0.25)  # all of it made good
    assert longest_by_rate_s(58e6, 4e6, 1e6, 15) == pytest.approx(1.0)
