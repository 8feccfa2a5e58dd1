"""Writing results as they finish: several per transaction, each within half a second."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from dumbbell.store.content import DIGEST_BYTES, CellName, Content, Digest
from dumbbell.store.database import open_to_write
from dumbbell.store.digests import asked_digest, kept_tables_digest, run_digest, text_digest
from dumbbell.store.errors import DamagedRunError, corrupt, named_errors
from dumbbell.store.rows import Rows, signed
from dumbbell.store.segments import Segment, Segments
from dumbbell.tables import Run

COMMIT_AFTER_S = 0.5
"""Maximum time that a finished run waits for others, so that a kill loses less than a second of
runs."""
_MOST_WAITING = 10_000
_COLUMNS = "(key, backend, replication, version, layout, finished_unix_s, numbers, digest)"
_Names: TypeAlias = tuple[str, str, int]
"""Columns of a cell: experiment, settings as JSON, whether an ensemble."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request for a run, which another process may have made."""

    key: Digest
    cell: CellName


class Writer:
    """Writes results to one file of a store; a thread commits them.

    Added results are committed after `flush`, `close`, or half a second. Use it as a context
    manager.
    """

    def __init__(
        self, file: Path, segments: Segments, commit_after_s: float = COMMIT_AFTER_S
    ) -> None:
        """Open the file.

        Args:
            file: A database of the store.
            segments: Folder of the tables.
            commit_after_s: Time that results wait for others; 0 commits each at once.

        Raises:
            StoreError: The file cannot be written, or is not a store.
        """
        self._file = file
        self._segments = segments
        self._commit_after_s = commit_after_s
        self._database = open_to_write(file)
        self._state = 0
        self._ids: dict[tuple[str, str], int] = {}
        self._cells: dict[CellName, tuple[int, _Names]] = {}
        self._digests: dict[str, Digest] = {}
        self._waiting: list[tuple[Content | _Asked, int]] = []
        self._busy = False
        self._closing = False
        self._urgent = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._commit_all, daemon=True)
        if commit_after_s:
            self._thread.start()

    def __enter__(self) -> Writer:
        """Itself."""
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Close it."""
        self.close()

    def add(self, content: Content, *cells: CellName) -> None:
        """Store a run and its request; an existing undamaged run is kept.

        Raises:
            OSError: An earlier run could not be written because the disk is full.
            StoreError: An earlier run could not be written for another reason.
        """
        self._put(content, *(_Asked(content.key, cell) for cell in cells))

    def ask(self, key: Digest, cell: CellName) -> None:
        """Store the request for a run.

        Raises:
            OSError: As `add`.
            StoreError: As `add`.
        """
        self._put(_Asked(key, cell))

    def flush(self) -> None:
        """Wait until all added results are committed.

        Raises:
            OSError: As `add`.
            StoreError: As `add`.
        """
        with self._changed:
            self._urgent = True
            self._changed.notify_all()
            while (self._waiting or self._busy) and self._error is None:
                self._changed.wait()
            self._urgent = False
        self._raise()

    def close(self) -> None:
        """Flush, and close the file.

        Raises:
            OSError: As `add`.
            StoreError: As `add`.
        """
        try:
            self.flush()
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify_all()
            if self._thread.ident is not None:
                self._thread.join()
            self._database.close()

    def _put(self, *what: Content | _Asked) -> None:
        self._raise()
        now = int(time.time())
        if not self._commit_after_s:
            self._commit([(each, now) for each in what])
            return
        with self._changed:
            while len(self._waiting) >= _MOST_WAITING and self._error is None:
                self._changed.wait()
            was_idle = not self._waiting
            self._waiting.extend((each, now) for each in what)
            if was_idle or len(self._waiting) >= _MOST_WAITING:
                self._changed.notify_all()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _commit_all(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                if self._closing and not self._waiting:
                    return
                self._changed.wait_for(self._is_urgent, timeout=self._commit_after_s)
                taken, self._waiting = self._waiting, []
                self._busy = True
                self._changed.notify_all()
            try:
                self._commit(taken)
            # The next call of `add` raises the error.
            except BaseException as error:
                self._error = error
            with self._changed:
                self._busy = False
                self._changed.notify_all()
            if self._error is not None:
                return

    def _is_urgent(self) -> bool:
        return self._urgent or self._closing or len(self._waiting) >= _MOST_WAITING

    def _commit(self, taken: Sequence[tuple[Content | _Asked, int]]) -> None:
        contents = [each for each, _ in taken if isinstance(each, Content)]
        # Write files first: a segment without a row is ignored.
        segment = self._segments.write({x.key: x.run for x in contents if x.run is not None})
        with named_errors(self._file):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._forget_ids_of_others()
                for what, finished in taken:
                    if isinstance(what, Content):
                        self._insert(what, finished, segment)
                    else:
                        self._ask(what)
                self._database.execute("COMMIT")
            except BaseException:
                self._ids.clear()
                self._cells.clear()
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _ask(self, asked: _Asked) -> None:
        number, names = self._cell(asked.cell)
        row = asked.key, number, asked_digest(asked.key, *names)
        sql = "INSERT OR IGNORE INTO asked (key, cell, digest) VALUES (?, ?, ?)"
        if self._database.execute(sql, row).rowcount:
            return
        # The row exists, perhaps with a damaged digest.
        sql = "UPDATE asked SET digest = ? WHERE key = ? AND cell = ? AND digest != ?"
        self._database.execute(sql, (row[2], asked.key, number, row[2]))

    def _forget_ids_of_others(self) -> None:
        """Drop cached row numbers, because another process may have removed the rows."""
        state = _only(self._database.execute("PRAGMA data_version"))
        if state != self._state:
            self._state = state
            self._ids.clear()
            self._cells.clear()

    def _insert(self, content: Content, finished: int, segment: Segment) -> None:
        if len(content.key) != DIGEST_BYTES:
            raise ValueError(f"a key of {len(content.key)} bytes")
        row = self._row(content, finished)
        sql = f"INSERT OR IGNORE INTO runs {_COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        if not self._database.execute(sql, row).rowcount:
            self._remove_damaged(content.key)
            self._database.execute(sql, row)
        if content.run is not None:
            run = content.run
            described = _json(
                {
                    "origin": run.origin,
                    "tables": list(run.tables),
                    "files": {name: segment.files[name] for name in _with_rows(run)},
                    "meta": run.meta,
                    "provenance": run.provenance,
                }
            )
            digest = kept_tables_digest(content.key, segment.name, described)
            self._database.execute(
                "INSERT OR IGNORE INTO kept_tables VALUES (?, ?, ?, ?)",
                (content.key, segment.name, described, digest),
            )

    def _row(self, content: Content, finished: int) -> tuple[object, ...]:
        version, layout = content.version, content.numbers.layout
        replication = signed(content.replication)
        packed = np.ascontiguousarray(content.numbers.values, dtype="<f8").tobytes()
        digest = run_digest(
            content.key,
            (content.backend, replication, finished),
            (self._digest(version), self._digest(layout)),
            packed,
        )
        ids = self._id("versions", version), self._id("layouts", layout)
        return (content.key, content.backend, replication, *ids, finished, packed, digest)

    def _remove_damaged(self, key: Digest) -> None:
        """Remove a damaged run, to replace it by its repetition."""
        rows = Rows(self._file, self._database)
        try:
            rows.run(key)
        except DamagedRunError:
            self._database.execute("DELETE FROM runs WHERE key = ?", (key,))
        try:
            kept = rows.kept_tables(key)
            if kept is not None:
                self._segments.check(kept, key)
        except DamagedRunError:
            self._database.execute("DELETE FROM kept_tables WHERE key = ?", (key,))

    def _digest(self, text: str) -> Digest:
        if text not in self._digests:
            self._digests[text] = text_digest(text)
        return self._digests[text]

    def _id(self, table: str, text: str) -> int:
        if (table, text) not in self._ids:
            self._ids[table, text] = self._number_of(table, {"text": text})
        return self._ids[table, text]

    def _cell(self, cell: CellName) -> tuple[int, _Names]:
        if cell not in self._cells:
            names = cell.experiment, _json(dict(cell.settings)), int(cell.is_ensemble)
            columns = dict(zip(("experiment", "settings", "is_ensemble"), names, strict=True))
            self._cells[cell] = self._number_of("cells", columns), names
        return self._cells[cell]

    def _number_of(self, table: str, columns: Mapping[str, object]) -> int:
        """The id of a row with these values; inserts it if necessary.

        Raises:
            StoreError: The index contains the values, but its row has others.
        """
        names, values = ", ".join(columns), tuple(columns.values())
        marks = ", ".join("?" * len(values))
        self._database.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", values)
        where = " AND ".join(f"{name} = ?" for name in columns)
        ((number,),) = self._database.execute(f"SELECT id FROM {table} WHERE {where}", values)
        # A lookup by id reads the table itself, not the index.
        rows = self._database.execute(f"SELECT {names} FROM {table} WHERE id = ?", (number,))
        if rows.fetchall() != [values]:
            raise corrupt(self._file, f"a damaged row {number} of table {table}")
        return int(number)


def _with_rows(run: Run) -> Iterator[str]:
    return (name for name, table in run.tables.items() if len(next(iter(table.values()), ())))


def _only(found: sqlite3.Cursor) -> int:
    ((number,),) = found.fetchall()
    return int(number)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)
