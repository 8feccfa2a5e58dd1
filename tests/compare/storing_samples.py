"""A short experiment, and an executor that records its tasks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from dumbbell.backends import Cancellation
from dumbbell.compare import Cell, cells_of
from dumbbell.compare.executing import FailedTask, FinishedTask, Task, TellDone, Threads
from dumbbell.spec import Setting
from small_networks import home_line

LINE = home_line("1s", rate="5mbit")
QDISC = "links[isp->home].qdisc"


def line_cells(folder: Path, *qdiscs: str) -> list[Cell]:
    file = folder / "line.toml"
    file.write_text(LINE)
    cells, failed = cells_of([file], [Setting(QDISC, each) for each in qdiscs])
    assert not failed
    return cells


def name_of(task: Task) -> str:
    return f"{task.cell} {task.replication}"


class Noting:
    """Threads, with a line in a file for each task that is begun, and for each that ended.

    A line is one write to a file opened to append: a kill leaves it whole or not there.
    """

    def __init__(self, notes: Path, jobs: int = 2) -> None:
        self._notes = notes
        self._threads = Threads(jobs)

    def check(self, task: Task) -> None:
        self._threads.check(task)

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        note = os.open(self._notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for task in tasks:
                os.write(note, f"asked 0 {name_of(task)}\n".encode())
            for each in self._threads.run(tasks, cancel=cancel, on_progress=on_progress):
                os.write(note, f"ended {time.time():.6f} {name_of(tasks[each.index])}\n".encode())
                yield each
        finally:
            os.close(note)

    def notes(self, kind: str) -> list[tuple[float, str]]:
        if not self._notes.exists():
            return []
        lines = [each.split(" ", 2) for each in self._notes.read_text().splitlines()]
        return [(float(when), name) for word, when, name in lines if word == kind]

    def clear(self) -> None:
        self._notes.unlink(missing_ok=True)
