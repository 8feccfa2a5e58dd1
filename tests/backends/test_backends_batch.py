from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from backends_samples import ScriptedBackend, fails_at, one_queue, succeeds

from dumbbell.backends import (
    BatchProgress,
    Cancel,
    Cost,
    Failure,
    backend_names,
    get_backend,
    registry,
    run_many,
    simulate,
    threads_for,
)
from dumbbell.errors import RunError, SpecError
from dumbbell.tables import check_schema

LONG = "16000000s"  # minutes of work: enough to be interrupted in
PROMPTLY_S = 60.0  # a second is promised; all of it takes two minutes on a fast machine


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> type[ScriptedBackend]:
    """Register a scripted backend under the name ``scripted``."""

    class Registered(ScriptedBackend):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)  # type: ignore[arg-type]
            module = type(sys)("scripted_backend")
            module.BACKEND = self  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, "scripted_backend", module)
            monkeypatch.setitem(registry._MODULES, "scripted", "scripted_backend")

    return Registered


def test_one_run_has_its_tables_and_says_where_it_comes_from() -> None:
    experiment = one_queue()
    run = simulate(experiment, replication=4)
    check_schema(run.tables)
    assert (run.origin, run.replication) == ("simulated", 4)
    assert run.spec == experiment.resolved()
    assert run.meta.keys() == {
        "name", "seed", "replication", "backend", "versions", "events", "digest",
    }  # fmt: skip
    assert run.meta["versions"].keys() == {"dumbbell", "engine"}
    assert len(run.meta["digest"]) == 64
    assert run.meta["events"] > 4_000
    assert {"host", "date", "python", "platform", "cpu", "batch_wall_s", "batch_cpu_s"} <= (
        run.provenance.keys()
    )


def test_runs_do_not_depend_on_threads_or_on_what_else_is_in_the_batch() -> None:
    def digests(jobs: int, pairs: list[tuple[object, int]]) -> dict[int, str]:
        runs = run_many(pairs, jobs=jobs)  # type: ignore[arg-type]
        return {index: run.meta["digest"] for index, run in runs}

    quick, slow = one_queue(), one_queue("60s", pps=100)
    mixed = [(quick, 0), (slow, 0), (quick, 1), (slow, 1)]
    one = digests(1, mixed)
    assert digests(4, mixed) == one
    assert digests(2, [(slow, 1), (quick, 1)]) == {0: one[3], 1: one[2]}
    assert len(set(one.values())) == 4


def test_the_index_is_the_place_among_the_experiments() -> None:
    pairs = [(one_queue("100s"), 5), (one_queue("1s"), 6), (one_queue("1s"), 7)]
    assert {index: run.replication for index, run in run_many(pairs)} == {0: 5, 1: 6, 2: 7}
    assert list(run_many([])) == []


def test_experiments_are_read_as_workers_become_free() -> None:
    read = 0

    def endless():  # type: ignore[no-untyped-def]
        nonlocal read
        experiment = one_queue("1s")
        while True:
            read += 1
            yield experiment, read

    runs = run_many(endless(), jobs=1)
    for _ in range(5):
        next(runs)
    runs.close()  # type: ignore[attr-defined]
    assert 5 <= read < 20


def test_progress_ends_with_everything_finished() -> None:
    told: list[BatchProgress] = []
    list(run_many([(one_queue(), n) for n in range(4)], on_progress=told.append))
    assert told[-1].finished == told[-1].started == 4
    assert told[-1].running == 0
    assert told[-1].done == 4.0
    assert [each.finished for each in told] == sorted(each.finished for each in told)


@pytest.mark.parametrize("make", [Cancel, threading.Event])
def test_cancelling_ends_within_a_second_and_keeps_what_finished(make: type) -> None:
    cancel = make()
    pairs = [(one_queue("1s"), 0), (one_queue(LONG), 1), (one_queue(LONG), 2)]
    finished = []
    asked = float("inf")
    for index, _ in run_many(pairs, jobs=2, cancel=cancel):
        finished.append(index)
        asked = time.monotonic()
        cancel.set()
    assert finished == [0]
    assert time.monotonic() - asked < PROMPTLY_S


def test_a_consumer_that_stops_does_not_cancel_the_callers_other_work() -> None:
    cancel = Cancel()
    began = time.monotonic()
    for _ in run_many([(one_queue("1s"), 0), (one_queue(LONG), 1)], cancel=cancel):
        break
    assert not cancel.is_set()
    assert time.monotonic() - began < PROMPTLY_S


