"""Reading the files of a store as one: its own, and those of shards."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.store.content import DIGEST_BYTES, CellName, Digest, KeptTables, Numbers
from dumbbell.store.database import open_to_read
from dumbbell.store.errors import corrupt, named_errors
from dumbbell.store.segments import Segments
from dumbbell.store.writing import unsigned
from dumbbell.tables import Table

_DOUBLE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Listed:
    """A run that somebody asked for, without its numbers.

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


@dataclass
class _File:
    """An open database, with what was read of it once."""

    path: Path
    database: sqlite3.Connection
    layouts: dict[int, str]


class Reader:
    """Looks results up. Use it as a context; what others add meanwhile may be seen or not."""

    def __init__(self, files: Sequence[Path], segments: Segments) -> None:
        """Open the files.

        Raises:
            StoreError: One of them is no store.
        """
        self._segments = segments
        self._stack = contextlib.ExitStack()
        self._files: list[_File] = []
        with contextlib.ExitStack() as opening:
            for path in files:
                database = opening.enter_context(contextlib.closing(open_to_read(path)))
                self._files.append(_File(path, database, {}))
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
        """Whether a run is there."""
        return self._row("SELECT 1 FROM runs WHERE key = ?", key) is not None

    def numbers(self, key: Digest) -> Numbers | None:
        """The numbers of a run; None where it is not there.

        Raises:
            StoreError: They are not as they should be.
        """
        found = self._row("SELECT layout, numbers FROM runs WHERE key = ?", key)
        if found is None:
            return None
        file, (layout, packed) = found
        if not isinstance(packed, bytes) or len(packed) % _DOUBLE_BYTES:
            raise corrupt(file.path, f"a run whose numbers are {str(packed)[:40]!r}")
        if layout not in file.layouts:
            sql = "SELECT text FROM layouts WHERE id = ?"
            with named_errors(file.path):
                row = file.database.execute(sql, (layout,)).fetchone()
            if row is None or not isinstance(row[0], str):
                raise corrupt(file.path, f"a run whose numbers are of layout {str(layout)[:40]!r}")
            file.layouts[layout] = row[0]
        return Numbers(file.layouts[layout], np.frombuffer(packed, dtype="<f8"))

    def is_asked(self, key: Digest, cell: CellName) -> bool:
        """Whether it is known that somebody asked for a run under that name."""
        settings = json.dumps(dict(cell.settings), ensure_ascii=False)
        for file in self._files:
            with named_errors(file.path):
                if file.database.execute(
                    "SELECT 1 FROM asked JOIN cells ON cells.id = asked.cell "
                    "WHERE key = ? AND experiment = ? AND settings = ? AND is_ensemble = ?",
                    (key, cell.experiment, settings, int(cell.is_ensemble)),
                ).fetchone():
                    return True
        return False

    def kept_tables(self, key: Digest) -> KeptTables | None:
        """What is known of a run's tables; None where they were not kept.

        Raises:
            StoreError: It is not as it should be.
        """
        for file in self._files:
            with named_errors(file.path):
                row = file.database.execute(
                    "SELECT segment, described FROM kept_tables WHERE key = ?", (key,)
                ).fetchone()
            if row is not None:
                return _kept(row, file.path)
        return None

    def tables(self, key: Digest, kept: KeptTables) -> dict[str, Table]:
        """The tables of a run.

        Raises:
            StoreError: They are not there, or not as they should be.
        """
        return self._segments.read(kept.segment, key, kept.tables)

    def listed(self) -> Iterator[Listed]:
        """All runs, each for every cell it is of: by experiment, settings, backend, replication.

        Raises:
            StoreError: The store is not as it should be.
        """
        runs = self._runs()
        found = {
            Listed(key, cell, *runs[key])
            for file in self._files
            for key, cell in _asked(file)
            if key in runs
        }
        yield from sorted(
            found,
            key=lambda x: (x.cell, x.backend, x.replication, x.key),
        )

    def _runs(self) -> dict[Digest, tuple[str, int, str, int]]:
        runs: dict[Digest, tuple[str, int, str, int]] = {}
        for file in self._files:
            with named_errors(file.path):
                for key, backend, replication, version, finished in file.database.execute(
                    "SELECT key, backend, replication, text, finished_unix_s "
                    "FROM runs LEFT JOIN versions ON versions.id = version"
                ):
                    types = (bytes, str, int, str, int)
                    row = (key, backend, replication, version, finished)
                    if any(type(x) is not t for x, t in zip(row, types, strict=True)):
                        raise corrupt(file.path, "a run with values of other types")
                    runs.setdefault(key, (backend, unsigned(replication), version, finished))
        return runs

    def _all_keys(self) -> dict[Digest, _File]:
        places: dict[Digest, _File] = {}
        for file in self._files:
            with named_errors(file.path):
                for (key,) in file.database.execute("SELECT key FROM runs"):
                    places.setdefault(key, file)
        return places

    def _row(self, sql: str, key: Digest) -> tuple[_File, Any] | None:
        files = self._files
        if self._places is not None:
            place = self._places.get(key)
            files = [] if place is None else [place]
        for file in files:
            with named_errors(file.path):
                row = file.database.execute(sql, (key,)).fetchone()
            if row is not None:
                return file, row
        return None


def _asked(file: _File) -> Iterator[tuple[Digest, CellName]]:
    with named_errors(file.path):
        rows = file.database.execute(
            "SELECT id, experiment, settings, is_ensemble FROM cells"
        ).fetchall()
    cells = {number: _cell(name, text, is_of, file.path) for number, name, text, is_of in rows}
    with named_errors(file.path):
        for key, number in file.database.execute("SELECT key, cell FROM asked"):
            if type(key) is not bytes or len(key) != DIGEST_BYTES or number not in cells:
                raise corrupt(file.path, "a run of a cell that is not there")
            yield key, cells[number]


def _cell(experiment: object, text: object, is_ensemble: object, path: Path) -> CellName:
    settings = _mapping(text, path, "a cell's settings")
    if not isinstance(experiment, str) or not all(isinstance(x, str) for x in settings.values()):
        raise corrupt(path, f"a cell {str(experiment)[:40]!r} whose settings are no texts")
    return CellName(experiment, tuple(settings.items()), bool(is_ensemble))


def _kept(row: tuple[object, object], path: Path) -> KeptTables:
    segment, text = row
    described = _mapping(text, path, "the description of a run's tables")
    origin, names = described.get("origin"), described.get("tables")
    meta, provenance = described.get("meta"), described.get("provenance")
    if not (
        isinstance(segment, str)
        and origin in ("simulated", "kernel")
        and isinstance(names, list)
        and all(isinstance(each, str) for each in names)
        and isinstance(meta, dict)
        and isinstance(provenance, dict)
    ):
        raise corrupt(path, "a description of a run's tables that is none")
    return KeptTables(segment, origin, tuple(names), meta, provenance)


def _mapping(text: object, path: Path, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise corrupt(path, f"{what} {str(text)[:40]!r}")
    return value
