"""``make bench``, executors: the same runs by two threads, two processes and two Dask workers.

Rates are those of the steady state: of n runs the first two, whose end nobody waited for twice, are
left out, and with them the start of processes, which a row of its own states. Beside rates, which
want an idle machine, stand ratios of CPU time, which hardly do. Executors take turns (A B C, B C A,
...), so that what else the computer does weighs on all; a ratio is the median of the turns' ratios,
with an order-statistic interval.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paired import MedianInterval, median_interval, some_pairs
from run import RESULTS, machine

from dumbbell.compare.executing import Executor, FailedTask, Task, Threads
from dumbbell.compare.executing.dask import Dask
from dumbbell.compare.executing.processes import Processes
from dumbbell.spec import Experiment

WORKERS = 2
THREADS_OVER_PROCESSES = 0.95
DASK_OVERHEAD = 0.10
RUN_S = 1.0
LEFT_OUT = WORKERS
FIRST_GUESS_S = 10.0

LINE: dict[str, Any] = {
    "name": "line",
    "links": [
        {"a": "server", "b": "home", "rate": "100mbit", "delay": "10ms", "qdisc": "fq_codel"}
    ],
    "flows": [
        {
            "name": "download",
            "count": 4,
            "from": "server",
            "to": "home",
            "start_jitter": "1s",
            "source": {"kind": "greedy"},
        }
    ],
    "probes": [{"name": "call", "from": "home", "to": "server", "interval": "100ms"}],
}


@dataclass(frozen=True)
class Sample:
    """The runs done once by an executor.

    Attributes:
        rate_per_s: Runs a second after the first `LEFT_OUT`.
        first_s: Until the first was there.
        cpu_s: Of a run, of this process and all that it started.
    """

    rate_per_s: float
    first_s: float
    cpu_s: float


@dataclass(frozen=True)
class Row:
    """A ratio of rates.

    Attributes:
        name: What it is of.
        ratios: Of each turn.
        goal: In words.
        is_met: Whether a ratio meets it; None where there is no goal.
    """

    name: str
    ratios: Sequence[float]
    goal: str = ""
    is_met: Callable[[float], bool] | None = None

    @property
    def median(self) -> MedianInterval:
        """Over the turns."""
        return median_interval(self.ratios)

    @property
    def verdict(self) -> str:
        """What it says about the goal."""
        if self.is_met is None:
            return ""
        return "met" if self.is_met(self.median.median) else "missed"

    def __str__(self) -> str:
        """The row."""
        goal = f", goal {self.goal}: {self.verdict}" if self.is_met else ""
        return f"{self.name}: {self.median}{goal}"


def tasks(count: int, duration_s: float) -> list[Task]:
    """Runs of the line, of that virtual length."""
    text = Experiment.read({**LINE, "duration": f"{round(1000 * duration_s)}ms"}).resolved_json()
    return [Task(text, replication, "sim") for replication in range(count)]


def duration_for(run_s: float) -> float:
    """Virtual time of a run that takes about so long on one thread."""
    began_s = time.perf_counter()
    list(Threads(1).run(tasks(1, FIRST_GUESS_S)))
    return FIRST_GUESS_S * run_s / (time.perf_counter() - began_s)


def measure(executor: Executor, wanted: Sequence[Task]) -> Sample:
    """The runs done once."""
    began_s = time.perf_counter()
    ends_s, spent_s = [], []
    for each in executor.run(wanted):
        if isinstance(each, FailedTask):
            sys.exit(f"bench/executors.py: {each.error}")
        ends_s.append(time.perf_counter() - began_s)
        if len(ends_s) in (LEFT_OUT, len(wanted)):
            spent_s.append(cpu_of_all_s(os.getpid()))
    judged = len(ends_s) - LEFT_OUT
    rate = judged / (ends_s[-1] - ends_s[LEFT_OUT - 1])
    return Sample(rate, ends_s[0], (spent_s[1] - spent_s[0]) / judged)


def cpu_of_all_s(process: int) -> float:
    """Of a process and of those that it started, user and system (proc(5), ``stat``)."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    spent_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    for thread in Path(f"/proc/{process}/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            for child in (thread / "children").read_text(encoding="ascii").split():
                spent_s += cpu_of_all_s(int(child))
    return spent_s


def turns(
    executors: dict[str, Executor], wanted: Sequence[Task], pairs: int
) -> dict[str, list[Sample]]:
    """Samples of each, taken in turn, each time beginning with another."""
    names = list(executors)
    found: dict[str, list[Sample]] = {name: [] for name in names}
    for turn in range(pairs):
        first = turn % len(names)
        for name in names[first:] + names[:first]:
            found[name].append(measure(executors[name], wanted))
    return found


def rows(found: dict[str, list[Sample]], run_s: float, judged: bool) -> list[Row]:
    """What the samples say."""

    def ratios(a: str, b: str) -> list[float]:
        return [x.rate_per_s / y.rate_per_s for x, y in zip(found[a], found[b], strict=True)]

    def spent(a: str, b: str) -> list[float]:
        return [x.cpu_s / y.cpu_s for x, y in zip(found[a], found[b], strict=True)]

    of = f"runs of {run_s:g} s"
    overheads = [each - 1 for each in ratios("threads", "dask")]
    starts = [
        x.first_s - y.first_s for x, y in zip(found["processes"], found["threads"], strict=True)
    ]
    return [
        Row(
            f"throughput, two threads over two processes, {of}",
            ratios("threads", "processes"),
            f"at least {THREADS_OVER_PROCESSES:g}",
            (lambda x: x >= THREADS_OVER_PROCESSES) if judged else None,
        ),
        Row(
            f"overhead of Dask beside two threads, {of}",
            overheads,
            f"below {DASK_OVERHEAD:g}",
            (lambda x: x < DASK_OVERHEAD) if judged else None,
        ),
        Row(f"CPU time of a run, processes over threads, {of}", spent("processes", "threads")),
        Row(f"CPU time of a run, Dask over threads, {of}", spent("dask", "threads")),
        Row(f"start of two processes, s, {of}", starts),
    ]


def main(words: Sequence[str] | None = None) -> int:
    """Measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=some_pairs, default=6, help="turns of each executor")
    parser.add_argument("--runs", type=int, default=22, help="in a turn")
    parser.add_argument("--check", action="store_true", help="status 1 when a goal is missed")
    given = parser.parse_known_args(words)[0]
    if not Path("/proc/self/stat").exists():
        print("skipped: executors: no /proc")
        return 0
    found = []
    with Dask(jobs=WORKERS) as dask:
        executors: dict[str, Executor] = {
            "threads": Threads(WORKERS),
            "processes": Processes(WORKERS),
            "dask": dask,
        }
        list(dask.run(tasks(WORKERS, 0.1)))  # until they are there
        # Of short ones most of the time is Python's, which makes the numbers: not judged.
        for run_s, runs, judged in ((RUN_S, given.runs, True), (0.02, 20 * given.runs, False)):
            print(f"running: {runs} runs of {run_s:g} s ...", flush=True)
            wanted = tasks(runs, duration_for(run_s))
            here = rows(turns(executors, wanted, given.pairs), run_s, judged)
            for row in here:
                print(row, flush=True)
            found += here
    RESULTS.mkdir(exist_ok=True)
    content = {
        "machine": machine(),
        "rows": [
            {"name": row.name, "ratios": list(row.ratios), "verdict": row.verdict} for row in found
        ],
    }
    path = RESULTS / "executors.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return 1 if given.check and any(row.verdict == "missed" for row in found) else 0


if __name__ == "__main__":
    sys.exit(main())