def test_ctrl_c_yields_what_finished_then_raises(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from backends_samples import one_queue
from dumbbell.backends import run_many
pairs = [(one_queue("1s"), 0), (one_queue({LONG!r}), 1)]
try:
    for index, run in run_many(pairs, jobs=2):
        print("finished", index, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        assert it.stdout.readline() == "finished 0\n"
        asked = time.monotonic()
        it.send_signal(signal.SIGINT)
        assert it.stdout.readline() == "interrupted\n"
        assert it.wait(timeout=PROMPTLY_S) == 0
        assert time.monotonic() - asked < PROMPTLY_S


def test_what_cannot_be_run_is_said_with_its_path() -> None:
    class Broken:
        def resolved_json(self) -> str:
            return one_queue().resolved_json().replace('"seed":1', '"seed":-1')

    with pytest.raises(SpecError):
        simulate(Broken())
    with pytest.raises(SpecError) as caught:
        simulate(one_queue(), backend="simm")
    assert (caught.value.path, caught.value.hint) == ("backend", "sim")
    assert backend_names() == ("sim", "kernel")
    assert get_backend("sim").name == "sim"
    with pytest.raises(SpecError, match="a number of threads"):
        next(run_many([(one_queue(), 0)], jobs=-1))


def test_a_failed_replication_raises_after_the_others_were_yielded(
    scripted: type[ScriptedBackend],
) -> None:
    scripted(fails_at(1))
    pairs = [(one_queue(), n) for n in range(10, 14)]
    got = []
    with pytest.raises(RunError, match="replication 11 failed: the wheel fell off"):
        for index, run in run_many(pairs, backend="scripted"):
            got.append((index, run.replication))
    assert got == [(0, 10), (2, 12), (3, 13)]


def test_failures_go_to_who_asks_for_them(scripted: type[ScriptedBackend]) -> None:
    scripted(fails_at(0, 2))
    failures: list[Failure] = []
    pairs = [(one_queue(), n) for n in range(4)]
    runs = list(run_many(pairs, backend="scripted", on_failure=failures.append))
    assert [index for index, _ in runs] == [1, 3]
    assert [(each.index, each.replication) for each in failures] == [(0, 0), (2, 2)]
    assert runs[0][1].origin == "kernel"
    assert runs[0][1].meta["versions"]["scripted"] == "7"


def test_what_takes_days_is_refused_before_it_starts() -> None:
    with pytest.raises(SpecError, match="at most a day") as caught:
        simulate(one_queue("14000000s", pps=200_000))
    assert caught.value.path == "duration"
    assert caught.value.value == "14000000s"
    assert "days" in caught.value.allowed


def test_what_does_not_fit_in_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = one_queue("100000s", pps=1.0, sample_interval="1us")
    began = time.monotonic()
    with pytest.raises(SpecError, match="free memory") as caught:
        simulate(greedy)
    assert caught.value.path == "duration"
    assert time.monotonic() - began < PROMPTLY_S
    monkeypatch.setattr("dumbbell.backends.memory.available_memory_bytes", lambda: 1000)
    with pytest.raises(SpecError, match="1 kB"):
        simulate(one_queue())


def test_fewer_threads_when_not_all_runs_fit(
    scripted: type[ScriptedBackend], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dumbbell.backends.memory.available_memory_bytes", lambda: 500)
    backend = scripted(succeeds, Cost(1, 100, 1.0))
    list(run_many([(one_queue(), 0)], backend="scripted", jobs=8))
    assert backend.threads == 2
    assert threads_for([one_queue()], backend="scripted", jobs=8) == 2
    backend.cost = Cost(1, 400, 1.0)
    assert threads_for([one_queue()], backend="scripted", jobs=8) == 1
    assert threads_for([], backend="scripted", jobs=8) == 8


def test_the_simulator_says_where_irtt_runs() -> None:
    probe = {"name": "latency", "kind": "irtt", "from": "a", "to": "b"}
    with pytest.raises(SpecError, match="ping or udp in the simulator") as caught:
        simulate(one_queue(probes=[probe]))
    assert (caught.value.path, caught.value.value) == ("probes[0].kind", "irtt")
    assert "backend `kernel`" in caught.value.allowed
