"""Mean windows under periodic loss: published constants, and the sawtooth they describe."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dumbbell.theory import TheoryError, cubic_mean_window, pftk_rate_pps, reno_mean_window


def test_the_constants_of_mathis_and_others() -> None:
    assert reno_mean_window(1e-4) == pytest.approx(122.5, rel=1e-3)
    assert reno_mean_window(1e-4, packets_per_ack=2) == pytest.approx(86.6, rel=1e-3)


def test_reno_is_the_mean_of_its_sawtooth() -> None:
    # From W/2 to W in steps of one a round trip: 3/8 W^2 packets and one loss in each tooth.
    peak = 2000
    tooth = np.arange(peak // 2, peak + 1)
    assert reno_mean_window(1 / tooth.sum()) == pytest.approx(tooth.mean(), rel=2e-3)


def test_the_rfcs_own_numbers() -> None:
    # RFC 9438 section 5.1, the table for 0.1 s, CUBIC with C = 0.4: rows above the Reno region.
    rows = {1e-4: 187, 1e-5: 1054, 1e-6: 5926, 1e-7: 33_325, 1e-8: 187_400}
    for p, window in rows.items():
        assert cubic_mean_window(p, 0.1) == pytest.approx(window, rel=0.005)


def test_cubic_is_the_mean_of_its_curve() -> None:
    rtt_s, greatest, c, beta = 0.1, 5000.0, 0.4, 0.7
    duration_s = ((1 - beta) * greatest / c) ** (1 / 3)
    t = np.linspace(0, duration_s, 100_001)
    window = c * (t - duration_s) ** 3 + greatest
    packets = window.mean() * duration_s / rtt_s
    assert cubic_mean_window(1 / packets, rtt_s) == pytest.approx(window.mean(), rel=1e-3)


@pytest.mark.parametrize("p", [0.0, 1.0, -1.0, math.nan])
def test_a_loss_ratio_lies_between_0_and_1(p: float) -> None:
    with pytest.raises(TheoryError, match="between 0 and 1"):
        reno_mean_window(p)
    with pytest.raises(TheoryError, match="between 0 and 1"):
        cubic_mean_window(p, 0.1)


def test_other_parameters_are_refused() -> None:
    with pytest.raises(TheoryError, match="packets_per_ack"):
        reno_mean_window(0.1, packets_per_ack=0)
    with pytest.raises(TheoryError, match="rtt_s"):
        cubic_mean_window(0.1, 0)
    with pytest.raises(TheoryError, match="beta"):
        cubic_mean_window(0.1, 0.1, beta=1)


def test_the_formula_with_timeouts() -> None:
    # Without timeouts it is Mathis's square root; their cost grows with the losses.
    fast = reno_mean_window(1e-5) / 0.1
    assert pftk_rate_pps(1e-5, 0.1, 1e-9) == pytest.approx(fast)
    # By hand, p = 0.01, RTT = 0.1 s, T0 = 1 s, b = 2: 1/(0.011547 + 0.259808 * 0.01 * 1.0032).
    assert pftk_rate_pps(0.01, 0.1, 1.0, packets_per_ack=2) == pytest.approx(70.654, rel=1e-4)
    # Above some losses every one costs a timeout: the minimum in the formula.
    assert pftk_rate_pps(0.5, 1e-9, 1.0) == pytest.approx(1 / (0.5 * 9))
    with pytest.raises(TheoryError, match="timeout_s"):
        pftk_rate_pps(0.1, 0.1, 0.0)
