"""What is added to a store is there, once, to the byte, whoever else writes it."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from store_samples import LAYOUT, LINE, OTHER, content, key_of, small_run, values_of

from dumbbell.errors import SpecError
from dumbbell.store import Shard, Store, StoreError
from waiting import wait_until


def filled(folder: Path, *numbers: int, shard: Shard | None = None) -> Store:
    store = Store(folder, shard)
    with store.writer() as writer:
        for number in numbers:
            writer.add(content(number))
            writer.ask(key_of(number), LINE)
    return store


def test_what_was_added_is_there_to_the_byte(tmp_path: Path) -> None:
    store = filled(tmp_path / "deep" / "store", *range(20))
    with store.reader() as reader:
        for number in range(20):
            found = reader.numbers(key_of(number))
            assert found is not None and found.layout == LAYOUT
            assert found.values.tobytes() == values_of(number).tobytes()
            assert key_of(number) in reader
        assert reader.numbers(key_of(99)) is None
        listed = [*reader.listed()]
    assert [(each.replication, each.cell) for each in listed] == [(n, LINE) for n in range(20)]
    assert [path.name for path in store.folder.iterdir()] == ["runs.sqlite"]


def test_a_run_is_kept_once_and_may_be_of_several_cells(tmp_path: Path) -> None:
    store = filled(tmp_path, 1)
    with store.writer() as writer:
        writer.add(content(1, layout='["something else"]'))
        writer.ask(key_of(1), LINE)
        writer.ask(key_of(1), OTHER)
    with store.reader() as reader:
        found = reader.numbers(key_of(1))
        assert found is not None and found.layout == LAYOUT
        assert [each.cell for each in reader.listed()] == [LINE, OTHER]
        assert reader.is_asked(key_of(1), OTHER) and not reader.is_asked(key_of(2), OTHER)


def test_numbers_of_replications_may_be_as_large_as_they_get(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writer() as writer:
        for number in (2**63 - 1, 2**63, 2**64 - 1):
            writer.add(replace(content(number % 1000), replication=number))
            writer.ask(key_of(number % 1000), LINE)
    with store.reader() as reader:
        found = [each.replication for each in reader.listed()]
    assert found == [2**63 - 1, 2**63, 2**64 - 1]


def test_a_run_is_committed_without_another_one_to_follow_and_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill costs less than a second of results: half of it is for the commit itself."""
    store, waits_s = Store(tmp_path), []
    wait_for = threading.Condition.wait_for

    def noted(self: Any, condition: Any, timeout: float | None = None) -> bool:
        waits_s.append(timeout)
        return wait_for(self, condition, timeout)

    monkeypatch.setattr(threading.Condition, "wait_for", noted)

    def is_there() -> bool:
        with store.reader() as reader:
            return key_of(1) in reader

    with store.writer() as writer:
        writer.add(content(1))
        wait_until(is_there, "it waited for the next one")
    assert waits_s
    assert all(each is not None and each <= 0.5 for each in waits_s)


def test_several_write_one_store(tmp_path: Path) -> None:
    def write(first: int) -> None:
        filled(tmp_path / "store", *range(first, first + 300))

    threads = [threading.Thread(target=write, args=(100 * each,)) for each in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    with Store(tmp_path / "store").reader() as reader:
        assert len([*reader.listed()]) == 600
        for number in range(600):
            found = reader.numbers(key_of(number))
            assert found is not None
            assert np.array_equal(found.values, values_of(number), equal_nan=True)


def test_shards_are_merged_on_reading(tmp_path: Path) -> None:
    filled(tmp_path, 0)
    for number in (1, 2, 3):
        filled(tmp_path, number, 10, shard=Shard(number, 3))
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"runs.sqlite", *(f"shard-{n}-of-3.sqlite" for n in (1, 2, 3))}
    with sqlite3.connect(tmp_path / "shard-1-of-3.sqlite") as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with Store(tmp_path).reader() as reader:
        assert [each.replication for each in reader.listed()] == [0, 1, 2, 3, 10]
        for number in (0, 1, 2, 3, 10):
            assert reader.numbers(key_of(number)) is not None
        assert key_of(11) not in reader


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "1/2/3", "-1/2", "1/99999", "a/b", ""])
def test_a_share_that_is_none(text: str) -> None:
    with pytest.raises(SpecError, match="2/8"):
        Shard.parse(text)


def test_each_place_is_of_one_share() -> None:
    shards = [Shard(number, 3) for number in (1, 2, 3)]
    for place in range(10):
        assert [each.has(place) for each in shards].count(True) == 1
    assert str(Shard.parse("2/8")) == "2/8"


def test_forgetting_takes_what_nobody_else_asked_for(tmp_path: Path) -> None:
    store = filled(tmp_path, 1, 2)
    filled(tmp_path, 3, shard=Shard(1, 2))
    with store.writer() as writer:
        writer.ask(key_of(2), OTHER)
    assert store.forget("nobody") == 0
    assert store.forget("line") == 2
    with store.reader() as reader:
        assert [(each.cell, each.replication) for each in reader.listed()] == [(OTHER, 2)]
        assert reader.numbers(key_of(2)) is not None
        assert key_of(1) not in reader and key_of(3) not in reader


def test_forgetting_gives_room_back(tmp_path: Path) -> None:
    store = filled(tmp_path, *range(3000))
    before = (tmp_path / "runs.sqlite").stat().st_size
    store.forget("line")
    assert (tmp_path / "runs.sqlite").stat().st_size < before / 4


