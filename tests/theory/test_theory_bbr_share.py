"""The model of Ware and others: its simple case, its limits, and the printed measurements."""

from __future__ import annotations

import pytest

from dumbbell.theory import TheoryError, bbr_share

RATE_PPS, RTT_S = 10e6 / (8 * 1500), 0.04
BDP = RATE_PPS * RTT_S


def test_in_a_deep_queue_one_flow_gets_half_but_for_its_probes() -> None:
    # Equation 5: half; here 1/(2 X) and 4/q are small, and a probe takes 0.2 s and the queue.
    rate_pps = 1e6
    share = bbr_share(1, 100 * rate_pps * 0.001, rate_pps, 0.001)
    assert share == pytest.approx((0.5 + 0.005 + 4e-5) * (1 - 0.0301))


def test_without_room_for_others_all_is_bbrs() -> None:
    assert bbr_share(1, BDP, RATE_PPS, RTT_S) == pytest.approx(1 - 0.028)
    assert bbr_share(1000, 4 * BDP, RATE_PPS, RTT_S) == pytest.approx(1 - 0.04)


@pytest.mark.parametrize(
    ("flows", "bdps", "by_hand"),
    [(1, 4, 0.62880), (1, 16, 0.49134), (1, 64, 0.36698), (8, 16, 0.53922), (32, 64, 0.40883)],
)
def test_by_hand(flows: int, bdps: int, by_hand: float) -> None:
    share = bbr_share(flows, bdps * BDP, RATE_PPS, RTT_S)
    assert share == pytest.approx(by_hand, abs=5e-5)


def test_more_flows_get_more_and_deeper_buffers_leave_less() -> None:
    flows = [bbr_share(n, 16 * BDP, RATE_PPS, RTT_S) for n in (1, 2, 4, 8, 16, 32)]
    depths = [bbr_share(1, x * BDP, RATE_PPS, RTT_S) for x in (1, 2, 4, 8, 16, 32, 64)]
    assert flows == sorted(flows) and depths == sorted(depths, reverse=True)


@pytest.mark.parametrize(
    "arguments",
    [(0, 10, 1, 1), (1.5, 10, 1, 1), (1, 0, 1, 1), (1, 10, -1, 1), (1, 10, 1, 0), (1, 11, 1, 0.1)],
)
def test_what_it_is_not_for_is_refused(arguments: tuple[float, float, float, float]) -> None:
    with pytest.raises(TheoryError):
        bbr_share(*arguments)  # type: ignore[arg-type]
