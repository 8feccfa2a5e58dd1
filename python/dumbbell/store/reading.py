"""Reading the files of a store as one: its own, and those of shards."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dumbbell.store.content import CellName, Digest, KeptTables, Numbers
from dumbbell.store.database import check_structure, open_to_read
from dumbbell.store.digests import asked_digest
from dumbbell.store.errors import DamagedRunError, named_errors
from dumbbell.store.rows import Rows
from dumbbell.store.segments import Segments
from dumbbell.tables import Table

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A requested run, without its numbers.

    Attributes:
        key: By which `Reader.numbers` has them.
        cell: What was asked for; a run that is of several cells is listed for each.
        backend: Where it ran.
        replication: Its number.
        version: As of `Content`.
        finished_unix_s: When that was.
    """

    key: Digest
    cell: CellName
    backend: str
    replication: int
    version: str
    finished_unix_s: int


class Reader:
    """Looks results up. Use it as a context; what others add meanwhile may be seen or not.

    Whatever it gives is as it was kept: it has the digest that was kept with it.
    """

    def __init__(self, files: Sequence[Path], segments: Segments) -> None:
        """Open the files.

        Raises:
            StoreError: One of them is no store.
        """
        self._segments = segments
        self._stack = contextlib.ExitStack()
        self._files: list[Rows] = []
        with contextlib.ExitStack() as opening:
            for path in files:
                database = opening.enter_context(contextlib.closing(open_to_read(path)))
                self._files.append(Rows(path, database))
            self._stack = opening.pop_all()
        # A hundred shards are not asked one by one.
        self._places = self._all_keys() if len(self._files) > 1 else None

    def __enter__(self) -> Reader:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    def __contains__(self, key: Digest) -> bool:
        """Whether a run is there, undamaged."""
        try:
            return self.numbers(key) is not None
        except DamagedRunError:
            return False

    def check_structure(self) -> None:
        """That no file has lost rows or has them twice.

        Raises:
            StoreError: One has.
        """
        for file in self._files:
            check_structure(file.database, file.path)

    def numbers(self, key: Digest) -> Numbers | None:
        """The numbers of a run; None where it is not there.

        Raises:
            DamagedRunError: They are not as they were kept, and no other file has them.
            StoreError: A file is not as it should be.
        """
        found = _first(self._files_with(key), lambda file: file.run(key))
        return None if found is None else found.numbers

    def is_asked(self, key: Digest, cell: CellName) -> bool:
        """Whether a run was requested under that name."""
        settings = json.dumps(dict(cell.settings), ensure_ascii=False)
        names = cell.experiment, settings, int(cell.is_ensemble)
        digest = asked_digest(key, *names)
        for file in self._files:
            with named_errors(file.path):
                if file.database.execute(
                    "SELECT 1 FROM asked JOIN cells ON cells.id = asked.cell WHERE key = ? "
                    "AND experiment = ? AND settings = ? AND is_ensemble = ? AND digest = ?",
                    (key, *names, digest),
                ).fetchone():
                    return True
        return False

    def kept_tables(self, key: Digest) -> KeptTables | None:
        """What is known of a run's tables; None where they were not kept.

        Raises:
            DamagedRunError: It is not as it was kept, and no other file of the store has it.
            StoreError: A file is not as it should be.
        """
        return _first(self._files, lambda file: file.kept_tables(key))

    def tables(self, key: Digest, kept: KeptTables) -> dict[str, Table]:
        """The tables of a run.

        Raises:
            DamagedRunError: They are not there, or not as they were kept.
            StoreError: They are not as they should be.
        """
        return self._segments.read(kept, key)

    def listed(self) -> Iterator[ListedRun]:
        """All runs, each for every cell it is of: by experiment, settings, backend, replication.

        Raises:
            DamagedRunError: One is not as it was kept.
            StoreError: The store is not as it should be, and may have lost some.
        """
        self.check_structure()
        runs = self._runs()
        found = {
            ListedRun(key, cell, *runs[key])
            for file in self._files
            for key, cell in file.asked()
            if key in runs
        }
        yield from sorted(
            found,
            key=lambda x: (x.cell, x.backend, x.replication, x.key),
        )

    def experiments(self) -> dict[Digest, set[str]]:
        """Names that each run was asked for under, also of damaged runs, which may be forgotten.

        Raises:
            StoreError: A file is not as it should be.
        """
        there: set[Digest] = set()
        names: dict[Digest, set[str]] = {}
        for file in self._files:
            with named_errors(file.path):
                there.update(key for (key,) in file.database.execute("SELECT key FROM runs"))
                for key, name in file.database.execute(
                    "SELECT key, experiment FROM asked JOIN cells ON cells.id = asked.cell"
                ):
                    names.setdefault(key, set()).add(str(name))
        return {key: each for key, each in names.items() if key in there}

    def _runs(self) -> dict[Digest, tuple[str, int, str, int]]:
        runs: dict[Digest, tuple[str, int, str, int]] = {}
        damaged: dict[Digest, DamagedRunError] = {}
        for file in self._files:
            for key, row in file.runs():
                if isinstance(row, DamagedRunError):
                    damaged.setdefault(key, row)
                else:
                    about = row.backend, row.replication, row.version, row.finished_unix_s
                    runs.setdefault(key, about)
        # Made again, it may be in another file.
        for key, error in damaged.items():
            if key not in runs:
                raise error
        return runs

    def _all_keys(self) -> dict[Digest, Rows]:
        places: dict[Digest, Rows] = {}
        for file in self._files:
            with named_errors(file.path):
                for (key,) in file.database.execute("SELECT key FROM runs"):
                    places.setdefault(key, file)
        return places

    def _files_with(self, key: Digest) -> Iterator[Rows]:
        """Where to look for a run: first where it is known to be."""
        if self._places is None:
            yield from self._files
        elif key in self._places:
            yield self._places[key]
            yield from self._files


def _first(files: Iterable[Rows], found_in: Callable[[Rows], _Found | None]) -> _Found | None:
    """What the first file has that has it undamaged."""
    damaged: DamagedRunError | None = None
    for file in files:
        try:
            found = found_in(file)
        except DamagedRunError as error:
            damaged = damaged or error
        else:
            if found is not None:
                return found
    if damaged is not None:
        raise damaged
    return None
