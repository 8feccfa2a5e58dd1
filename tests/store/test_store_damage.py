"""A store whose bits or pages were changed gives no other number, and no fewer runs in silence.

What is damaged is refused with a sentence, or found to be missing and kept again.
"""

from __future__ import annotations

import contextlib
import functools
import random
import shutil
import sqlite3
from collections.abc import Callable
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from store_samples import LINE, OTHER, key_of, small_run

from dumbbell.store import CellName, Content, DamagedRunError, Numbers, Shard, Store, StoreError
from dumbbell.tables import Run

RUNS = 60
WITH_TABLES = (0, 20, 40)
PAGE_BYTES = 4096
LAYOUTS = [f'["{"long " * 1200}{each}"]' for each in range(2)]
"""Longer than a page, so that there are pages that hold nothing but text."""

Damage = Callable[[bytearray, random.Random], None]


@functools.cache
def run_with_tables() -> Run:
    return small_run()


def made(number: int) -> Content:
    values = np.random.default_rng(number).normal(size=40)
    numbers = Numbers(LAYOUTS[number % 2], values)
    version = f'{{"dumbbell": "{number % 3}"}}'
    run = run_with_tables() if number in WITH_TABLES else None
    return Content(key_of(number), "sim", number, version, numbers, run)


def cells_of(number: int) -> list[CellName]:
    return [LINE, OTHER] if number % 10 == 0 else [LINE]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with runs, some of them of two cells or with tables, and with pages of no use."""
    folder = tmp_path_factory.mktemp("store") / "whole"
    with Store(folder).writer() as writer:
        for number in range(RUNS):
            writer.add(made(number), *cells_of(number))
    with Store(folder).writer() as writer:
        for number in range(1001, 1030):
            writer.add(made(number), CellName("forgotten"))
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as database:
        # As `forget` does it while another process writes: pages stay, with what was in them.
        database.executescript(
            "DELETE FROM runs WHERE replication > 1000; "
            "DELETE FROM asked WHERE cell = (SELECT id FROM cells WHERE experiment = 'forgotten');"
            "DELETE FROM cells WHERE experiment = 'forgotten'"
        )
        assert database.execute("PRAGMA freelist_count").fetchone()[0] > 0
    return folder


def one_bit(content: bytearray, draws: random.Random) -> None:
    place = draws.randrange(len(content))
    content[place] ^= 1 << draws.randrange(8)


def one_bit_of_a_header(content: bytearray, draws: random.Random) -> None:
    """Of a page or of the file: where SQLite's own structures are."""
    page = draws.randrange(len(content) // PAGE_BYTES)
    content[page * PAGE_BYTES + draws.randrange(112)] ^= 1 << draws.randrange(8)


def two_pages(content: bytearray, draws: random.Random) -> None:
    pages = len(content) // PAGE_BYTES
    one, other = (
        slice(n * PAGE_BYTES, (n + 1) * PAGE_BYTES) for n in draws.sample(range(pages), 2)
    )
    content[one], content[other] = content[other], content[one]


def lost_page(content: bytearray, draws: random.Random) -> None:
    page = draws.randrange(len(content) // PAGE_BYTES)
    content[page * PAGE_BYTES : (page + 1) * PAGE_BYTES] = bytes(PAGE_BYTES)


def wanted_list() -> list[tuple[CellName, int, bytes]]:
    pairs = [(cell, number, key_of(number)) for number in range(RUNS) for cell in cells_of(number)]
    return sorted(pairs)


def is_listed(store: Store) -> bool:
    """Whether it lists all runs; if not it refuses to."""
    try:
        with store.reader() as reader:
            found = [(each.cell, each.replication, each.key) for each in reader.listed()]
    except StoreError:
        return False
    assert found == wanted_list()
    return True


def missing(store: Store) -> list[int]:
    """Runs that it does not have, undamaged; those that it gives are as they were kept."""
    lost = []
    with store.reader() as reader:
        for number in range(RUNS):
            key = key_of(number)
            try:
                found = reader.numbers(key)
                kept = reader.kept_tables(key)
                tables = None if kept is None else reader.tables(key, kept)
            except DamagedRunError as error:
                assert "damaged run" in str(error)
                found = None
            if found is None:
                lost.append(number)
                continue
            right = made(number).numbers
            assert found.values.tobytes() == right.values.tobytes()
            assert found.layout == right.layout
            if tables is not None:
                for name, table in run_with_tables().tables.items():
                    for column, values in table.items():
                        assert tables[name][column].tobytes() == values.tobytes()
    return lost


class Outcome(Enum):
    REFUSED = "with a sentence"
    NOT_LISTED = "all numbers are there, or were made again; lists are refused"
    MENDED = "what was missing was made again"
    NO_ACCOUNT = "nothing was missing"


def survives(whole: Path, folder: Path, damage: Damage, seed: int) -> Outcome:
    """Damage a copy and use it; what became of it."""
    shutil.copytree(whole, folder)
    file = folder / "runs.sqlite"
    content = bytearray(file.read_bytes())
    damage(content, random.Random(seed))
    file.write_bytes(content)
    store = Store(folder)
    is_listed(store)
    try:
        lost = missing(store)
        # As a command does it that needs all of these runs.
        with store.writer() as writer:
            for number in lost:
                writer.add(made(number), *cells_of(number))
        still_lost = missing(store)
    except StoreError:
        return Outcome.REFUSED
    assert not still_lost
    if not is_listed(store):
        return Outcome.NOT_LISTED
    return Outcome.MENDED if lost else Outcome.NO_ACCOUNT


EACH = [one_bit, one_bit_of_a_header, two_pages, lost_page]
SEEDS_THAT_DID_HARM = {one_bit: [31]}
"""Among them an error of SQLite whose own text is no UTF-8."""


@pytest.mark.parametrize("damage", EACH)
def test_no_damage_gives_another_number(whole: Path, tmp_path: Path, damage: Damage) -> None:
    for seed in (*range(6), *SEEDS_THAT_DID_HARM.get(damage, ())):
        survives(whole, tmp_path / str(seed), damage, seed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("damage", "times"),
    [(one_bit, 200), (one_bit_of_a_header, 200), (two_pages, 50), (lost_page, 35)],
)
def test_no_damage_of_many_gives_another_number(
    whole: Path, tmp_path: Path, damage: Damage, times: int
) -> None:
    outcomes = set()
    for seed in range(times):
        outcomes.add(survives(whole, tmp_path / str(seed), damage, seed))
        shutil.rmtree(tmp_path / str(seed))
    assert {Outcome.REFUSED, Outcome.MENDED} <= outcomes


def test_a_number_that_was_changed_is_named_and_kept_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    file = folder / "runs.sqlite"
    content = file.read_bytes()
    number = made(7).numbers.values[3:4].tobytes()
    assert content.count(number) == 1
    changed = bytes([number[0], number[1] ^ 4, *number[2:]])
    file.write_bytes(content.replace(number, changed))
    store = Store(folder)
    name = key_of(7).hex()[:16]
    with store.reader() as reader:
        assert key_of(7) not in reader and key_of(8) in reader
        with pytest.raises(DamagedRunError, match=f"a damaged run {name}.*another digest"):
            reader.numbers(key_of(7))
        with pytest.raises(DamagedRunError, match=name):
            [*reader.listed()]
    with store.writer() as writer:
        writer.add(made(7), *cells_of(7))
    assert not missing(store) and is_listed(store)


def test_a_damaged_run_may_be_in_another_file_of_the_store(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as database:
        database.executescript("UPDATE runs SET numbers = zeroblob(320) WHERE replication = 7")
    with Store(folder, Shard(1, 2)).writer() as writer:
        writer.add(made(7), *cells_of(7))
    assert not missing(Store(folder)) and is_listed(Store(folder))


def test_a_damaged_run_can_be_forgotten(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as database:
        database.executescript("UPDATE runs SET numbers = zeroblob(320) WHERE replication = 10")
    store = Store(folder)
    assert not is_listed(store)
    # Those of the other name stay.
    assert (store.forget("other"), store.forget("line")) == (0, RUNS)
    with store.reader() as reader:
        assert not [*reader.listed()]


def test_tables_that_were_changed_are_no_tables(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    for seed, file in enumerate(sorted(whole.glob("tables/*/*.parquet"))):
        shutil.copytree(whole, folder)
        content = bytearray(file.read_bytes())
        one_bit(content, random.Random(seed))
        (folder / file.relative_to(whole)).write_bytes(content)
        store = Store(folder)
        lost = missing(store)
        assert lost and set(lost) <= set(WITH_TABLES)
        with store.writer() as writer:
            for number in lost:
                writer.add(made(number), *cells_of(number))
        assert not missing(store) and is_listed(store)
        shutil.rmtree(folder)
