"""That the peak is the process's own, that the work is the study's, and the goal itself."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import memory

from dumbbell.studies.buffer_sizing import arms, published


def test_the_goal_is_of_judged_rows_only() -> None:
    small, large = memory.Peak("x", 10, 299_000_000), memory.Peak("x", 10, 301_000_000)
    assert (small.verdict, large.verdict) == ("met", "missed")
    assert "301 MB" in str(large) and "missed" in str(large)
    imports = memory.Peak("imports", 0, 10**9, is_judged=False)
    assert imports.verdict == "" and "goal" not in str(imports)


@pytest.mark.slow
def test_a_peak_is_of_the_process_that_is_measured() -> None:
    held = b"x" * 250_000_000
    assert memory.own_peak_bytes() > len(held)
    # What this process holds does not count in the one it starts.
    assert 2e7 < memory.measure("medium", 0, 0) < len(held)


def test_rows_say_how_many_flows_the_study_has() -> None:
    of = {"medium": (252, 468), "heavy": (774, 936)}
    for load, (flows, users) in of.items():
        point = arms.Point(load=load)  # type: ignore[arg-type]
        assert point.hosts * arms.PERSISTENT_PER_HOST[point.load] == flows
        assert point.hosts * arms.USERS_PER_HOST[point.load] == users
    assert published.DURATION_S == memory.DURATION_S


@pytest.mark.long
def test_ten_replications_of_the_four_runs_stay_below_the_goal() -> None:
    peak = memory.measure("medium", memory.REPLICATIONS, memory.DURATION_S)
    assert peak < memory.GOAL_BYTES
