"""D/D/1 and fluid, and the statistical multiplexing gain."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lindley import waits

from dumbbell.theory import DD1, MM1, TheoryError, UnstableError, rtt_ratio, tdm


def test_dd1_wait_is_lindleys() -> None:
    lam, mu, n = 2000.0, 1600.0, 500
    simulated = waits(np.full((1, n), 1 / lam), np.full((1, n), 1 / mu))[0]
    assert DD1(lam, mu).W_of_packet(np.arange(n)) == pytest.approx(simulated)
    assert DD1(mu, lam).W_of_packet([0, 5, 400]) == pytest.approx([0.0, 0.0, 0.0])


def test_overloaded_fluid_fills_a_buffer_and_loses_the_rest() -> None:
    queue = DD1(2000.0, 1600.0, limit=100.0)
    assert queue.rho == 1.25
    assert queue.time_to_fill == pytest.approx(0.25)
    assert queue.T_max == pytest.approx(0.0625)
    assert queue.loss == pytest.approx(0.2)
    assert queue.loss_over(0.2) == 0.0
    assert queue.loss_over(1.0) == pytest.approx(0.2 * 0.75)
    assert queue.N_at([0.0, 0.1, 0.25, 9.0]) == pytest.approx([0.0, 40.0, 100.0, 100.0])
    assert queue.T_at(9.0) == pytest.approx(queue.T_max)
    # A newly started queue still takes one transmission.
    assert queue.T_at(0.0) == pytest.approx(1 / 1600)


def test_dd1_below_capacity_never_waits() -> None:
    queue = DD1(100.0, 200.0, limit=5)
    assert queue.T_max == pytest.approx(1 / 200)
    assert queue.time_to_fill == math.inf
    assert queue.loss == 0.0
    assert queue.N_at(3.0) == pytest.approx(0.5)
    assert DD1(3.0, 2.0).T_max == math.inf
    assert DD1(3.0, 2.0).loss == 0.0


@given(st.floats(0.01, 0.99), st.floats(1e-2, 1e5), st.integers(1, 64))
def test_the_gain_is_m_and_n_per_queue_is_the_same(rho: float, mu: float, m: int) -> None:
    both = tdm(rho * mu, mu, m)
    assert both.factor == m
    assert both.T_tdm == pytest.approx(m * both.T_sm)
    assert both.T_sm == pytest.approx(1 / (mu - rho * mu))
    assert pytest.approx(both.sm.L) == both.tdm.L
    assert both.rtt_ratio(0.0) == pytest.approx(1 / m)
    assert both.tdm.T_quantile(0.5) == pytest.approx(m * both.sm.T_quantile(0.5))


def test_the_base_rtt_hides_part_of_the_gain() -> None:
    assert rtt_ratio(0.001, 0.009, 2) == pytest.approx(10 / 19)
    assert rtt_ratio(1e9, 0.01, 8) == pytest.approx(1.0)
    # The published 0.546 with m = 2 needs b = T (2 * 0.546 - 1) / (1 - 0.546).
    T = MM1(160.0, 244.0).T
    b = T * (2 * 0.546 - 1) / (1 - 0.546)
    assert rtt_ratio(b, T, 2) == pytest.approx(0.546)


def test_what_they_refuse() -> None:
    with pytest.raises(UnstableError):
        tdm(250.0, 244.0, 2)
    with pytest.raises(TheoryError, match="m is 0"):
        tdm(1.0, 2.0, 0)
    with pytest.raises(TheoryError, match="base round-trip"):
        rtt_ratio(-1.0, 0.1, 2)
    with pytest.raises(TheoryError, match="limit"):
        DD1(1.0, 2.0, limit=0.5)
    with pytest.raises(TheoryError, match="duration"):
        DD1(1.0, 2.0).loss_over(0.0)
