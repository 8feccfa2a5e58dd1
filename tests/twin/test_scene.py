"""What is made of a scene: each number of a small one, by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dumbbell.twin.scene import MeasuredFlow, Scene, Way, least_ms


def flow(way: Way, mbps: float, *, until_s: float = 20.0) -> MeasuredFlow:
    t_s = np.arange(0.0, until_s + 0.1, 0.2)
    return MeasuredFlow(way, t_s, t_s * mbps * 1e6 / 8, np.full(len(t_s), 50.0))


def scene(*flows: MeasuredFlow) -> Scene:
    sent_s = np.arange(-4.0, 20.0, 0.2)
    rtt_ms = np.where(sent_s < 0, 10.0, 10.0 + 2 * sent_s)
    return Scene(source="made", begin_s=0.0, end_s=20.0, flows=flows, sent_s=sent_s, rtt_ms=rtt_ms)


def test_goodput_is_that_of_all_flows_of_a_direction() -> None:
    window = scene(flow(Way.UP, 3.0), flow(Way.UP, 5.0), flow(Way.DOWN, 1.0)).between(0.0, 1.0)
    assert window.goodput_mbps(Way.UP) == pytest.approx(8.0)
    assert window.goodput_mbps(Way.DOWN) == pytest.approx(1.0)


def test_what_is_not_loaded_has_no_goodput() -> None:
    assert math.isnan(scene(flow(Way.UP, 3.0)).between(0.0, 1.0).goodput_mbps(Way.DOWN))


def test_equal_flows_share_evenly_and_unequal_ones_do_not() -> None:
    even = scene(flow(Way.UP, 4.0), flow(Way.UP, 4.0)).between(0.0, 1.0)
    assert even.unevenness(Way.UP) == pytest.approx(0.0, abs=1e-9)
    # Of 3 and 5 the standard deviation is 1 and the mean 4.
    uneven = scene(flow(Way.UP, 3.0), flow(Way.UP, 5.0)).between(0.0, 1.0)
    assert uneven.unevenness(Way.UP) == pytest.approx(0.25)


def test_a_constant_rate_does_not_vary_and_one_that_halves_does() -> None:
    assert scene(flow(Way.UP, 4.0)).between(0.0, 1.0).variation(Way.UP) == pytest.approx(0.0)
    t_s = np.arange(0.0, 20.1, 0.2)
    moved = np.where(t_s < 12.5, t_s, 12.5 + (t_s - 12.5) / 2) * 1e6
    halved = MeasuredFlow(Way.UP, t_s, moved, np.full(len(t_s), np.nan))
    assert scene(halved).between(0.0, 1.0).variation(Way.UP) > 0.2


def test_round_trips_are_those_of_the_window_and_the_least_is_of_all() -> None:
    whole = scene(flow(Way.UP, 4.0))
    assert least_ms([whole]) == 10.0
    assert whole.between(0.5, 1.0).rtt_ms(0.0) == pytest.approx(30.0, abs=0.5)
    assert whole.between(0.0, 0.5).rtt_ms(1.0) == pytest.approx(30.0, abs=0.5)


def test_pings_without_an_answer_are_known_by_their_gaps() -> None:
    whole = scene(flow(Way.UP, 4.0))
    assert whole.between(0.0, 1.0).unanswered() == 0.0
    every_fourth = np.arange(len(whole.sent_s)) % 4 != 0
    lossy = replace(whole, sent_s=whole.sent_s[every_fourth], rtt_ms=whole.rtt_ms[every_fourth])
    assert lossy.between(0.0, 1.0).unanswered() == pytest.approx(0.25, abs=0.01)


def test_pings_that_wait_for_an_answer_have_no_interval() -> None:
    whole = scene(flow(Way.UP, 4.0))
    waits = replace(whole, sent_s=np.cumsum(0.05 + whole.rtt_ms / 1e3), interval_s=0.05)
    assert math.isnan(waits.between(0.0, 1.0).unanswered())
    few = whole.between(0.0, 0.1)
    assert math.isnan(few.unanswered())
    assert math.isnan(replace(whole, has_pings=False).between(0.0, 1.0).unanswered())
