"""A store: a folder with the files of processes of this machine and of shards."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dumbbell.errors import SpecError
from dumbbell.store.content import Digest
from dumbbell.store.database import make_database, open_to_read, open_to_write
from dumbbell.store.errors import StoreError, named_errors
from dumbbell.store.reading import Reader
from dumbbell.store.segments import Segments
from dumbbell.store.writing import COMMIT_AFTER_S, Writer

OWN_FILE = "runs.sqlite"
TABLES_FOLDER = "tables"
MOST_SHARDS = 10_000
_SHARD_FILES = "shard-*-of-*.sqlite"
_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class Shard:
    """A share of some work.

    Attributes:
        number: Number of the share, from 1.
        of: Number of shares.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a share such as ``2/8``.

        Raises:
            SpecError: The text is not a share.
        """
        match = _SHARD.fullmatch(text)
        number, of = (int(match[1]), int(match[2])) if match else (0, 0)
        if not 1 <= number <= of <= MOST_SHARDS:
            allowed = f"NUMBER/SHARDS, such as 2/8: from 1 to their number, at most {MOST_SHARDS}"
            raise SpecError("--shard", text, allowed)
        return cls(number, of)

    def __str__(self) -> str:
        """``2/8``."""
        return f"{self.number}/{self.of}"

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"shard-{self.number}-of-{self.of}.sqlite"

    def has(self, place: int) -> bool:
        """Whether the share includes the work with this index, from 0."""
        return place % self.of == self.number - 1


class Store:
    """A folder of results, created at the first write."""

    def __init__(self, folder: str | Path, shard: Shard | None = None) -> None:
        """Name it.

        Args:
            folder: Path of the folder, which need not exist.
            shard: Share whose results are written, into its own file without a write-ahead log,
                which network file systems do not support.
        """
        self.folder = Path(folder)
        self.shard = shard
        self._segments = Segments(self.folder / TABLES_FOLDER)

    @property
    def _own_file(self) -> Path:
        return self.folder / (OWN_FILE if self.shard is None else self.shard.file)

    @property
    def files(self) -> Sequence[Path]:
        """Those that are there."""
        own = self.folder / OWN_FILE
        shards = sorted(self.folder.glob(_SHARD_FILES))
        return [*([own] if own.exists() else []), *shards]

    def reader(self) -> Reader:
        """A reader of all files; empty if the store does not exist.

        Raises:
            StoreError: One of its files is not a store.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise StoreError(str(self.folder), "a file", "a folder (--store DIR)")
        return Reader(self.files, self._segments)

    def writer(self, commit_after_s: float = COMMIT_AFTER_S) -> Writer:
        """A writer for the store; see `Writer`.

        Raises:
            StoreError: It cannot be written, or its file is not a store.
            OSError: The disk is full.
        """
        file = self._own_file
        make_database(file, shared=self.shard is not None)
        return Writer(file, self._segments, commit_after_s)

    def check(self) -> None:
        """Check that the existing store can be written; creates nothing.

        Raises:
            StoreError: It cannot be written, or is not a store.
        """
        file = self._own_file
        if file.exists():
            open_to_write(file).close()

    def forget(self, experiment: str) -> int:
        """Remove all runs of the experiments of one name, with their tables.

        A run that also belongs to another name is kept.

        Returns:
            Number of removed runs.

        Raises:
            StoreError: A file cannot be written, or is not a store.
        """
        with self.reader() as reader:
            names = reader.experiments()
        gone = {key for key, of_run in names.items() if of_run == {experiment}}
        before = self._named_segments()
        for file in self.files:
            _forget(file, experiment, gone)
        after = self._named_segments()
        self._segments.remove(before - after)
        self._segments.remove_orphans(after)
        return len(gone)

    def _named_segments(self) -> set[str]:
        named: set[str] = set()
        for file in self.files:
            with named_errors(file), contextlib.closing(open_to_read(file)) as database:
                rows = database.execute("SELECT DISTINCT segment FROM kept_tables")
                named.update(str(segment) for (segment,) in rows)
        return named


def _forget(file: Path, experiment: str, gone: set[Digest]) -> None:
    with named_errors(file), contextlib.closing(open_to_write(file)) as database:
        database.execute("BEGIN IMMEDIATE")
        of_it = "SELECT id FROM cells WHERE experiment = ?"
        database.execute(f"DELETE FROM asked WHERE cell IN ({of_it})", (experiment,))
        database.execute("DELETE FROM cells WHERE experiment = ?", (experiment,))
        keys = [(key,) for key in gone]
        for table in ("runs", "kept_tables"):
            database.executemany(f"DELETE FROM {table} WHERE key = ?", keys)
        for table, column in (("versions", "version"), ("layouts", "layout")):
            database.execute(f"DELETE FROM {table} WHERE id NOT IN (SELECT {column} FROM runs)")
        database.execute("COMMIT")
        # Release disk space, unless another process has the file open.
        database.execute("PRAGMA busy_timeout = 0")
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 1)  # VACUUM creates a temporary file
        with contextlib.suppress(sqlite3.OperationalError):
            database.execute("VACUUM")
