"""Stored runs are not repeated, and give the same bytes."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from storing_samples import QDISC, Noting, line_cells, name_of

from dumbbell.backends import Cancellation, simulate
from dumbbell.compare import Comparison, compare, replicating, summary_of
from dumbbell.compare.executing import (
    Executor,
    FailedTask,
    FinishedTask,
    ShareDone,
    Stored,
    Task,
    TellDone,
    Threads,
    cell_names,
    identity,
)
from dumbbell.compare.executing.stored import keep_run, kept_run
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, RunError
from dumbbell.store import CellName, DamagedRunWarning, Shard, Store, StoreError, Writer


def numbers(found: Comparison) -> dict[str, bytes]:
    """Everything that was measured, to the byte."""
    return {
        f"{arm.cell} {place}": summary.numbers.tobytes()
        + repr([each.path for each in summary.quantities]).encode()
        + repr(summary.groups).encode()
        for arm, replicates in found.results.items()
        for place, summary in enumerate(replicates.summaries)
    }


def test_nothing_is_done_twice_and_all_is_the_same(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    plain = compare(cells, replications=3)
    noting, store = Noting(tmp_path / "notes"), Store(tmp_path / "store")
    told: list[str] = []

    def stored(replications: int) -> Comparison:
        executor = Stored(noting, store, cells=cell_names(cells), tell=told.append)
        return compare(cells, replications=replications, executor=executor)

    first = stored(3)
    assert len(noting.notes("ended")) == 6 and not told
    noting.clear()
    again = stored(3)
    assert not noting.notes("asked")
    assert told == [f"6 of 6 runs are in {store.folder}: not repeated"]
    assert numbers(plain) == numbers(first) == numbers(again)
    counted: list[tuple[int, int]] = []
    compare(
        cells,
        replications=3,
        executor=Stored(
            noting,
            store,
            cells=cell_names(cells),
            tell=told.append,
            on_found=lambda found, of: counted.append((found, of)),
        ),
    )
    assert (counted, len(told)) == ([(6, 6)], 1)
    stored(4)
    assert sorted(name for _, name in noting.notes("asked")) == ["pfifo 3", "pie 3"]
    with store.reader() as reader:
        listed = [*reader.listed()]
    assert {each.cell.experiment for each in listed} == {"line"}
    assert [each.cell.by_path[QDISC] for each in listed] == ["pfifo"] * 4 + ["pie"] * 4
    version = json.loads(listed[0].version)
    assert version["code_sha256"] == identity.code_sha256() and "engine" in version


def damage(store: Store) -> None:
    """Change the numbers of one run, so that its digest is another one."""
    with closing(sqlite3.connect(store.folder / "runs.sqlite")) as database, database:
        row, numbers = database.execute("SELECT rowid, numbers FROM runs LIMIT 1").fetchone()
        changed = bytes([numbers[0] ^ 8]) + numbers[1:]
        database.execute("UPDATE runs SET numbers = ? WHERE rowid = ?", (changed, row))


def test_a_damaged_run_is_never_made_again_in_silence(
    tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    cells, store = line_cells(tmp_path, "pfifo"), Store(tmp_path / "store")
    executor = Stored(Threads(), store, cells=cell_names(cells))
    plain = compare(cells, replications=2, executor=executor)
    again = compare(cells, replications=2, executor=executor)
    assert numbers(again) == numbers(plain) and not recwarn

    damage(store)
    with pytest.warns(DamagedRunWarning, match=r"a damaged run .*it is made again"):
        repaired = compare(cells, replications=2, executor=executor)
    assert numbers(repaired) == numbers(plain)

    damage(store)
    told: list[str] = []
    executor = Stored(Threads(), store, cells=cell_names(cells), tell=told.append)
    compare(cells, replications=2, executor=executor)
    assert len(told) == 2 and "it is made again" in told[0]
    assert not recwarn


def test_a_damaged_single_run_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    (cell,) = line_cells(tmp_path)
    store, task = Store(tmp_path / "store"), Task(cell.experiment.resolved_json(), 0, "sim")
    run = simulate(cell.experiment)
    keep_run(store, task, (run, summary_of(run)), keep_tables=True, name=CellName("line"))
    assert kept_run(store, task) is not None
    file = next((store.folder / "tables").glob("*/*.parquet"))
    content = file.read_bytes()
    file.write_bytes(content[:8] + bytes([content[8] ^ 8]) + content[9:])
    with pytest.warns(DamagedRunWarning, match=r"a damaged run .*it is made again"):
        assert kept_run(store, task) is None


def test_one_run_of_two_cells_is_done_once(tmp_path: Path) -> None:
    (one,) = line_cells(tmp_path)
    cells = [one, replace(one, label="the same")]
    noting = Noting(tmp_path / "notes")
    executor = Stored(noting, Store(tmp_path / "store"), cells=cell_names(cells))
    found = compare(cells, replications=2, executor=executor)
    assert len(noting.notes("ended")) == 2
    assert all(each.measured.value == 0.0 for each in found.differences)
    assert found.results.keys() == compare(cells, replications=2).results.keys()


@pytest.mark.parametrize(
    "changes", [{"description": None}, {"replication": 8}, {"backend": "other"}]
)
def test_whatever_decides_a_result_is_in_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    monkeypatch.setattr(identity, "version_of", lambda task: "the same")
    (cell,) = line_cells(tmp_path)
    task = Task(cell.experiment.resolved_json(), 7, "sim", "x")
    if "description" in changes:
        changes = {"description": cell.experiment.with_seed(99).resolved_json()}
    keys = identity.Identities()
    assert keys.of(task)[0] == keys.of(replace(task, cell="y"))[0]
    assert keys.of(task)[0] != keys.of(replace(task, **changes))[0]  # type: ignore[arg-type]


def test_what_a_backend_runs_is_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Backend:
        def __init__(self, **versions: str) -> None:
            self._versions = versions

        def versions(self, spec: object) -> dict[str, str]:
            return self._versions

    (cell,) = line_cells(tmp_path)
    task = Task(cell.experiment.resolved_json(), 0, "kernel")

    def key(**versions: str) -> bytes:
        monkeypatch.setattr(identity, "get_backend", lambda name: Backend(**versions))
        return identity.Identities().of(task)[0]

    same = key(kernel_sha256="1", guest_sha256="2", guest_confined_by="landlock")
    assert same == key(kernel_sha256="1", guest_sha256="2", guest_confined_by="nothing")
    assert same != key(kernel_sha256="0", guest_sha256="2")
    assert same != key(kernel_sha256="1", guest_sha256="0")


def test_other_code_has_other_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = line_cells(tmp_path)
    task = Task(cell.experiment.resolved_json(), 0, "sim")
    before = identity.Identities().of(task)
    assert before == identity.Identities().of(task)
    monkeypatch.setattr(identity, "native_module_sha256", lambda: "0" * 64)
    identity.code_sha256.cache_clear()
    try:
        assert identity.Identities().of(task)[0] != before[0]
    finally:
        identity.code_sha256.cache_clear()


def test_tables_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    noting, store = Noting(tmp_path / "notes"), Store(tmp_path / "store")

    def stored(*, keep_tables: bool) -> Comparison:
        executor = Stored(
            noting, store, cells=cell_names(cells), tables_below=1, keep_tables=keep_tables
        )
        noting.clear()
        return compare(cells, replications=2, executor=executor, keep=1)

    stored(keep_tables=False)
    assert len(noting.notes("ended")) == 4
    # What a page shows of the packets is run again, nothing else.
    first = stored(keep_tables=False)
    assert sorted(name for _, name in noting.notes("ended")) == ["pfifo 0", "pie 0"]
    stored(keep_tables=True)
    assert len(noting.notes("ended")) == 4
    again = stored(keep_tables=True)
    assert not noting.notes("asked")
    for arm, replicates in first.results.items():
        (run,), (kept,) = replicates.kept, again.results[arm].kept
        assert kept.meta["digest"] == run.meta["digest"]
        assert kept.spec == run.spec and kept.queue_names == run.queue_names
        for table, columns in run.tables.items():
            for column, values in columns.items():
                assert kept.tables[table][column].tobytes() == values.tobytes()


class Failing:
    """Threads, of which one task is lost, as by a worker that was killed."""

    def __init__(self, lost: str) -> None:
        self._lost = lost
        self._threads = Threads()

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
            if name_of(tasks[each.index]) == self._lost:
                yield FailedTask(each.index, RunError("its worker was lost"))
            else:
                yield each


def test_what_a_lost_worker_had_is_done_again_alone(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    store = Store(tmp_path / "store")
    broken = compare(cells, replications=3, executor=Stored(Failing("pie 1"), store))
    assert [each.label for each in broken.failed] == ["pie"]
    noting = Noting(tmp_path / "notes")
    found = compare(cells, replications=3, executor=Stored(noting, store, resume=True))
    assert [name for _, name in noting.notes("ended")] == ["pie 1"]
    assert numbers(found) == numbers(compare(cells, replications=3))


def test_what_finished_before_it_was_stopped_is_kept(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    store, noting, stop = (
        Store(tmp_path / "store"),
        Noting(tmp_path / "notes", 1),
        threading.Event(),
    )
    executor = Stored(noting, store)
    tasks = [Task(cells[0].experiment.resolved_json(), n, "sim") for n in range(100)]
    for _ in executor.run(tasks, cancel=stop):
        stop.set()
    ended = len(noting.notes("ended"))
    assert 0 < ended < 100
    with store.reader() as reader:
        assert len([*reader.listed()]) == ended
    # Whoever looks away early loses nothing either.
    running = executor.run(tasks)
    for _ in range(ended + 5):
        next(running)
    running.close()
    with store.reader() as reader:
        assert len([*reader.listed()]) >= ended + 5


def test_there_is_nothing_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    store = Store(tmp_path / "store")

    def resumed(replications: int = 2) -> Comparison:
        executor = Stored(Threads(), store, cells=cell_names(cells), resume=True)
        return compare(cells, replications=replications, executor=executor)

    with pytest.raises(StoreError, match="no runs of this name"):
        resumed()
    assert not store.folder.exists()
    compare(cells, replications=2, executor=Stored(Threads(), store, cells=cell_names(cells)))
    resumed(3)
    cells = line_cells(tmp_path, "fq_codel")
    with pytest.raises(StoreError, match="of other values"):
        resumed()
    monkeypatch.setattr(identity, "version_of", lambda task: '{"dumbbell": "0.0.1"}')
    with pytest.raises(StoreError, match="of another version"):
        resumed()


def test_shards_together_are_the_whole(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie", "codel")
    folder = tmp_path / "shared"
    noting = Noting(tmp_path / "notes")

    def executor(shard: Shard | None) -> Executor:
        return Stored(noting, Store(folder, shard), cells=cell_names(cells))

    for number in (2, 1):
        with pytest.raises(ShareDone) as ended:
            compare(cells, replications=3, executor=executor(Shard(number, 3)))
        assert (ended.value.done, ended.value.of) == (3, 9)
        assert ended.value.exit_code == 0
    assert ended.value.there == 6
    # A share that was done is not done again, whoever else is ready.
    with pytest.raises(ShareDone) as ended:
        compare(cells, replications=3, executor=executor(Shard(1, 3)))
    assert ended.value.done == 0
    last = compare(cells, replications=3, executor=executor(Shard(3, 3)))
    assert len(noting.notes("ended")) == 9
    merged = compare(cells, replications=3, executor=executor(None))
    assert len(noting.notes("ended")) == 9
    whole = compare(cells, replications=3)
    assert numbers(whole) == numbers(merged) == numbers(last)
    assert not (folder / "runs.sqlite").exists()


def test_a_share_says_what_failed_in_it(tmp_path: Path) -> None:
    cells = line_cells(tmp_path, "pfifo", "pie")
    store = Store(tmp_path / "store", Shard(1, 2))
    with pytest.raises(ShareDone) as ended:
        compare(cells, replications=2, executor=Stored(Failing("pfifo 1"), store))
    ((task, error),) = ended.value.failed
    assert name_of(task) == "pfifo 1" and "lost" in str(error)
    assert (ended.value.done, ended.value.there) == (1, 1)
    assert ended.value.exit_code == EXIT_CONTRADICTED_OR_FAILED


def test_a_store_that_may_only_be_read_is_enough_where_nothing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is mounted so (the command line is tried on one)."""
    cells = line_cells(tmp_path, "pfifo", "pie")
    store = Store(tmp_path / "store")
    first = compare(cells, replications=2, executor=Stored(Threads(), store))

    def refused(self: Store) -> Writer:
        raise StoreError(str(self.folder), "read-only", "a store that may be written")

    monkeypatch.setattr(Store, "writer", refused)
    again = compare(cells, replications=2, executor=Stored(Threads(), store))
    assert numbers(first) == numbers(again)
    with pytest.raises(StoreError, match="may be written"):
        compare(cells, replications=3, executor=Stored(Threads(), store))


def test_a_shard_does_its_share_of_all_parts_of_many_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Thousands are given to an executor part by part.
    monkeypatch.setattr(replicating, "MOST_TASKS", 4)
    cells = line_cells(tmp_path, "pfifo", "pie")

    def of_shard(number: int) -> Comparison:
        executor = Stored(Threads(), Store(tmp_path / "store", Shard(number, 2)))
        return compare(cells, replications=6, executor=executor)

    with pytest.raises(ShareDone) as ended:
        of_shard(1)
    share = ended.value
    assert (share.done, share.there, share.of, share.failed) == (6, 6, 12, ())
    assert numbers(of_shard(2)) == numbers(compare(cells, replications=6))
