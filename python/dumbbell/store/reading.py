"""Reading all files of a store: its own and those of shards."""

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
        key: Key for `Reader.numbers`.
        cell: The request; a run of several cells is listed for each.
        backend: Its backend.
        replication: Its replication.
        version: See `Content`.
        finished_unix_s: Time at which it finished.
    """

    key: Digest
    cell: CellName
    backend: str
    replication: int
    version: str
    finished_unix_s: int


class Reader:
    """Reads results. Use it as a context manager; concurrent additions may or may not be visible.

    All returned results have passed the check of their digest.
    """

    def __init__(self, files: Sequence[Path], segments: Segments) -> None:
        """Open the files.

        Raises:
            StoreError: A file is not a store.
        """
        self._segments = segments
        self._stack = contextlib.ExitStack()
        self._files: list[Rows] = []
        with contextlib.ExitStack() as opening:
            for path in files:
                database = opening.enter_context(contextlib.closing(open_to_read(path)))
                self._files.append(Rows(path, database))
            self._stack = opening.pop_all()
        # Avoids a query of each of a hundred shards.
        self._places = self._all_keys() if len(self._files) > 1 else None

    def __enter__(self) -> Reader:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files."""
        self._stack.close()

    def __contains__(self, key: Digest) -> bool:
        """Whether an undamaged run exists."""
        try:
            return self.numbers(key) is not None
        except DamagedRunError:
            return False

    def check_structure(self) -> None:
        """Check that no file has lost or duplicated rows.

        Raises:
            StoreError: A file has.
        """
        for file in self._files:
            check_structure(file.database, file.path)

    def numbers(self, key: Digest) -> Numbers | None:
        """The numbers of a run, or None.

        Raises:
            DamagedRunError: Their digest is wrong, and no other file has them.
            StoreError: A file is invalid.
        """
        found = _first(self._files_with(key), lambda file: file.run(key))
        return None if found is None else found.numbers

    def is_asked(self, key: Digest, cell: CellName) -> bool:
        """Whether a run was requested for that cell."""
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
        """Location of a run's tables; None if they were not stored.

        Raises:
            DamagedRunError: The digest is wrong, and no other file of the store has it.
            StoreError: A file is not as it should be.
        """
        return _first(self._files, lambda file: file.kept_tables(key))

    def tables(self, key: Digest, kept: KeptTables) -> dict[str, Table]:
        """The tables of a run.

        Raises:
            DamagedRunError: They are missing, or their digest is wrong.
            StoreError: Their format is invalid.
        """
        return self._segments.read(kept, key)

    def listed(self) -> Iterator[ListedRun]:
        """All runs, once per cell, sorted by experiment, settings, backend, replication.

        Raises:
            DamagedRunError: A digest is wrong.
            StoreError: The store is invalid, and may have lost runs.
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
        """Experiments of each run, including damaged runs, so that they can be removed.

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
        # Its repetition may be in another file.
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
        """Files to search for a run, starting with its known file."""
        if self._places is None:
            yield from self._files
        elif key in self._places:
            yield self._places[key]
            yield from self._files


def _first(files: Iterable[Rows], found_in: Callable[[Rows], _Found | None]) -> _Found | None:
    """The result of the first file with an undamaged one."""
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