def test_a_writer_notices_what_another_process_forgot(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.writer() as writer:
        writer.add(content(1))
        writer.ask(key_of(1), LINE)
        writer.flush()
        assert store.forget("line") == 1
        writer.add(content(2))
        writer.ask(key_of(2), LINE)
    with store.reader() as reader:
        assert [(each.cell, each.replication) for each in reader.listed()] == [(LINE, 2)]
        assert reader.numbers(key_of(2)) is not None


def test_tables_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    store, run = Store(tmp_path), small_run()
    with store.writer() as writer:
        writer.add(content(1, run=run))
        writer.add(content(2, run=run))
        writer.add(content(3))
        for number in (1, 2, 3):
            writer.ask(key_of(number), LINE if number == 1 else OTHER)
    with store.reader() as reader:
        assert reader.kept_tables(key_of(3)) is None
        kept = reader.kept_tables(key_of(2))
        assert kept is not None and kept.origin == "simulated"
        assert kept.meta["digest"] == run.meta["digest"]
        tables = reader.tables(key_of(2), kept)
        assert [*tables] == [*run.tables]
        for name, columns in run.tables.items():
            assert [*tables[name]] == [*columns]
            for column, values in columns.items():
                assert tables[name][column].dtype == values.dtype
                assert tables[name][column].tobytes() == values.tobytes()
    # What a reader of Parquet sees without dumbbell.
    import polars as pl

    seen = pl.read_parquet(tmp_path / "tables" / "queue_samples" / "*.parquet")
    assert set(seen["run_id"]) == {key_of(1).hex(), key_of(2).hex()}
    assert store.forget("line") == 1
    with store.reader() as reader:
        assert reader.kept_tables(key_of(1)) is None
        assert reader.tables(key_of(2), kept)["queue_samples"]["t_ns"].size
    store.forget("other")
    assert not [*(tmp_path / "tables").rglob("*.parquet")]


@pytest.mark.parametrize("left", ["", "-wal", "-journal"])
def test_what_is_not_a_store_is_refused_and_left_alone(tmp_path: Path, left: str) -> None:
    store = filled(tmp_path, *range(50))
    file = tmp_path / "runs.sqlite"
    if left:
        # A log that is of no account beside a whole database.
        file.with_name(file.name + left).write_bytes(b"no log" * 1000)
        with store.reader() as reader:
            assert key_of(1) in reader
        return
    whole = file.read_bytes()
    wrong = {
        "text": b"notes of mine" * 500,
        "cut": whole[: len(whole) // 2],
        "overwritten": whole[:5000] + b"\xa5" * (len(whole) - 5000),
    }
    for content_of_file in wrong.values():
        file.write_bytes(content_of_file)
        with pytest.raises(StoreError, match=r"runs\.sqlite.*--store"), store.reader() as reader:
            [*reader.listed()]
            for number in range(50):
                reader.numbers(key_of(number))
        assert file.read_bytes() == content_of_file


def changed(file: Path, sql: str) -> None:
    with sqlite3.connect(file) as database:
        database.executescript(sql)
    database.close()


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("PRAGMA user_version = 1", "version 1"),
        ("PRAGMA user_version = 3", "version 3"),
        ("PRAGMA application_id = 7", "another program"),
        ("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END", "table 't'"),
        ("CREATE VIEW v AS SELECT 1", "table 'v'"),
        ("DROP TABLE asked", "table 'asked'"),
        ("ALTER TABLE cells ADD COLUMN more", "table 'cells'"),
    ],
)
def test_a_database_of_another_shape_is_refused(tmp_path: Path, sql: str, said: str) -> None:
    store = filled(tmp_path, 1)
    file = tmp_path / "runs.sqlite"
    changed(file, sql)
    before = file.read_bytes()
    for use in (store.reader, store.writer):
        with pytest.raises(StoreError, match=said):
            use()
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE runs SET numbers = x'00'",
        "UPDATE runs SET numbers = 'text'",
        "UPDATE runs SET layout = 99",
        "UPDATE layouts SET text = x'ff'",
        "UPDATE runs SET backend = x'00'",
        "UPDATE runs SET version = 99",
        "UPDATE cells SET settings = '[1'",
        "UPDATE cells SET settings = '{\"a\": 1}'",
        "UPDATE cells SET settings = replace(printf('%100000c', ' '), ' ', '[')",
        "UPDATE asked SET cell = 99",
    ],
)
def test_values_that_are_not_as_they_should_be(tmp_path: Path, sql: str) -> None:
    store = filled(tmp_path, 1)
    changed(tmp_path / "runs.sqlite", sql)
    with pytest.raises(StoreError), store.reader() as reader:
        reader.numbers(key_of(1))
        [*reader.listed()]


def test_a_segment_is_looked_for_in_its_folder_only(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.writer() as writer:
        writer.add(content(1, run=small_run()))
    with store.reader() as reader:
        kept = reader.kept_tables(key_of(1))
        assert kept is not None
        kept = replace(kept, segment="../../../x")
        with pytest.raises(StoreError, match="segment"):
            reader.tables(key_of(1), kept)


def test_a_store_that_is_not_there_has_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    with store.reader() as reader:
        assert key_of(1) not in reader
        assert not [*reader.listed()]
    assert not [*tmp_path.iterdir()]


def test_a_file_where_a_store_should_be(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("mine")
    for use in (Store(tmp_path / "store").reader, Store(tmp_path / "store").writer):
        with pytest.raises(StoreError):
            use()
    assert (tmp_path / "store").read_text() == "mine"


def test_a_copy_of_a_store_is_a_store(tmp_path: Path) -> None:
    filled(tmp_path / "store", 1)
    shutil.copytree(tmp_path / "store", tmp_path / "copy")
    with Store(tmp_path / "copy").reader() as reader:
        assert key_of(1) in reader
