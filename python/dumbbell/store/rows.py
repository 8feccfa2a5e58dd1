"""Rows of one file of a store, with their digests checked."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dumbbell.store.content import CellName, Digest, KeptTables, Numbers
from dumbbell.store.digests import asked_digest, kept_tables_digest, run_digest, text_digest
from dumbbell.store.errors import DamagedRunError, damaged_run, named_errors

_LEVELS_OF_64_BITS = 2**64
_OF_RUN = "key, backend, replication, version, layout, finished_unix_s, numbers, digest"
_TYPES = (bytes, str, int, int, int, int, bytes, bytes)


@dataclass(frozen=True, slots=True, eq=False)
class RunRow:
    """A run from a row of ``runs``.

    Attributes:
        key: Key of the run.
        backend: Its backend.
        replication: Its replication.
        version: See `Content`.
        finished_unix_s: Time at which it finished.
        numbers: Its numbers.
    """

    key: Digest
    backend: str
    replication: int
    version: str
    finished_unix_s: int
    numbers: Numbers


@dataclass
class Rows:
    """An open file, with a cache of its texts.

    Attributes:
        path: Path of the file.
        database: The connection.
    """

    path: Path
    database: sqlite3.Connection
    _texts: dict[tuple[str, int], tuple[str, Digest] | None] = field(default_factory=dict)

    def run(self, key: Digest) -> RunRow | None:
        """A run by its key, or None.

        Raises:
            DamagedRunError: Its digest is wrong.
            StoreError: The file is invalid.
        """
        sql = f"SELECT {_OF_RUN} FROM runs WHERE key = ?"
        with named_errors(self.path):
            row = self.database.execute(sql, (key,)).fetchone()
        return None if row is None else self._run(row, key)

    def runs(self) -> Iterator[tuple[Digest, RunRow | DamagedRunError]]:
        """All runs with their keys; the error message instead of a damaged run.

        Raises:
            StoreError: The file is invalid.
        """
        with named_errors(self.path):
            for row in self.database.execute(f"SELECT {_OF_RUN} FROM runs"):
                try:
                    yield row[0], self._run(row, row[0])
                except DamagedRunError as error:
                    yield row[0], error

    def kept_tables(self, key: Digest) -> KeptTables | None:
        """Location of a run's tables; None if they were not stored.

        Raises:
            DamagedRunError: The digest of its row is wrong.
            StoreError: The file is invalid.
        """
        sql = "SELECT segment, described, digest FROM kept_tables WHERE key = ?"
        with named_errors(self.path):
            row = self.database.execute(sql, (key,)).fetchone()
        if row is None:
            return None
        segment, described, digest = row
        if not (isinstance(segment, str) and isinstance(described, str)):
            raise damaged_run(self.path, key, "the description of its tables is of another type")
        if digest != kept_tables_digest(key, segment, described):
            raise damaged_run(self.path, key, "the description of its tables has another digest")
        return _kept(segment, described, self.path, key)

    def asked(self) -> Iterator[tuple[Digest, CellName]]:
        """The requests for runs.

        Raises:
            DamagedRunError: The digest of a row is wrong.
            StoreError: The file is invalid.
        """
        with named_errors(self.path):
            rows = self.database.execute(
                "SELECT id, experiment, settings, is_ensemble FROM cells"
            ).fetchall()
        texts = {number: names for number, *names in rows}
        cells: dict[int, CellName] = {}
        with named_errors(self.path):
            for key, number, digest in self.database.execute("SELECT key, cell, digest FROM asked"):
                names = texts.get(number)
                if (
                    names is None
                    or [type(each) for each in (key, *names)] != [bytes, str, str, int]
                    or digest != asked_digest(key, *names)
                ):
                    raise damaged_run(self.path, key, "what it was asked for as has another digest")
                if number not in cells:
                    cells[number] = _cell((names[0], names[1], names[2]), self.path, key)
                yield key, cells[number]

    def _run(self, row: tuple[Any, ...], key: Digest) -> RunRow:
        if tuple(type(each) for each in row) != _TYPES:
            raise damaged_run(self.path, key, "its row has values of other types")
        found, backend, replication, version_id, layout_id, finished, numbers, digest = row
        version, layout = self._text("versions", version_id), self._text("layouts", layout_id)
        if version is None or layout is None:
            raise damaged_run(self.path, key, "the version or layout that its row names is missing")
        described = (backend, replication, finished)
        if found != key or digest != run_digest(key, described, (version[1], layout[1]), numbers):
            raise damaged_run(self.path, key, "its row has another digest")
        if len(numbers) % np.dtype(np.float64).itemsize:
            raise damaged_run(self.path, key, f"its numbers have {len(numbers)} bytes")
        values = np.frombuffer(numbers, dtype="<f8")
        return RunRow(
            key, backend, unsigned(replication), version[0], finished, Numbers(layout[0], values)
        )

    def _text(self, table: str, number: int) -> tuple[str, Digest] | None:
        if (table, number) not in self._texts:
            with named_errors(self.path):
                row = self.database.execute(
                    f"SELECT text FROM {table} WHERE id = ?", (number,)
                ).fetchone()
            is_text = row is not None and isinstance(row[0], str)
            self._texts[table, number] = (row[0], text_digest(row[0])) if is_text else None
        return self._texts[table, number]


def signed(number: int) -> int:
    """Convert a whole number below 2**64 to SQLite's signed integer."""
    return number if number < _LEVELS_OF_64_BITS // 2 else number - _LEVELS_OF_64_BITS


def unsigned(number: int) -> int:
    """The inverse of `signed`."""
    return number % _LEVELS_OF_64_BITS


def _cell(names: tuple[str, str, int], path: Path, key: Digest) -> CellName:
    experiment, text, is_ensemble = names
    settings = _mapping(text)
    if settings is None or not all(isinstance(each, str) for each in settings.values()):
        raise damaged_run(path, key, f"it was asked for with settings {text[:40]!r}")
    return CellName(experiment, tuple(settings.items()), bool(is_ensemble))


def _kept(segment: str, text: str, path: Path, key: Digest) -> KeptTables:
    described = _mapping(text) or {}
    origin, names, files = (described.get(name) for name in ("origin", "tables", "files"))
    meta, provenance = described.get("meta"), described.get("provenance")
    if not (
        origin in ("simulated", "kernel")
        and isinstance(names, list)
        and all(isinstance(each, str) for each in names)
        and isinstance(files, dict)
        and all(isinstance(each, str) for each in files.values())
        and isinstance(meta, dict)
        and isinstance(provenance, dict)
    ):
        raise damaged_run(path, key, "the description of its tables is none")
    return KeptTables(segment, origin, tuple(names), files, meta, provenance)


def _mapping(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
