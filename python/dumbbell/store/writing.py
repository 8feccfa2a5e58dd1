"""Writing results as they finish: several in a transaction, none later than half a second."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dumbbell.store.content import DIGEST_BYTES, CellName, Content, Digest
from dumbbell.store.database import open_to_write
from dumbbell.store.errors import named_errors
from dumbbell.store.segments import Segments

COMMIT_AFTER_S = 0.5
"""A finished run waits for others so long, at most: what a kill costs is below a second of them."""
_MOST_WAITING = 10_000
_LEVELS_OF_64_BITS = 2**64


@dataclass(frozen=True, eq=False)
class _Asked:
    """That somebody asked for a run, whoever made it."""

    key: Digest
    cell: CellName


class Writer:
    """Puts results into one file of a store; a thread commits them.

    What was added is there after `flush`, `close`, or half a second. Use it as a context.
    """

    def __init__(
        self, file: Path, segments: Segments, commit_after_s: float = COMMIT_AFTER_S
    ) -> None:
        """Open the file.

        Args:
            file: A database of the store.
            segments: Where tables go.
            commit_after_s: How long results wait for others; 0 commits each by itself, as it is
                added.

        Raises:
            StoreError: It cannot be written, or is no store.
        """
        self._file = file
        self._segments = segments
        self._commit_after_s = commit_after_s
        self._database = open_to_write(file)
        self._state = 0
        self._ids: dict[tuple[str, str], int] = {}
        self._cells: dict[CellName, int] = {}
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
        """Keep a run, and what asked for it; one that is there already stays as it is.

        Raises:
            OSError: An earlier one could not be written: the disk is full.
            StoreError: Nor for another reason.
        """
        self._put(content, *(_Asked(content.key, cell) for cell in cells))

    def ask(self, key: Digest, cell: CellName) -> None:
        """Keep what a person asked for when they got a run.

        Raises:
            OSError: As `add`.
            StoreError: As `add`.
        """
        self._put(_Asked(key, cell))

    def flush(self) -> None:
        """Wait until all that was added is there.

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
        """Flush, and let go of the file.

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
            # Whoever adds the next one hears of it, whatever it is.
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
        # Files first: a segment that no row names is of no account.
        segment = self._segments.write({x.key: x.run for x in contents if x.run is not None})
        with named_errors(self._file):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                self._forget_ids_of_others()
                for what, finished in taken:
                    if isinstance(what, Content):
                        self._insert(what, finished, segment)
                    else:
                        self._database.execute(
                            "INSERT OR IGNORE INTO asked VALUES (?, ?)",
                            (what.key, self._cell(what.cell)),
                        )
                self._database.execute("COMMIT")
            except BaseException:
                self._ids.clear()
                self._cells.clear()
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def _forget_ids_of_others(self) -> None:
        """Another process may have removed the rows that the numbers here are of."""
        state = _only(self._database.execute("PRAGMA data_version"))
        if state != self._state:
            self._state = state
            self._ids.clear()
            self._cells.clear()

    def _insert(self, content: Content, finished: int, segment: str) -> None:
        if len(content.key) != DIGEST_BYTES:
            raise ValueError(f"a key of {len(content.key)} bytes")
        self._database.execute(
            "INSERT OR IGNORE INTO runs "
            "(key, backend, replication, version, layout, finished_unix_s, numbers) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                content.key,
                content.backend,
                signed(content.replication),
                self._id("versions", content.version),
                self._id("layouts", content.numbers.layout),
                finished,
                np.ascontiguousarray(content.numbers.values, dtype="<f8").tobytes(),
            ),
        )
        if content.run is not None:
            run = content.run
            described = {
                "origin": run.origin,
                "tables": list(run.tables),
                "meta": run.meta,
                "provenance": run.provenance,
            }
            self._database.execute(
                "INSERT OR IGNORE INTO kept_tables VALUES (?, ?, ?)",
                (content.key, segment, _json(described)),
            )

    def _id(self, table: str, text: str) -> int:
        if (table, text) not in self._ids:
            self._database.execute(f"INSERT OR IGNORE INTO {table} (text) VALUES (?)", (text,))
            self._ids[table, text] = _only(
                self._database.execute(f"SELECT id FROM {table} WHERE text = ?", (text,))
            )
        return self._ids[table, text]

    def _cell(self, cell: CellName) -> int:
        if cell not in self._cells:
            names = cell.experiment, _json(dict(cell.settings)), int(cell.is_ensemble)
            self._database.execute(
                "INSERT OR IGNORE INTO cells (experiment, settings, is_ensemble) VALUES (?, ?, ?)",
                names,
            )
            self._cells[cell] = _only(
                self._database.execute(
                    "SELECT id FROM cells "
                    "WHERE experiment = ? AND settings = ? AND is_ensemble = ?",
                    names,
                )
            )
        return self._cells[cell]


def signed(number: int) -> int:
    """As SQLite keeps a whole number below 2**64."""
    return number if number < _LEVELS_OF_64_BITS // 2 else number - _LEVELS_OF_64_BITS


def unsigned(number: int) -> int:
    """What `signed` was given."""
    return number % _LEVELS_OF_64_BITS


def _only(found: sqlite3.Cursor) -> int:
    ((number,),) = found.fetchall()
    return int(number)


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False)
