"""The arithmetic of the study's row, and that the work is the study's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import rrul


def test_a_packet_is_a_full_segment_that_arrived() -> None:
    # 1448 bytes of payload every 115.84 us are 100 Mbit/s.
    assert rrul.packets(100, 10) == pytest.approx(10 / 115.84e-6)


def test_the_goal_is_of_the_dumbbells_rate() -> None:
    slow = rrul.Study("x", runs=105, cpu_s=2.0, packets=1.3e6, ten_flows=1e6)
    fast = rrul.Study("x", runs=105, cpu_s=2.0, packets=1.5e6, ten_flows=1e6)
    assert slow.ratio == pytest.approx(0.65)
    assert slow.verdict == "missed" and "missed" in str(slow)
    assert fast.verdict == "met" and "0.75" in str(fast)


def test_seven_settings_in_three_scenarios() -> None:
    works = list(rrul.works(60))
    assert len(works) == 21
    resolved = works[0].experiment.resolved()
    assert resolved["duration_ns"] == 70 * 10**9
    kinds = [flow["transport"] for flow in resolved["flows"]]
    assert kinds == ["tcp"] * 8
    assert len(resolved["probes"]) == 4
    assert all(work.queue == 2 for work in [*works, *rrul.works(60, 0)])
    # Client, router, server; and the driver's ring.
    assert len(resolved["links"]) == 3
    printed = next(rrul.works(60, 0)).experiment.resolved()
    assert len(printed["links"]) == 2
