"""A token bucket with room for a number of bytes, against packets sent through one."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dumbbell.theory import MM1, ByteLimited, TheoryError

MEAN, RATE, BURST = 512.0, 6.55e6, 10_240.0


def token_bucket(lam: float, limit: float, n: int, seed: int) -> tuple[np.ndarray, float]:
    """Delays (s) of the packets taken by a tbf, and the share turned away; packet by packet."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.exponential(1 / lam, n))
    sizes = rng.exponential(MEAN, n)
    mu = RATE / 8
    # Work V is negative while there are tokens; a packet leaves when V has drained to its end.
    work, last, delays, lost = -BURST, 0.0, [], 0
    queue: list[tuple[float, float]] = []  # (departure, size) of packets that wait
    for t, size in zip(at, sizes, strict=True):
        work = max(-BURST, work - (t - last) * mu)
        last = t
        while queue and queue[0][0] <= t:
            queue.pop(0)
        if sum(each for _, each in queue) + size > limit:
            lost += 1
            continue
        work += size
        delay = max(0.0, work) / mu
        delays.append(delay)
        if delay > 0:
            queue.append((t + delay, size))
    return np.array(delays), lost / n


@pytest.mark.parametrize(
    ("lam", "limit"), [(1200.0, 5120.0), (1600.0, 10_240.0), (2000.0, 20_480.0), (4000.0, 20_480.0)]
)
def test_loss_and_late_packets_are_those_of_a_token_bucket(lam: float, limit: float) -> None:
    delays, lost = token_bucket(lam, limit, 60_000, seed=5)
    law = ByteLimited(lam, MEAN, RATE, limit, BURST)
    assert law.loss == pytest.approx(lost, rel=0.12, abs=0.004)
    for part in (0.3, 0.6, 0.9):
        late = float((delays > part * law.T_max).mean())
        assert law.delay_tail(part * law.T_max) == pytest.approx(late, abs=0.03)
    assert delays.max() <= law.T_max


def test_far_below_its_limit_it_is_mm1() -> None:
    lam = 0.7 * RATE / 8 / MEAN
    law, queue = ByteLimited(lam, MEAN, RATE, 400_000.0), MM1(lam, RATE / 8 / MEAN)
    assert law.loss < 1e-9
    for x in (0.001, 0.005, 0.01):
        assert law.delay_tail(x) == pytest.approx(1 - float(queue.T_cdf(x)), rel=0.02)


@settings(deadline=None)
@given(st.floats(0.3, 6.0), st.floats(4.0, 500.0), st.floats(0.0, 50.0))
def test_the_law_is_one(rho: float, packets: float, burst: float) -> None:
    law = ByteLimited(rho * RATE / 8 / MEAN, MEAN, RATE, packets * MEAN, burst * MEAN)
    assert law.rho == pytest.approx(rho)
    assert -1e-9 <= law.loss < 1
    tails = [law.delay_tail(part * law.T_max) for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
    assert all(a >= b - 1e-12 for a, b in pairwise(tails))
    assert 0 <= tails[-1] < 1e-9
    cdf = law.probe_cdf(np.linspace(0, law.T_max, 9), 98)
    assert (np.diff(cdf) >= 0).all()
    assert cdf[-1] == pytest.approx(1.0)


def test_more_probes_see_more_and_never_more_than_all() -> None:
    law = ByteLimited(2000.0, MEAN, RATE, 40_960.0, BURST)
    one, ten, many = (law.mean_peak_of_probes(n, 98) for n in (1, 10, 10_000))
    assert one < ten < many < law.T_max
    assert law.T_max - many < 8 * MEAN / RATE


def test_time_to_fill() -> None:
    law = ByteLimited(2000.0, MEAN, RATE, 40_960.0, BURST)
    assert law.time_to_fill == pytest.approx((40_960 + 10_240) / (2000 * 512 - 818_750))
    assert ByteLimited(1000.0, MEAN, RATE, 40_960.0).time_to_fill == math.inf


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(TheoryError, match="mean packets"):
        ByteLimited(2000.0, 1.0, RATE, 1e9)
    law = ByteLimited(2000.0, MEAN, RATE, 5120.0)
    with pytest.raises(TheoryError, match="delay"):
        law.delay_tail(1.0)
    with pytest.raises(TheoryError, match="probe"):
        law.probe_cdf(0.001, 6000)
    with pytest.raises(TheoryError, match="at least 1"):
        law.mean_peak_of_probes(0.5, 98)
