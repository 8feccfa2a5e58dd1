"""Batch arrivals and ITGSend's packet-size law."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.theory import (
    MG1,
    MXG1,
    TheoryError,
    UnstableError,
    exponential_service,
    gamma_service,
    independent_batches,
    itgsend_service,
    service_from_moments,
    single_packets,
    superpose,
)


def enumerate_itgsend(mean: float, mtu: int = 1500) -> dict[str, float]:
    """Moments by walking over every payload and every fragment."""
    carried = (mtu - 20) // 8 * 8
    sums = dict.fromkeys(("payload", "fragments", "d1", "d2", "f1", "f2", "ahead"), 0.0)
    for n in range(20, 64_001):
        low = 0.0 if n == 20 else math.exp(-n / mean)
        high = 1.0 if n == 20 else low
        p = high - (0.0 if n == 64_000 else math.exp(-(n + 1) / mean))
        if p < 1e-18:
            continue
        body = n + 8
        sizes: list[int] = []
        while body > 0:
            most = body if body + 20 <= mtu and not sizes else carried
            sizes.append(34 + min(most, body))
            body -= most
        sums["payload"] += p * n
        sums["fragments"] += p * len(sizes)
        sums["d1"] += p * sum(sizes)
        sums["d2"] += p * sum(sizes) ** 2
        sums["f1"] += p * sum(sizes)
        sums["f2"] += p * sum(size**2 for size in sizes)
        sums["ahead"] += p * sum(sum(sizes[:i]) for i in range(len(sizes)))
    return sums


@pytest.mark.parametrize(("mean", "mtu"), [(512.0, 1500), (1470.0, 1500), (4000.0, 1503)])
def test_itgsend_moments_by_enumeration(mean: float, mtu: int) -> None:
    law, sums = itgsend_service(8.0, mean, mtu_bytes=mtu), enumerate_itgsend(mean, mtu)
    assert law.payload_mean_bytes == pytest.approx(sums["payload"])
    assert law.fragments_mean == pytest.approx(sums["fragments"])
    assert law.datagram_bytes_mean == pytest.approx(sums["d1"])
    assert law.datagram_bytes_second_moment == pytest.approx(sums["d2"])
    assert law.fragment_bytes_mean == pytest.approx(sums["f1"] / sums["fragments"])
    assert law.fragment_bytes_second_moment == pytest.approx(sums["f2"] / sums["fragments"])
    # At 8 bit/s a byte takes a second.
    assert law.batch.ahead_mean_s == pytest.approx(sums["ahead"] / sums["fragments"])
    assert law.datagram.mean_s == pytest.approx(sums["d1"])


def test_itgsend_by_hand() -> None:
    law = itgsend_service(1e6, 512.0)
    # Mean of floor(Exp) is r/(1 - r), r = exp(-1/512); the clip at 20 adds sum of (20 - n) P(n).
    r = math.exp(-1 / 512)
    lifted = sum((20 - n) * (1 - r) * r**n for n in range(20))
    assert law.payload_mean_bytes == pytest.approx(r / (1 - r) + lifted)
    # More than one fragment above 1472 bytes, a third above 2952, and so on every 1480.
    extra = sum(math.exp(-(1473 + 1480 * k) / 512) for k in range(40))
    assert law.fragments_mean == pytest.approx(1 + extra)
    assert law.datagram_bytes_mean == pytest.approx(law.payload_mean_bytes + 42 + 34 * extra)
    # The published experiment's nominal load: fragments and five pings/s of 98 bytes counted.
    lam, batch = superpose(
        [(220.0, law.batch), (10.0, single_packets(service_from_moments(98 * 8e-6, scv=0.0)))]
    )
    assert MXG1(lam, batch).rho == pytest.approx(0.9863, abs=1e-4)


@pytest.mark.parametrize(("mean", "mtu"), [(512.0, 1500), (3000.0, 1503), (30_000.0, 9000)])
def test_itgsend_transforms_have_the_moments(mean: float, mtu: int) -> None:
    law = itgsend_service(8e6, mean, mtu_bytes=mtu)
    batch = law.batch
    assert batch.ahead_lst is not None
    assert batch.through_lst is not None
    for lst, first, second in (
        (law.datagram.lst, law.datagram.mean_s, law.datagram.second_moment_s2),
        (law.fragment.lst, law.fragment.mean_s, law.fragment.second_moment_s2),
        (batch.ahead_lst, batch.ahead_mean_s, None),
        (batch.through_lst, batch.ahead_mean_s + law.fragment.mean_s, None),
    ):
        assert lst is not None
        radius, points = 0.05 / law.datagram.mean_s, 64
        circle = radius * np.exp(2j * np.pi * np.arange(points) / points)
        taylor = np.fft.fft(lst(circle)).real / points / radius ** np.arange(points)
        assert taylor[0] == pytest.approx(1.0)
        assert -taylor[1] == pytest.approx(first, rel=1e-6)
        if second is not None:
            assert 2 * taylor[2] == pytest.approx(second, rel=1e-5)


@settings(max_examples=30)
@given(st.floats(0.05, 0.95), st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6))
def test_batches_of_exponential_packets_by_gross_and_harris(
    rho: float, weights: list[float]
) -> None:
    # M^[X]/M/1: L = (rho + r E X^2) / (2 (1 - rho)) with r = lam/mu.
    sizes = np.arange(1, len(weights) + 1)
    share = np.array(weights) / sum(weights)
    mean, square = float(sizes @ share), float(sizes**2 @ share)
    lam = rho / mean
    queue = MXG1(lam, independent_batches(exponential_service(1.0), sizes, weights))
    assert pytest.approx((rho + lam * square) / (2 * (1 - rho))) == queue.L
    assert pytest.approx(queue.packet_rate * queue.W) == queue.Lq
    assert queue.plain.rho == pytest.approx(queue.rho)
    assert queue.plain.W <= queue.W + 1e-9
    assert pytest.approx(queue.workload + queue.batch.total.mean_s) == queue.T_batch


def test_batches_of_one_are_mg1() -> None:
    law = gamma_service(1.0, 0.5)
    single, plain = MXG1(0.8, single_packets(law)), MG1.of(0.8, law)
    t = np.linspace(0.0, 20.0, 60)
    assert pytest.approx(plain.W) == single.W == single.workload
    assert single.T_cdf(t) == pytest.approx(plain.T_cdf(t), abs=1e-8)
    assert single.W_cdf(t) == pytest.approx(plain.W_cdf(t), abs=1e-8)
    assert single.workload_cdf(t) == pytest.approx(plain.W_cdf(t), abs=1e-8)


def test_laws_of_batches_have_their_means() -> None:
    queue = MXG1(0.2, independent_batches(gamma_service(1.0, 0.5), [1, 4], [1, 1]))
    grid = np.linspace(0.0, 60 * queue.T, 20_001)
    assert np.trapezoid(1 - queue.W_cdf(grid), grid) == pytest.approx(queue.W, rel=2e-3)
    assert np.trapezoid(1 - queue.T_cdf(grid), grid) == pytest.approx(queue.T, rel=1e-3)
    # Half the batches have one packet: 2 of 5 packets are first in a batch.
    assert queue.W_cdf(0.0) == pytest.approx((1 - queue.rho) / 2.5)


def test_what_batches_refuse() -> None:
    law = exponential_service(1.0)
    with pytest.raises(UnstableError, match=r"M\^X/G/1"):
        MXG1(0.5, independent_batches(law, [2], [1]))
    with pytest.raises(TheoryError, match="at least 1"):
        independent_batches(law, [0, 1], [1, 1])
    with pytest.raises(TheoryError, match="not only moments"):
        MXG1(0.5, single_packets(service_from_moments(1.0, scv=1.0))).T_quantile(0.5)
    with pytest.raises(TheoryError, match="no streams"):
        superpose([])
    with pytest.raises(TheoryError, match="mtu"):
        itgsend_service(1e6, 512.0, mtu_bytes=24)
    with pytest.raises(TheoryError, match="rate is"):
        itgsend_service(0.0, 512.0)
