"""The first difference between two runs, on synthetic tables; kernels: `tests/kernel_backend`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dumbbell.compare.kernels import CLOSE_NS, FirstDifference, SeenPacket, first_difference_of
from dumbbell.compare.reference_grid import grid_cells
from dumbbell.spec import Experiment
from dumbbell.tables import Run

TINY = Experiment.from_toml("""
duration = "1s"
links = [{ a = "left", b = "right", rate = "1mbit" }]
flows = [
  { name = "data", from = "left", to = "right", source = { kind = "greedy" } },
]
""")
ENQUEUE, DEQUEUE, DROP = 0, 1, 2
Row = tuple[int, int, int, int]
"""Time in ns, queue, event, number."""

ROWS: list[Row] = [
    (1_000_000, 0, ENQUEUE, 1),
    (1_000_000, 0, ENQUEUE, 2),
    (2_000_000, 0, DEQUEUE, 1),
    (2_000_000, 1, ENQUEUE, 1),
    (3_000_000, 0, DEQUEUE, 2),
]


def run_of(rows: list[Row]) -> Run:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    same = np.ones(len(rows), dtype=np.int64)
    packets = {
        "t_ns": columns[0],
        "queue": columns[1],
        "event": columns[2],
        "flow": 0 * same,
        "probe": -same,
        "seq": columns[3],
        "bytes": 1514 * same,
    }
    return Run("kernel", 0, TINY.resolved(), {"packets": packets}, {}, {})


def first_difference(rows: list[Row]) -> FirstDifference | None:
    return first_difference_of(run_of(ROWS), run_of(rows))


def test_equal_runs_do_not_part_nor_do_those_that_are_close() -> None:
    assert first_difference(ROWS) is None
    assert first_difference([(t + CLOSE_NS - 1, *rest) for t, *rest in ROWS]) is None
    assert first_difference_of(run_of([]), run_of([])) is None


def test_events_of_other_queues_in_an_instant_have_no_order() -> None:
    swapped = [*ROWS[:2], ROWS[3], ROWS[2], ROWS[4]]
    assert first_difference(swapped) is None


def test_the_same_packet_later() -> None:
    found = first_difference([*ROWS[:4], (3_000_000 + CLOSE_NS, *ROWS[4][1:])])
    assert found is not None
    assert found.is_only_later
    assert found.t_ns == 3_000_000
    assert str(found.ours) == "0.003000 s left->right dequeue 2 of data, 1514 bytes"
    assert str(found.theirs) == "0.003010 s left->right dequeue 2 of data, 1514 bytes"


def test_another_packet_the_first_of_several() -> None:
    found = first_difference(
        [*ROWS[:2], (2_000_000, 0, DROP, 1), ROWS[3], (9_000_000, 0, DEQUEUE, 2)]
    )
    assert found is not None
    # Of the dropped packet the first run has no such event, of the dequeued the second has another.
    assert found.t_ns == 2_000_000
    assert not found.is_only_later
    seen = {each.event for each in (found.ours, found.theirs) if each}
    assert seen <= {"drop", "dequeue"}


def test_a_run_that_ends_earlier() -> None:
    found = first_difference(ROWS[:4])
    assert found == FirstDifference(
        SeenPacket(3_000_000, "left->right", "dequeue", "data", 2, 1514), None
    )
    assert not found.is_only_later
    assert str(found).endswith("; against nothing more")


def compare(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dumbbell.cli", "kernel", "compare", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.programs
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("6.1", "6.1"), "allowed: another kernel than the first"),
        (("6.1", "6.12", "--only", "nothing-like-this"), "a part of a network's name"),
        (("6.1", "no-such", "--only", "pie-cubic-40mbit-20ms-1"), "no kernel called no-such"),
        (("6.1", "6.12", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_what_cannot_be_compared(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = compare(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    # Without a kernel that is what is said first.
    assert said in done.stderr or "has not been built" in done.stderr


def test_the_grid_is_of_sixty() -> None:
    assert len({cell.name for cell in grid_cells()}) == 60
    assert json.loads(grid_cells()[0].experiment().resolved_json())["duration_ns"] == 30 * 10**9
