"""Runs on a Dask cluster: a scheduler and workers in separate processes, on loopback."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from dask_processes import NO_DUMBBELL, OTHER_MODULE, Cluster, cluster, kill
from executing_tasks import assert_same, by_place, done, endless, line, tasks

from dumbbell.compare import Cell, compare
from dumbbell.compare.executing import (
    FailedTask,
    FinishedTask,
    Stored,
    Threads,
    dask_address,
    on_dask_worker,
    tables_on_wire,
)
from dumbbell.compare.executing.dask import ClusterError, Dask, WorkerRefusedError
from dumbbell.compare.executing.stored import kept_run
from dumbbell.compare.executing.wire import Receiver, Sender
from dumbbell.errors import MissingExtraError, RunError, SpecError
from dumbbell.store import Store
from waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.slow

MARK = "DUMBBELL_TEST"
"""A variable of the environment: processes inherit it from the test that starts them."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dumbbell.compare.executing.dask.CONNECT_S", PATIENCE_S)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers that tests leave as they are."""
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def test_the_same_numbers_as_by_threads(two: Cluster) -> None:
    wanted = tasks(25) + tasks(3, duration="1500ms")
    with Dask(two.address) as executor:
        for each in wanted:
            executor.check(each)
        told: list[float] = []
        assert_same(done(executor, wanted, on_progress=told.append), done(Threads(2), wanted))
        assert told[-1] == 28
        # More than once, as a comparison does that asks for a precision.
        assert_same(done(executor, wanted[:2]), done(Threads(2), wanted[:2]))
        assert done(executor, []) == {}


def test_a_comparison_on_a_cluster(two: Cluster) -> None:
    cells = [
        Cell(qdisc, line().with_link("server", "home", qdisc=qdisc)) for qdisc in ("pfifo", "pie")
    ]
    here = compare(cells, replications=3, keep=1)
    with Dask(two.address) as executor:
        there = compare(cells, replications=3, keep=1, executor=executor)
    for arm in here.arms:
        ours, theirs = here.results[arm], there.results[arm]
        assert [a.numbers.tobytes() for a in ours.summaries] == [
            a.numbers.tobytes() for a in theirs.summaries
        ]
        assert [a.meta["digest"] for a in ours.kept] == [a.meta["digest"] for a in theirs.kept]


def test_a_task_that_fails_costs_no_other(two: Cluster) -> None:
    """It needs more memory than each may use; descriptions are checked before, memory is not."""
    wanted = [*tasks(4), *tasks(1, duration="20000s", sample_interval="1ms"), *tasks(6)[4:]]
    with Dask(two.address, memory_bytes=200_000_000) as executor:
        executor.check(wanted[4])
        found = done(executor, wanted)
    assert "200 MB of free memory" in found.pop(4)
    # In order of their places: which ends first is an accident.
    expected = done(Threads(2), tasks(6))
    assert [found[place] for place in sorted(found)] == [expected[n] for n in range(6)]


def test_what_a_killed_worker_had_is_done_by_another(tmp_path: Path) -> None:
    wanted = tasks(120)
    expected = done(Threads(2), wanted)
    with cluster(tmp_path, workers=0) as made, Dask(made.address) as executor:
        victim = made.worker()
        found = []
        for each in executor.run(wanted):
            found.append(each)
            if len(found) == 10:
                made.worker()
            if len(found) == 20:
                kill(victim)
    assert_same(by_place(found), expected)


@pytest.mark.long
def test_a_task_on_which_workers_die_has_failed_and_the_others_are_done(tmp_path: Path) -> None:
    """Four of them by default; whoever has replication 30 kills itself."""
    dies = """
import os, signal
from dumbbell.compare.executing import on_dask_worker
real = on_dask_worker.outcomes
def faulty(tasks, **how):
    if any(task.replication == 30 for task in tasks):
        os.kill(os.getpid(), signal.SIGKILL)
    return real(tasks, **how)
