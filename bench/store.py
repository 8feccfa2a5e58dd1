"""``make bench``, store: cost of storing a run, and memory of many runs.

A run's numbers are put into a store as `dumbbell run` does it, beside one bare SQLite transaction a
run with the same numbers and the same pragmas: wall time, the two in turns, the median of a few
pairs counts. Then a hundred thousand runs, whose summaries an executor makes up at once, go
through the store twice (kept, then found again) in a process of its own, whose peak of memory is
that of whoever coordinates that number of short runs.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from memory import STATUS, own_peak_bytes
from paired import median_interval
from run import RESULTS, machine

from dumbbell.backends import Cancellation
from dumbbell.compare import Summary, summary_of
from dumbbell.compare.executing import FailedTask, FinishedTask, Stored, Task, TellDone
from dumbbell.compare.executing.kept import Layouts
from dumbbell.spec import Experiment
from dumbbell.store import CellName, Content, Store

GOAL_RATIO = 1.3
GOAL_BYTES = 1e9
RUNS = 100_000
COMMITS = 2000
EXPERIMENT = """
duration = "100ms"
[[links]]
a = "a"
b = "b"
rate = "10mbit"
[[flows]]
name = "bulk"
from = "a"
to = "b"
source = { kind = "greedy" }
[[probes]]
name = "call"
from = "a"
to = "b"
interval = "20ms"
"""


def example() -> tuple[str, Summary]:
    """A description, and the summary of its run."""
    from dumbbell.backends import simulate

    experiment = Experiment.from_toml(EXPERIMENT)
    return experiment.resolved_json(), summary_of(simulate(experiment))


def kept_s(folder: Path, summary: Summary, runs: int) -> float:
    """Wall time to keep `runs` runs, as they end, until they are on the disk."""
    layouts, cell = Layouts(), CellName("bench")
    began = time.perf_counter()
    with Store(folder).writer() as writer:
        for number in range(runs):
            key = hashlib.sha256(number.to_bytes(8)).digest()
            writer.add(Content(key, "sim", number, "{}", layouts.numbers(summary)), cell)
    return time.perf_counter() - began


def bare_s(folder: Path, summary: Summary, runs: int) -> float:
    """The same numbers in a table with nothing around it, a transaction a run."""
    with contextlib.closing(sqlite3.connect(folder / "bare.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE runs (id INTEGER PRIMARY KEY, key BLOB UNIQUE, numbers BLOB)")
        began = time.perf_counter()
        for number in range(runs):
            key = hashlib.sha256(number.to_bytes(8)).digest()
            db.execute("BEGIN IMMEDIATE")
            db.execute(
                "INSERT INTO runs (key, numbers) VALUES (?, ?)", (key, summary.numbers.tobytes())
            )
            db.execute("COMMIT")
    return time.perf_counter() - began


def ratios(pairs: int, runs: int) -> list[tuple[float, float]]:
    """Seconds of ours and of bare commits, a pair after the other."""
    _, summary = example()
    found = []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            found.append((kept_s(folder, summary, runs), bare_s(folder, summary, runs)))
    return found


class AtOnce:
    """An executor whose tasks have ended before they began, with numbers of their own."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary

    def check(self, task: Task) -> None:
        """All are allowed."""

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        for index, task in enumerate(tasks):
            numbers = self._summary.numbers + task.replication
            yield FinishedTask(
                index, Summary(self._summary.quantities, numbers, self._summary.groups)
            )


def through_a_store(runs: int) -> None:
    """Runs kept, then found again, their summaries held as a comparison holds them."""
    description, summary = example()
    tasks = [Task(description, number, "sim") for number in range(runs)]
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            stored = Stored(AtOnce(summary), Store(folder))
            held = {each.index: each for each in stored.run(tasks)}
            assert len(held) == runs
            last = held[runs - 1]
            assert isinstance(last, FinishedTask)
            assert np.array_equal(last.summary.numbers, summary.numbers + runs - 1, equal_nan=True)
            del held


def peak_bytes(runs: int) -> int:
    """Peak of a process of its own."""
    words = [sys.executable, __file__, "--alone", str(runs)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"bench/store.py --alone {runs} failed:\n{done.stderr}")
    return int(done.stdout)


def main(words: Sequence[str] | None = None) -> int:
    """Measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of runs")
    parser.add_argument("--check", action="store_true", help="status 1 when a goal is missed")
    parser.add_argument("--pairs", type=int, default=6, help="how often both are measured")
    parser.add_argument("--alone", type=int, metavar="RUNS", help="here; print the peak")
    given = parser.parse_known_args(words)[0]
    if given.alone:
        through_a_store(given.alone)
        print(own_peak_bytes())
        return 0
    commits, runs = (max(10, round(n * given.scale)) for n in (COMMITS, RUNS))
    pairs = ratios(given.pairs, commits)
    ratio = median_interval([ours / bare for ours, bare in pairs])
    ours_us, bare_us = (
        1e6 * median_interval([pair[side] for pair in pairs]).median / commits for side in (0, 1)
    )
    met = ratio.median <= GOAL_RATIO
    print(
        f"store, {commits} runs: {ours_us:.0f} us a run, a bare commit {bare_us:.0f} us: "
        f"x{ratio}, goal at most {GOAL_RATIO}: {'met' if met else 'missed'}"
    )
    rows = {"ours_us": ours_us, "bare_us": bare_us, "ratio": ratio.median, "pairs": pairs}
    if STATUS.exists():
        peak = peak_bytes(runs)
        met &= peak < GOAL_BYTES
        print(
            f"store, {runs} runs kept and found again: peak {peak / 1e6:.0f} MB, goal below "
            f"{GOAL_BYTES / 1e6:.0f} MB: {'met' if peak < GOAL_BYTES else 'missed'}"
        )
        rows |= {"runs": runs, "peak_bytes": peak}
    RESULTS.mkdir(exist_ok=True)
    content = {"machine": machine(), "goal_ratio": GOAL_RATIO, "goal_bytes": GOAL_BYTES, **rows}
    path = RESULTS / "store.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 1 if given.check and not met else 0


if __name__ == "__main__":
    sys.exit(main())
