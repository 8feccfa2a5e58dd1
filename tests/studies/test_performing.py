"""Runs of studies from the store: nothing is simulated twice, and damage is made good."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dumbbell import metrics
from dumbbell.backends import Cancellation
from dumbbell.compare.executing import FailedTask, FinishedTask, Task, TellDone, Threads
from dumbbell.replication import Replications
from dumbbell.spec import Experiment
from dumbbell.store import Store, StoreError
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.performing import ExecutorPerformer, reduction_name
from dumbbell.studies.shape import Amount, Runner, nothing_of
from dumbbell.tables import Run


def queue(pps: int) -> Experiment:
    source = {"kind": "poisson", "rate": f"{pps}pps", "size": "512B"}
    return Experiment.read(
        {
            "duration": "5s",
            "links": [{"a": "a", "b": "b", "forward": {"rate": "1mbit"}}],
            "flows": [{"name": "stream", "from": "a", "to": "b", "source": source}],
        }
    )


ARMS = {"idle": queue(20), "busy": queue(200)}


def sojourn_ms(run: Run, factor: float = 1e3) -> float:
    return factor * metrics.mean_sojourn_s(run, "a->b")


class Counting:
    """Threads, with a count of the runs that they were asked for and did."""

    def __init__(self) -> None:
        self._threads = Threads(1, with_numbers=False)
        self.ran = 0

    def check(self, task: Task) -> None:
        self._threads.check(task)

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        for each in self._threads.run(tasks, cancel=cancel, on_progress=on_progress):
            self.ran += 1
            yield each


def reproduced(
    folder: Path, runs: int, *, factor: float = 1e3, tell: Any = print, resume: bool = False
) -> tuple[Replications[str, float], int]:
    """What came of it, and how many runs were done for it."""
    executor = Counting()
    performer = ExecutorPerformer(executor, Store(folder), study="queues", resume=resume, tell=tell)
    with performer:
        runner = Runner(StudyOptions(performer=performer))
        reduce = partial(sojourn_ms, factor=factor)
        found = runner.replicate(ARMS, reduce, Amount(runs), task="queues", keep=1)
    assert performer.made == executor.ran
    return found, executor.ran


def test_nothing_is_simulated_twice_and_results_are_the_same(tmp_path: Path) -> None:
    plain = Runner(StudyOptions()).replicate(ARMS, sojourn_ms, Amount(4), task="queues", keep=1)
    first, ran = reproduced(tmp_path / "kept", 4)
    assert ran == 8
    again, ran = reproduced(tmp_path / "kept", 4)
    assert ran == 0
    assert first.results == again.results == plain.results
    for arm in ARMS:
        assert again.run(arm).meta["digest"] == plain.run(arm).meta["digest"]
        for name, columns in plain.run(arm).tables.items():
            for column, values in columns.items():
                assert again.run(arm).tables[name][column].tobytes() == values.tobytes()


def test_what_was_stopped_goes_on(tmp_path: Path) -> None:
    assert reproduced(tmp_path / "kept", 2)[1] == 4
    found, ran = reproduced(tmp_path / "kept", 5, resume=True)
    assert (found.n, ran) == (5, 6)


def test_another_measure_or_argument_is_another_result(tmp_path: Path) -> None:
    first, _ = reproduced(tmp_path / "kept", 2)
    second, ran = reproduced(tmp_path / "kept", 2, factor=1.0)
    assert ran == 4
    assert second.results["busy"][0] == pytest.approx(first.results["busy"][0] / 1e3)


def test_nothing_to_resume_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no runs of this name are stored"):
        reproduced(tmp_path / "kept", 2, resume=True)
    assert not (tmp_path / "kept").exists()


def test_a_damaged_result_is_said_and_made_again(tmp_path: Path) -> None:
    whole, _ = reproduced(tmp_path / "kept", 3)
    database = sqlite3.connect(tmp_path / "kept" / "runs.sqlite")
    with database:
        database.execute("UPDATE runs SET numbers = zeroblob(length(numbers)) WHERE id = 1")
    database.close()
    said: list[str] = []
    again, ran = reproduced(tmp_path / "kept", 3, tell=said.append)
    assert (ran, again.results) == (1, whole.results)
    assert "it is made again" in said[0]
    assert reproduced(tmp_path / "kept", 3)[1] == 0


def test_only_functions_and_values_say_what_a_result_is() -> None:
    assert reduction_name(sojourn_ms) is not None
    assert reduction_name(nothing_of) != reduction_name(sojourn_ms)
    by_factor = [reduction_name(partial(sojourn_ms, factor=each)) for each in (1.0, 2.0)]
    assert len({None, *by_factor}) == 3
    assert reduction_name(lambda run: run) is None
    assert reduction_name(partial(sojourn_ms, factor=object())) is None
    assert reduction_name(Counting().check) is None