on_dask_worker.outcomes = faulty
"""
    wanted = tasks(40)
    expected = done(Threads(2), wanted)
    with cluster(tmp_path, workers=0) as made, Dask(made.address) as executor:
        stop = threading.Event()

        def replace_who_has_died() -> None:
            there: list[subprocess.Popen[bytes]] = []
            while not stop.wait(0.1):
                there = [each for each in there if each.poll() is None]
                while len(there) < 3:
                    there.append(made.worker(before=dies))

        starter = threading.Thread(target=replace_who_has_died)
        starter.start()
        try:
            found = done(executor, wanted)
        finally:
            stop.set()
            starter.join()
    assert "4 workers died while they ran it" in found.pop(30)
    del expected[30]
    assert_same(found, expected)


@pytest.mark.parametrize(
    ("before", "words"), [(OTHER_MODULE, r"\(code [0-9a-f]+\), and"), (NO_DUMBBELL, "no dumbbell")]
)
def test_a_worker_with_another_dumbbell_is_refused(before: str, words: str, tmp_path: Path) -> None:
    with cluster(tmp_path, workers=0) as made, Dask(made.address) as executor:
        made.worker(before)
        with pytest.raises(WorkerRefusedError, match=f"the worker tcp://.*{words}") as refused:
            list(executor.run(tasks(3)))
    assert refused.value.exit_code == 2


def test_a_batch_is_refused_by_who_joined_a_moment_ago() -> None:
    asked = {"identity": {"version": "0.0.1", "code_sha256": "0"}}
    said = json.loads(on_dask_worker.do_batch(json.dumps(asked)))
    assert said == {"refused": on_dask_worker.identity_as_json()}


def test_without_any_worker(tmp_path: Path) -> None:
    with (
        cluster(tmp_path, workers=0) as made,
        Dask(made.address, patience_s=1.0) as executor,
        pytest.raises(ClusterError, match="no worker for 1 s: start some with 'dask worker tcp:"),
    ):
        list(executor.run(tasks(1)))


def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    with cluster(tmp_path, workers=1) as made, Dask(made.address) as executor:
        running = iter(executor.run([*tasks(1), endless()]))
        assert next(running).index == 0
        kill(made.scheduler)
        asked = time.monotonic()
        with pytest.raises(ClusterError, match=f"scheduler at {made.address} has gone"):
            list(running)
    assert time.monotonic() - asked < PATIENCE_S


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nowhere", "gopher://127.0.0.1:9"])
def test_nobody_answers(address: str) -> None:
    with (
        pytest.raises(SpecError, match=r"as tcp://host:8786") as refused,
        Dask(address, connect_s=0.5),
    ):
        pass
    assert refused.value.value == address
    assert refused.value.exit_code == 2


def _silent(connection: socket.socket, ended: threading.Event) -> None:
    ended.wait()


def _http(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    ended.wait()


def _closing(connection: socket.socket, ended: threading.Event) -> None:
    """Nothing is said."""


def _greeting_without_end(connection: socket.socket, ended: threading.Event) -> None:
    """As of mail servers: too little for a message of Dask's."""
    connection.sendall(b"220 ")
    ended.wait()


@pytest.fixture(params=[_silent, _http, _closing, _greeting_without_end])
def other_server(request: pytest.FixtureRequest) -> Iterator[str]:
    """Something else that accepts connections; its address."""
    ended = threading.Event()

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            request.param(connection, ended)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        ended.set()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


def test_something_else_answers(
    other_server: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is asked what it is, in a limited time, and no client of Dask's is given it."""
    limits: list[float] = []
    wait_for = asyncio.wait_for

    async def limited(asked: Any, timeout: float) -> Any:
        limits.append(timeout)
        return await wait_for(asked, timeout)

    monkeypatch.setattr(dask_address.asyncio, "wait_for", limited)
    monkeypatch.setattr("distributed.Client", lambda *_, **__: pytest.fail("a client was made"))
    with pytest.raises(SpecError) as refused, Dask(other_server, connect_s=1.0):
        pass
    assert refused.value.path == "--cluster"
    assert refused.value.value == other_server
    assert "no Dask scheduler answers there" in str(refused.value.reason)
    assert "\n" not in str(refused.value.reason)
    assert 1.0 in limits
    assert not caplog.records


def test_a_worker_is_no_scheduler(two: Cluster) -> None:
    """It speaks Dask's protocol."""
    with Dask(two.address) as executor:
        assert executor._client is not None
        executor._client.wait_for_workers(1)
        worker = next(iter(executor._client.nthreads()))
    with pytest.raises(SpecError, match="--cluster") as refused, Dask(worker, connect_s=10.0):
        pass
    assert "it says that it is Worker" in str(refused.value.reason)


def test_a_wish_to_stop_is_heard_and_no_worker_goes_on(two: Cluster) -> None:
    stop, found = threading.Event(), []
    with Dask(two.address) as executor:
        for each in executor.run([*tasks(1), endless(1), endless(2)], cancel=stop):
            found.append(each.index)
            stop.set()
        assert found == [0]
        # Both workers are free again: else this would wait for hours.
        asked = time.monotonic()
        assert len(done(executor, tasks(8))) == 8
        assert time.monotonic() - asked < PATIENCE_S


def test_the_kernel_is_not_on_a_cluster(two: Cluster) -> None:
    task = tasks(1)[0]
    with Dask(two.address) as executor, pytest.raises(SpecError, match="workers hold no kernel"):
        executor.check(type(task)(task.description, 0, "kernel"))


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *how: Any) -> Any:
        if name == "distributed":
            raise ImportError(name)
        return real(name, *how)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'dumbbell\[cluster\]'") as missing:
        Dask()
    assert missing.value.exit_code == 2


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[int]]:
    """What this test has started and is alive; other tests have workers of Dask, too."""
    monkeypatch.setenv(MARK, uuid.uuid4().hex)
    mark = f"{MARK}={os.environ[MARK]}".encode()

    def alive() -> set[int]:
        found = set()
        for each in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in each.read_bytes().split(b"\0"):
                    found.add(int(each.parent.name))
            except OSError:
                continue
        return found

    return alive


