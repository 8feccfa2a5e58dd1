"""DualPI2 with a scalable flow beside a classic one (RFC 9332)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from l4s_samples import COUPLING, Shared, shared

POINTS = ((10, 20), (20, 10), (40, 10), (40, 40), (40, 80), (100, 20))
"""Mbit/s and round trip in ms."""


@pytest.fixture(scope="module", params=POINTS, ids=str)
def both(request: pytest.FixtureRequest) -> Shared:
    """Prague beside Reno."""
    rate_mbps, rtt_ms = request.param
    return shared(rate_mbps, rtt_ms)


def test_marks_are_the_base_probability_times_k_and_drops_its_square(both: Shared) -> None:
    """Section 2.1, equation 1. Packets see p' when they leave, the samples at equal times."""
    assert both.coupled_share == pytest.approx(COUPLING * both.base_mean, rel=0.1)
    assert both.dropped_share == pytest.approx(both.base_square_mean, rel=0.2)


def test_the_coupling_is_k_less_what_the_variation_of_p_takes(both: Shared) -> None:
    """Were p' constant, marks over the root of drops would be k; the root of a mean square is more
    than the mean (Jensen), by what p' varies."""
    less = both.base_mean / math.sqrt(both.base_square_mean)
    assert both.coupling == pytest.approx(COUPLING * less, rel=0.1)
    assert both.coupling < 1.02 * COUPLING


def test_the_queue_of_l4s_is_short_and_the_other_at_its_target(both: Shared) -> None:
    assert float(np.median(both.l4s_delays_ms)) < 4
    assert 8 < float(np.mean(both.classic_delays_ms)) < 25


def test_neither_starves(both: Shared) -> None:
    assert 0.15 < both.share_of_classic < 0.85


def test_dctcp_is_of_l4s_by_its_codepoint() -> None:
    both = shared(40, 10, l4s="dctcp", classic="cubic")
    assert float(np.median(both.l4s_delays_ms)) < 4
    assert 0.1 < both.share_of_classic < 0.9


def test_short_bursts_leave_prague_its_share_of_a_slow_link() -> None:
    """In bursts of two packets the second was marked by the step, and Prague had an eighth."""
    share = shared(20, 20, classic="cubic").share_of_classic
    assert share < 0.7
    assert shared(20, 20, classic="cubic", qdisc="dualpi2 min_qlen_step 1").share_of_classic < 0.55


@pytest.mark.parametrize(
    ("rate_mbps", "target_ms", "rtt_independence", "printed"),
    [(50, 15, False, 0.272), (100, 5, True, 0.557)],
    ids=["Heist and Morton, 2020", "Sarpkaya, Fund and Panwar, 2025"],
)
def test_published_shares_follow_from_target_and_independence(
    rate_mbps: float, target_ms: int, rtt_independence: bool, printed: float
) -> None:
    """CUBIC's of the goodput of both, at 10 ms."""
    share = shared(
        rate_mbps,
        10,
        classic="cubic",
        qdisc=f"dualpi2 target {target_ms}ms",
        rtt_independence=rtt_independence,
        classic_ecn=not rtt_independence,
    ).share_of_classic
    assert share == pytest.approx(printed, abs=0.06)
