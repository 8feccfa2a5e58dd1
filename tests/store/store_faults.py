"""A program: a store is written while the disk fails."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from store_samples import LINE, OTHER, content, key_of, small_run, values_of  # noqa: E402

from dumbbell.store import Shard, Store, StoreError  # noqa: E402
from faults import each_fault  # noqa: E402

NEW = range(3, 5)
WITH_TABLES = 13
RUN = small_run()


def add(store: Store, numbers: Sequence[int]) -> None:
    with store.writer(commit_after_s=0.0) as writer:
        for number in numbers:
            writer.add(content(number, run=RUN if number == WITH_TABLES else None), LINE)


def there(store: Store) -> set[int]:
    """Numbers of the runs that are there, each whole and listed."""
    with store.reader() as reader:
        listed = {each.replication for each in reader.listed()}
        for number in listed:
            found = reader.numbers(key_of(number))
            assert found is not None
            assert found.values.tobytes() == values_of(number).tobytes()
            kept = reader.kept_tables(key_of(number))
            assert (kept is not None) == (number == WITH_TABLES)
            if kept is not None:
                tables = reader.tables(key_of(number), kept)
                for name, table in RUN.tables.items():
                    for column, values in table.items():
                        assert tables[name][column].tobytes() == values.tobytes()
    return listed


def adding(folder: Path, shard: Shard | None, before: Sequence[int], new: Sequence[int]) -> int:
    def store(place: Path) -> Store:
        return Store(place / "store", shard)

    def begin(place: Path) -> None:
        if before:
            add(store(place), before)

    def check(place: Path, succeeded: bool) -> None:
        found = there(store(place))
        assert found >= set(before)
        if succeeded:
            assert found == {*before, *new}
        # In their order: none is there whose predecessor was lost.
        assert found - set(before) == set(new[: len(found) - len(before)])
        add(store(place), new)
        assert there(store(place)) == {*before, *new}
        name = "runs.sqlite" if shard is None else shard.file
        left = {each.name for each in (place / "store").iterdir()}
        assert left == {name} | ({"tables"} if WITH_TABLES in new else set())

    def work(place: Path) -> None:
        add(store(place), new)

    return each_fault(folder, begin, work, check, (StoreError, OSError))


def forgetting(folder: Path) -> int:
    def begin(place: Path) -> None:
        store = Store(place / "store")
        add(store, range(4))
        with store.writer() as writer:
            writer.ask(key_of(1), OTHER)

    def check(place: Path, succeeded: bool) -> None:
        store = Store(place / "store")
        found = there(store)
        assert found == {1} if succeeded else found in ({1}, set(range(4)))
        store.forget("line")
        assert there(store) == {1}

    def work(place: Path) -> None:
        Store(place / "store").forget("line")

    return each_fault(folder, begin, work, check, (StoreError, OSError))


KINDS = {
    "new": lambda folder: adding(folder, None, (), NEW),
    "shard": lambda folder: adding(folder, Shard(1, 2), (), NEW),
    "tables": lambda folder: adding(folder, None, (1, 2), (WITH_TABLES,)),
    "forget": forgetting,
}

if __name__ == "__main__":
    faults = KINDS[sys.argv[2]](Path(sys.argv[1]))
    print(faults, "faults")
    assert faults > 40
