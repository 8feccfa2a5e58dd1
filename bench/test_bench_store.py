"""That both sides keep the same, and the goal of memory on fewer runs."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import memory

import store


def test_both_keep_the_same_numbers(tmp_path: Path) -> None:
    _, summary = store.example()
    store.kept_s(tmp_path, summary, 20)
    store.bare_s(tmp_path, summary, 20)
    found = []
    for name in ("runs.sqlite", "bare.sqlite"):
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as database:
            found.append(database.execute("SELECT key, numbers FROM runs ORDER BY key").fetchall())
    assert found[0] == found[1] and len(found[0]) == 20
    assert np.array_equal(np.frombuffer(found[0][0][1]), summary.numbers, equal_nan=True)


@pytest.mark.slow
def test_memory_of_many_runs_grows_by_their_numbers() -> None:
    few, many = store.peak_bytes(100), store.peak_bytes(10_100)
    # A hundred thousand would take ten times the difference.
    assert few + 10 * (many - few) < store.GOAL_BYTES


@pytest.mark.long
def test_a_hundred_thousand_runs_stay_below_the_goal() -> None:
    assert memory.own_peak_bytes() > 0
    assert store.peak_bytes(store.RUNS) < store.GOAL_BYTES