def _end(started: Callable[[], set[int]]) -> None:
    wait_until(lambda: not started(), "their end")


def test_processes_of_this_machine_end_with_the_context(
    started: Callable[[], set[int]],
) -> None:
    with Dask(jobs=2) as executor:
        assert_same(done(executor, tasks(6)), done(Threads(2), tasks(6)))
        wait_until(lambda: len(started()) >= 4, "workers, and a nanny of each")
    _end(started)


SCRIPT = """
from executing_tasks import endless, tasks
from dumbbell.compare.executing.dask import Dask

# No ``if __name__ == "__main__"``: none is needed.
with Dask(jobs=2) as executor:
    for each in executor.run([*tasks(1), endless(1), endless(2)]):
        print(each.index, flush=True)
"""


def test_a_script_that_is_killed_leaves_no_worker_behind(
    tmp_path: Path, started: Callable[[], set[int]]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, str(script)],
        text=True,
        stdout=subprocess.PIPE,
        env={"PYTHONPATH": str(Path(__file__).parent), MARK: os.environ[MARK]},
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "0\n"
        assert len(started()) > 1
        process.kill()
    _end(started)


def test_tables_come_back_where_they_are_asked_for(two: Cluster, tmp_path: Path) -> None:
    wanted = tasks(3)
    with Dask(two.address, with_tables=True) as executor:
        found = {each.index: each for each in executor.run(wanted)}
        stored = Stored(executor, Store(tmp_path), keep_tables=True)
        assert len(list(stored.run(wanted))) == 3
        assert all(stored.there(wanted))
    for each in Threads().run(wanted):
        there = found[each.index]
        assert isinstance(each, FinishedTask) and isinstance(there, FinishedTask)
        assert each.run is not None and there.run is not None
        kept = kept_run(Store(tmp_path), wanted[each.index])
        assert kept is not None
        for run in (there.run, kept):
            assert (run.spec, run.meta) == (each.run.spec, each.run.meta)
            assert run.tables.keys() == each.run.tables.keys()
            for name, columns in each.run.tables.items():
                for column, values in columns.items():
                    other = run.tables[name][column]
                    assert (other.dtype, other.tobytes()) == (values.dtype, values.tobytes())


def test_tables_that_are_not_sent_back_are_no_kept_tables(two: Cluster, tmp_path: Path) -> None:
    with Dask(two.address) as executor:
        stored = Stored(executor, Store(tmp_path), keep_tables=True)
        with pytest.raises(SpecError, match="gives tables back"):
            list(stored.run(tasks(1)))


def test_tables_that_are_too_large_or_none_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    (task,) = tasks(1)
    (each,) = Threads().run([task])
    assert isinstance(each, FinishedTask) and each.run is not None
    message: Any = json.loads(json.dumps(Sender().message(each)))
    queues = message["run"]["tables"]["queues"]
    for name, wrong in (("queue", "!"), ("queue", "AAAA"), ("queue", queues["sojourn_mean_s"])):
        broken = {**message["run"], "tables": {"queues": {**queues, name: wrong}}}
        with pytest.raises(RunError, match="tables that are none"):
            Receiver().outcome({**message, "run": broken}, [task])
    with pytest.raises(RunError, match="tables that are none"):
        Receiver().outcome({**message, "run": {**broken, "tables": {"quues": {}}}}, [task])
    monkeypatch.setattr(tables_on_wire, "LARGEST_BYTES", 1000)
    failed = Receiver().outcome(Sender().message(each))
    assert isinstance(failed, FailedTask) and "leave --keep-tables" in str(failed.error)


def test_outcomes_are_plain(two: Cluster) -> None:
    """Numbers and names only: no tables, no objects of somebody's making."""
    with Dask(two.address) as executor:
        found = list(executor.run(tasks(2)))
    assert all(not isinstance(each, FailedTask) and each.run is None for each in found)
    assert not isinstance(found[0], RunError)
