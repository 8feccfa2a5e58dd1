"""That rows say what was measured."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import executors
from executors import Sample

from dumbbell.compare.executing import Threads


def found(threads: float, processes: float, dask: float) -> dict[str, list[Sample]]:
    rates = {"threads": threads, "processes": processes, "dask": dask}
    return {name: [Sample(rate, 1.0, 1.0 / rate)] for name, rate in rates.items()}


def test_goals_are_of_the_right_side() -> None:
    good = executors.rows(found(2.0, 2.1, 1.83), 1.0, judged=True)
    assert [row.verdict for row in good] == ["met", "met", "", "", ""]
    assert good[1].median.median == pytest.approx(2.0 / 1.83 - 1)
    bad = executors.rows(found(1.8, 2.0, 1.6), 1.0, judged=True)
    assert [row.verdict for row in bad] == ["missed", "missed", "", "", ""]
    assert "missed" in str(bad[0])
    stated = executors.rows(found(1.8, 2.0, 1.6), 1.0, judged=False)
    assert {row.verdict for row in stated} == {""}


def test_the_start_is_no_part_of_a_rate() -> None:
    wanted = executors.tasks(8, 0.2)
    sample = executors.measure(Threads(2), wanted)
    assert sample.rate_per_s > 0 and sample.first_s > 0 and 0 < sample.cpu_s < 10
    assert len({task.replication for task in wanted}) == 8


def test_executors_take_turns() -> None:
    asked: list[str] = []

    class Noted(Threads):
        def __init__(self, name: str) -> None:
            super().__init__(1)
            self.name = name

        def run(self, *args: object, **how: object):  # type: ignore[no-untyped-def]
            asked.append(self.name)
            return super().run(*args, **how)  # type: ignore[arg-type]

    executors.turns({"a": Noted("a"), "b": Noted("b")}, executors.tasks(4, 0.1), 2)
    assert asked == ["a", "b", "b", "a"]
