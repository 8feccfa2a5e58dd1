"""Runs in worker processes: the same numbers, and no process left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from executing_tasks import assert_same, by_place, done, endless, line, tasks

from dumbbell.compare import Cell, compare
from dumbbell.compare.executing import FailedTask, Task, Threads, processes
from dumbbell.compare.executing.batch_size import BatchSize
from dumbbell.compare.executing.processes import Processes
from dumbbell.compare.executing.wire import Receiver, Sender
from dumbbell.compare.executing.worker import outcomes
from dumbbell.errors import FailureKind, RunError, SpecError
from host_processes import children, has_ended
from waiting import PATIENCE_S, wait_until


def test_the_same_numbers_by_threads_and_by_any_number_of_processes() -> None:
    wanted = tasks(12) + tasks(3, duration="1500ms")
    expected = done(Threads(2), wanted)
    assert len(expected) == 15 and len(set(map(str, expected.values()))) == 15
    assert all(digest for digest, *_ in expected.values())
    before = children()
    for jobs in (1, 3):
        assert_same(done(Processes(jobs), wanted), expected)
    assert not children() - before


def test_a_task_that_cannot_be_done_costs_no_other_of_its_batch() -> None:
    good = tasks(4)
    found = by_place(outcomes([*good[:2], Task("{}", 0, "sim"), *good[2:]]))
    expected = done(Threads(1), good)
    assert [found[i] for i in (0, 1, 3, 4)] == [expected[i] for i in range(4)]
    assert "resolved description" in found[2]
    (failed,) = outcomes([Task("{}", 0, "sim")])
    assert isinstance(failed, FailedTask) and isinstance(failed.error, SpecError)


def test_errors_come_back_as_they_were() -> None:
    sent = [
        SpecError("duration", "1s", "less", "500ms", "it is full"),
        RunError("too much", FailureKind.OUT_OF_MEMORY),
    ]
    for error in sent:
        message = json.loads(json.dumps(Sender().message(FailedTask(3, error))))
        back = Receiver().outcome(message)
        assert isinstance(back, FailedTask) and back.index == 3
        assert type(back.error) is type(error) and vars(back.error) == vars(error)


def test_a_worker_that_is_killed_costs_nothing() -> None:
    wanted = tasks(150)
    expected = done(Threads(2), wanted)
    before, found = children(), []
    killed: list[int] = []
    # The second death comes when what the first one cost has been made up for: a task that was
    # lost twice has failed, which the test after this one wants.
    ended_before: tuple[set[int], ...] = (set(), set(range(75)))
    has_ended: set[int] = set()
    for each in Processes(2).run(wanted):
        found.append(each)
        has_ended.add(each.index)
        if len(killed) < 2 and ended_before[len(killed)] <= has_ended:
            victim = min(children() - before)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)
    assert len(set(killed)) == 2
    assert_same(by_place(found), expected)
    assert not children() - before


DIES = """
import os, signal, sys
from dataclasses import replace
sys.path[:] = sys.argv[1:]
from dumbbell.compare.executing import worker_process

real = worker_process.outcomes

def faulty(tasks, **how):
    for index, task in enumerate(tasks):
        if task.replication == 30:
            print("no more memory", file=sys.stderr)
            os.kill(os.getpid(), signal.SIGKILL)
        for outcome in real([task], **how):
            yield replace(outcome, index=index)

worker_process.outcomes = faulty
worker_process.main()
"""


def test_a_task_whose_worker_dies_twice_has_failed_and_the_others_are_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "_CODE", DIES)
    wanted, before = tasks(60), children()
    expected = done(Threads(2), wanted)
    found = done(Processes(2), wanted)
    assert found.pop(30) == (
        "the process that ran it ended by SIGKILL (no more memory), and so did the one before"
    )
    del expected[30]
    assert_same(found, expected)
    assert not children() - before


def test_where_no_worker_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_CODE", "import sys; sys.exit('no such thing')")
    with pytest.raises(RunError, match=r"no worker .* ended with status 1 \(no such thing\)"):
        list(Processes(2).run(tasks(3)))


def test_a_wish_to_stop_is_heard_and_what_had_finished_is_kept() -> None:
    before, stop, found = children(), threading.Event(), []
    asked = time.monotonic()
    for each in Processes(2).run([*tasks(1), endless(1), endless(2)], cancel=stop):
        found.append(each.index)
        stop.set()
        asked = time.monotonic()
    assert found == [0]
    assert time.monotonic() - asked < PATIENCE_S
    assert not children() - before


def test_a_consumer_who_leaves_leaves_no_worker_behind() -> None:
    before = children()
    running = Processes(2).run([*tasks(1), endless(1), endless(2)])
    next(iter(running))
    assert children() > before
    running.close()  # type: ignore[attr-defined]
    assert not children() - before


@pytest.mark.slow
def test_progress_counts_parts_of_what_is_under_way() -> None:
    told: list[float] = []
    stop = threading.Event()

    def tell(done: float) -> None:
        told.append(done)
        if done > 1:
            stop.set()

    assert set(done(Processes(2), [*tasks(1), endless()], cancel=stop, on_progress=tell)) == {0}
    assert 1 < told[-1] < 2
    assert done(Processes(2), tasks(4), on_progress=told.append)
    assert told[-1] == 4


SCRIPT = """
import sys
from executing_tasks import endless, tasks
from dumbbell.compare.executing.processes import Processes

# No ``if __name__ == "__main__"``: none is needed.
for each in Processes(2).run([*tasks(1), endless(1), endless(2)]):
    print(each.index, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_script_that_is_ended_leaves_no_worker_behind(
    number: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder = str(Path(__file__).parent)
    with subprocess.Popen(
        [sys.executable, str(script)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": folder},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        workers = children(process.pid)
        assert len(workers) == 2
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    wait_until(lambda: all(map(has_ended, workers)), "the end of each worker")


def test_a_comparison_does_not_depend_on_who_runs_it() -> None:
    cells = [
        Cell(qdisc, line().with_link("server", "home", qdisc=qdisc)) for qdisc in ("pfifo", "pie")
    ]
    here = compare(cells, replications=3, keep=1)
    there = compare(cells, replications=3, keep=1, executor=Processes(2))
    for arm in here.arms:
        ours, theirs = here.results[arm], there.results[arm]
        assert [a.numbers.tobytes() for a in ours.summaries] == [
            a.numbers.tobytes() for a in theirs.summaries
        ]
        # What a page shows of a run, too.
        assert [a.meta["digest"] for a in ours.kept] == [a.meta["digest"] for a in theirs.kept]


def test_batches_take_their_time_and_shrink_towards_the_end() -> None:
    size = BatchSize(0.5)
    assert size.of(1000, 2) == 1  # nothing is known
    size.took(1, 0.01)
    sizes = []
    for _ in range(4):
        sizes.append(size.of(1000, 2))
        size.took(sizes[-1], 0.01 * sizes[-1])
    assert sizes == [4, 16, 50, 50]
    assert size.of(40, 2) == 10
    assert size.of(1, 2) == 1
    slow = BatchSize(0.5)
    slow.took(1, 3.0)
    assert slow.of(1000, 2) == 1 and not slow.is_short and size.is_short
