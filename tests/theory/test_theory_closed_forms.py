"""Identities between the models, and numbers worked out by hand or printed in books."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.errors import DumbbellError
from dumbbell.theory import (
    MD1,
    MG1,
    MM1,
    MM1K,
    QueueLaw,
    TheoryError,
    UnstableError,
    constant_service,
    discrete_service,
    exponential_service,
    gamma_service,
    mixture,
    service_from_moments,
)

loads = st.floats(0.01, 0.98)
rates = st.floats(1e-2, 1e5)


def queues(rho: float, mu: float) -> list[QueueLaw]:
    lam = rho * mu
    return [
        MM1(lam, mu),
        MD1(lam, mu),
        MG1(lam, 1 / mu, scv=0.85),
        MG1.of(lam, gamma_service(1 / mu, 2.5)),
    ]


@given(loads, rates)
def test_littles_law_and_the_service_in_between(rho: float, mu: float) -> None:
    for queue in queues(rho, mu):
        lam = rho * mu
        assert pytest.approx(lam * queue.T) == queue.L
        assert queue.Lq == pytest.approx(lam * queue.W)
        assert pytest.approx(1 / mu) == queue.T - queue.W
        assert queue.L - queue.Lq == pytest.approx(queue.rho, rel=1e-6)


@given(loads, rates)
def test_pollaczek_khinchine_interpolates_between_md1_and_mm1(rho: float, mu: float) -> None:
    lam = rho * mu
    exponential, constant = MG1(lam, 1 / mu, scv=1.0), MG1(lam, 1 / mu, scv=0.0)
    assert pytest.approx(MM1(lam, mu).W) == exponential.W
    assert pytest.approx(MD1(lam, mu).W) == constant.W
    assert pytest.approx((exponential.W + constant.W) / 2) == MG1(lam, 1 / mu, scv=0.5).W


@given(loads, rates)
def test_variances_agree_between_special_and_general(rho: float, mu: float) -> None:
    lam = rho * mu
    general = MG1.of(lam, exponential_service(1 / mu))
    assert general.W_variance == pytest.approx(MM1(lam, mu).W_variance)
    assert general.T_variance == pytest.approx(MM1(lam, mu).T_variance)
    general = MG1.of(lam, constant_service(1 / mu))
    assert general.W_variance == pytest.approx(MD1(lam, mu).W_variance)
    assert general.T_variance == pytest.approx(MD1(lam, mu).T_variance, rel=1e-6)


@given(st.floats(0.05, 0.9), rates)
def test_mm1k_becomes_mm1_as_the_buffer_grows(rho: float, mu: float) -> None:
    large, open_ended = MM1K(rho * mu, mu, 600), MM1(rho * mu, mu)
    assert large.loss < 1e-20
    assert pytest.approx(open_ended.L) == large.L
    assert pytest.approx(open_ended.T) == large.T
    assert pytest.approx(open_ended.W) == large.W
    q = np.array([0.1, 0.5, 0.95])
    assert large.T_quantile(q) == pytest.approx(open_ended.T_quantile(q), rel=1e-6)


@given(st.floats(0.01, 50.0), st.integers(1, 200))
def test_mm1k_conserves_packets_and_obeys_littles_law(rho: float, K: int) -> None:
    queue = MM1K(rho * 3.0, 3.0, K)
    assert queue.p_n(np.arange(K + 1)).sum() == pytest.approx(1.0)
    assert queue.p_n(K + 1) == 0.0
    assert queue.throughput == pytest.approx(queue.lam * (1 - queue.loss), rel=1e-9, abs=1e-9)
    assert pytest.approx(queue.throughput * queue.T) == queue.L
    assert pytest.approx(queue.throughput * queue.W, abs=1e-12) == queue.Lq
    assert queue.busy * queue.mu == pytest.approx(queue.throughput)


def test_mm1k_by_hand() -> None:
    # Erlang's loss system with one place: loss = rho / (1 + rho).
    assert MM1K(2.0, 1.0, 1).loss == pytest.approx(2 / 3)
    # At rho = 1 every state is equally likely.
    balanced = MM1K(5.0, 5.0, 4)
    assert balanced.p_n([0, 1, 2, 3, 4]) == pytest.approx([0.2] * 5)
    assert pytest.approx(2.0) == balanced.L
    # Gross & Harris's closed form (1 - rho) rho^K / (1 - rho^(K+1)).
    assert MM1K(0.8, 1.0, 5).loss == pytest.approx(0.2 * 0.8**5 / (1 - 0.8**6))
    # With K = 1 nobody waits, and the time in the system is the service alone.
    single = MM1K(3.0, 2.0, 1)
    assert single.W == 0.0
    assert single.W_quantile(0.999) == 0.0
    assert single.T_quantile(0.5) == pytest.approx(math.log(2) / 2)
    # A heavily overloaded queue is always full: the loss is what the server cannot carry.
    assert MM1K(1000.0, 1.0, 2000).loss == pytest.approx(1 - 1 / 1000)


def test_mm1_at_the_published_experiment() -> None:
    # Fund 2016: 220 packets/s of 512 B into 1 Mbit/s.
    queue = MM1(220.0, 1e6 / (8 * 512))
    assert queue.rho == pytest.approx(0.90112)
    assert pytest.approx(0.0414236, rel=1e-4) == queue.T
    assert queue.T_quantile(0.5) == pytest.approx(queue.T * math.log(2))
    assert queue.W_quantile(0.05) == 0.0
    assert queue.W_cdf(0.0) == pytest.approx(1 - queue.rho)


def test_md1_probabilities_by_hand() -> None:
    queue, rho = MD1(0.5, 1.0), 0.5
    assert queue.p_n(0) == pytest.approx(1 - rho)
    assert queue.p_n(1) == pytest.approx((1 - rho) * (math.exp(rho) - 1))
    assert queue.p_n(2) == pytest.approx((1 - rho) * math.exp(rho) * (math.exp(rho) - 1 - rho))
    # Erlang's formula in the first service time: (1 - rho) exp(lam t).
    assert queue.W_cdf(0.75) == pytest.approx(0.5 * math.exp(0.375))
    assert queue.T_cdf(0.999) == 0.0
    assert queue.T_cdf(1.0) == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.1, 0.6, 0.9, 0.99])
def test_md1_law_has_the_mean_and_mass_it_should(rho: float) -> None:
    queue = MD1(rho, 1.0)
    reach = 40.0 / (1 - rho)
    grid = np.linspace(0.0, reach, 40_001)
    tail = 1.0 - queue.W_cdf(grid)
    assert np.trapezoid(tail, grid) == pytest.approx(queue.W, rel=2e-3)
    n = np.arange(int(reach))
    p = queue.p_n(n)
    assert p.sum() == pytest.approx(1.0, abs=1e-9)
    assert p @ n == pytest.approx(queue.L, rel=1e-6)
    assert (np.diff(queue.W_cdf(grid)) >= -1e-12).all()


@settings(max_examples=40)
@given(st.floats(0.0, 0.95), st.lists(st.floats(0.0, 0.999), min_size=1, max_size=5))
def test_quantiles_invert_the_distribution(rho: float, q: list[float]) -> None:
    for queue in (MM1(rho, 1.0), MD1(rho, 1.0), MM1K(rho, 1.0, 7)):
        for cdf, quantile in (
            (queue.T_cdf, queue.T_quantile),
            (queue.W_cdf, queue.W_quantile),
        ):
            t = quantile(q)
            # At or above the level, and just before it below (laws may jump, at 0 for W).
            assert (cdf(t * (1 + 1e-6)) >= np.array(q) - 1e-9).all()
            before = t * (1 - 1e-6) - 1e-9
            assert (cdf(before) <= np.array(q) + 1e-6).all()


def test_numbers_give_numbers_and_arrays_keep_their_shape() -> None:
    queue = MM1(1.0, 2.0)
    assert isinstance(queue.T_quantile(0.5), float)
    assert isinstance(queue.p_n(3), float)
    assert queue.T_quantile(np.full((2, 3), 0.5)).shape == (2, 3)
    assert queue.N_cdf([0, 1, 2]) == pytest.approx([0.5, 0.75, 0.875])
    assert queue.T_cdf([-1.0, 0.0, math.inf]) == pytest.approx([0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: MM1(2.0, 2.0),
        lambda: MD1(3.0, 2.0),
        lambda: MG1(1.0, 1.0, scv=0.3),
    ],
)
def test_overload_is_refused_in_words(make: object) -> None:
    with pytest.raises(UnstableError, match=r"load is rho = 1.*below 1") as caught:
        make()  # type: ignore[operator]
    assert caught.value.rho >= 1.0
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, DumbbellError)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MM1(-1.0, 2.0), "lam is -1.0 packets/s"),
        (lambda: MM1(math.nan, 2.0), "lam is nan"),
        (lambda: MM1(1.0, 0.0), "mu is 0.0"),
        (lambda: MM1K(1.0, 1.0, 0), "K is 0"),
        (lambda: MM1(1.0, 2.0).T_quantile(1.0), r"\[0, 1\)"),
        (lambda: MM1(1.0, 2.0).p_n(-1), "whole numbers"),
        (lambda: MG1(1.0, 0.1), "either scv or second_moment"),
        (lambda: MG1(1.0, 0.1, scv=1.0, second_moment_s2=0.02), "one of them"),
        (lambda: MG1(1.0, 0.1, second_moment_s2=0.001), "below the mean's square"),
        (lambda: MG1(1.0, 0.1, scv=1.0).W_variance, "third moment"),
        (lambda: MG1(1.0, 0.1, scv=1.0).T_quantile(0.5), "law of the service"),
        (lambda: MG1(1.0, 0.1, scv=1.0, third_moment_s3=1e-9), "third moment"),
        (lambda: discrete_service([]), "0 service times"),
        (lambda: discrete_service([1.0], [-1.0]), "at least 0"),
        (lambda: mixture([], []), "0 laws"),
    ],
)
def test_bad_parameters_are_named(make: object, words: str) -> None:
    with pytest.raises(TheoryError, match=words):
        make()  # type: ignore[operator]


def test_service_laws_have_the_moments_they_say() -> None:
    # From the transform: derivatives at 0 by a contour, whatever the closed form.
    laws = [
        constant_service(2.0),
        exponential_service(0.5),
        gamma_service(1.5, 0.4),
        discrete_service([1.0, 2.0, 2.0, 5.0]),
        exponential_service(0.5).plus(0.25),
        mixture([constant_service(1.0), exponential_service(2.0)], [3, 1]),
    ]
    for law in laws:
        assert law.lst is not None
        radius, points = 0.1 / law.mean_s, 64
        circle = radius * np.exp(2j * np.pi * np.arange(points) / points)
        taylor = np.fft.fft(law.lst(circle)).real / points / radius ** np.arange(points)
        assert taylor[0] == pytest.approx(1.0)
        assert -taylor[1] == pytest.approx(law.mean_s)
        assert 2 * taylor[2] == pytest.approx(law.second_moment_s2)
        assert -6 * taylor[3] == pytest.approx(law.third_moment_s3)


def test_moments_of_a_discrete_law_and_of_moments_only() -> None:
    law = discrete_service([1.0, 3.0], [3.0, 1.0])
    assert law.mean_s == 1.5
    assert law.second_moment_s2 == 3.0
    assert law.scv == pytest.approx(1 / 3)
    assert service_from_moments(1.5, second_moment_s2=3.0).scv == pytest.approx(1 / 3)
