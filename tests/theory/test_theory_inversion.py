"""Transform inversion against laws that are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.theory import (
    MD1,
    MG1,
    MM1,
    constant_service,
    discrete_service,
    exponential_service,
    gamma_service,
    mixture,
)
from dumbbell.theory.inversion import tail_from_lst


def test_euler_recovers_an_exponential_to_eight_digits() -> None:
    t = np.geomspace(1e-4, 15.0, 200)
    assert tail_from_lst(lambda s: 1 / (1 + s), t) == pytest.approx(np.exp(-t), abs=2e-8)


@settings(max_examples=20)
@given(st.floats(0.02, 0.99), st.floats(1e-3, 1e4))
def test_mg1_with_exponential_service_is_mm1(rho: float, mu: float) -> None:
    exact, inverted = MM1(rho * mu, mu), MG1.of(rho * mu, exponential_service(1 / mu))
    t = np.linspace(0.0, 6.0, 50) * exact.T
    assert inverted.T_cdf(t) == pytest.approx(exact.T_cdf(t), abs=1e-7)
    assert inverted.W_cdf(t) == pytest.approx(exact.W_cdf(t), abs=1e-7)
    n = np.arange(60)
    assert inverted.p_n(n) == pytest.approx(exact.p_n(n), abs=1e-10)
    q = [0.25, 0.5, 0.95, 0.999]
    assert inverted.T_quantile(q) == pytest.approx(exact.T_quantile(q), rel=1e-4)
    assert inverted.W_quantile(q) == pytest.approx(exact.W_quantile(q), rel=1e-4, abs=1e-6 / mu)


@pytest.mark.parametrize("rho", [0.3, 0.9, 0.98])
def test_mg1_with_constant_service_is_md1(rho: float) -> None:
    exact, inverted = MD1(rho, 1.0), MG1.of(rho, constant_service(1.0))
    t = np.linspace(0.05, 30.0, 400)
    # The density of the wait has a corner at one service time; see tail_from_lst.
    assert inverted.W_cdf(t) == pytest.approx(exact.W_cdf(t), abs=3e-4)
    later = t[t > 2.0]
    assert inverted.W_cdf(later) == pytest.approx(exact.W_cdf(later), abs=1e-5)
    # T jumps at the service time, exactly.
    assert inverted.T_cdf(np.array([0.999, 1.0])) == pytest.approx([0.0, 1 - rho], abs=1e-9)
    n = np.arange(300)
    assert inverted.p_n(n) == pytest.approx(exact.p_n(n), abs=1e-10)


def test_hyperexponential_service_has_its_textbook_wait() -> None:
    # Two kinds of packets, means 0.2 and 1.8: W's transform is rational with two real poles.
    lam, kinds, weights = 0.6, (0.2, 1.8), (0.5, 0.5)
    law = mixture([exponential_service(m) for m in kinds], weights)
    queue = MG1.of(lam, law)
    # Denominator of the wait's transform: s prod - lam sum, with the root s = 0 taken out.
    rates = [1 / m for m in kinds]
    poles = np.roots([1.0, sum(rates) - lam, rates[0] * rates[1] * (1 - queue.rho)])
    # Residues of P(W > t) = sum c exp(pole t) from the mean and the value at 0.
    system = np.array([[1.0, 1.0], [-1 / poles[0], -1 / poles[1]]])
    residues = np.linalg.solve(system, [queue.rho, queue.W])
    t = np.linspace(0.0, 20.0, 100)
    expected = 1.0 - np.exp(np.outer(t, poles)) @ residues
    assert queue.W_cdf(t) == pytest.approx(expected.real, abs=1e-7)


def test_means_come_back_from_the_inverted_laws() -> None:
    for law in (gamma_service(1.0, 0.3), discrete_service([0.2, 0.5, 3.0], [5, 3, 2])):
        queue = MG1.of(0.8 / law.mean_s, law)
        grid = np.linspace(0.0, 60.0 * queue.T, 30_001)
        assert np.trapezoid(1 - queue.W_cdf(grid), grid) == pytest.approx(queue.W, rel=1e-3)
        assert np.trapezoid(1 - queue.T_cdf(grid), grid) == pytest.approx(queue.T, rel=1e-3)
        n = np.arange(4000)
        assert n @ queue.p_n(n) == pytest.approx(queue.L, rel=1e-5)


def test_an_empty_queue_makes_nobody_wait() -> None:
    queue = MG1.of(0.0, gamma_service(2.0, 0.5))
    assert queue.W == 0.0
    assert queue.W_cdf([0.0, 1.0]) == pytest.approx([1.0, 1.0])
    assert queue.p_n([0, 1]) == pytest.approx([1.0, 0.0], abs=1e-9)
    assert queue.T_quantile(0.5) > 0.0
