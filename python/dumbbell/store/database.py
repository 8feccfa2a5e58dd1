"""Creating and opening the SQLite files of a store, which are untrusted until checked."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from pathlib import Path

from dumbbell.folders import new_file, remove_left_beside
from dumbbell.store.digests import as_text
from dumbbell.store.errors import ELSEWHERE, StoreError, corrupt, named_errors
from dumbbell.store.schema import APPLICATION_ID, SCHEMA_VERSION, TABLES

BUSY_S = 60.0
"""Time to wait for another process's lock."""
LARGEST_VALUE_BYTES = 64 * 2**20
"""Size limit of a text or blob."""
_LARGEST_SQL_BYTES = 10_000


def make_database(file: Path, *, shared: bool) -> None:
    """Create an empty database unless it exists, atomically by a rename.

    Args:
        file: Its path; the folder is created too.
        shared: Whether the folder is shared by machines. SQLite's write-ahead log needs shared
            memory, which network file systems do not support (sqlite.org/wal.html, "Overview"), so
            there a rollback journal is used.

    Raises:
        OSError: It cannot be written.
        StoreError: As `named_errors`.
    """
    remove_left_beside(file)
    if file.exists():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise StoreError(
            str(file.parent), error.strerror or str(error), "a folder that can be written"
        ) from error
    # If another process created the store first, use that one.
    with new_file(file) as new, named_errors(new):
        _fill(new, shared=shared)


def _fill(file: Path, *, shared: bool) -> None:
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        # Use a rollback journal, so that all data are in the file: SQLite does not report a full
        # disk when it checkpoints a write-ahead log.
        database.execute("PRAGMA journal_mode = DELETE")
        database.execute("BEGIN IMMEDIATE")
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for sql in TABLES.values():
            database.execute(sql)
        database.execute("COMMIT")
        if not shared:
            # The mode is stored in the file, so all processes use it.
            database.execute("PRAGMA journal_mode = WAL")
    if file.with_name(f"{file.name}-wal").exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))


def open_to_write(file: Path) -> sqlite3.Connection:
    """A connection that may write; any thread may use it, one at a time.

    Raises:
        StoreError: The file is not a store, of another version, or read-only.
        OSError: It cannot be read.
    """
    with named_errors(file):
        database = _connected(file, "rw")
        try:
            _check(database, file)
            # With a write-ahead log a power failure may lose the last commits but nothing else, and
            # the death of a process loses none. A rollback journal needs full synchronous mode.
            (mode,) = database.execute("PRAGMA journal_mode").fetchone()
            database.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")
            database.execute("BEGIN IMMEDIATE")
            database.execute("ROLLBACK")
        except BaseException:
            database.close()
            raise
    return database


def open_to_read(file: Path) -> sqlite3.Connection:
    """A read-only connection, also on a read-only file system.

    Raises:
        StoreError: The file is not a store, or of another version.
        OSError: It cannot be read.
    """
    with named_errors(file):
        # A process with write permission rolls back the transaction of a killed process.
        for how in ("rw", "ro"):
            try:
                return _opened_to_read(file, how)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF not in _NO_WRITING:
                    raise
        # SQLite would need to create files for the log; without a log no process is writing, so the
        # file is immutable.
        if file.with_name(f"{file.name}-wal").exists():
            allowed = f"a folder that may be written: its log is not finished; or {ELSEWHERE}"
            raise StoreError(str(file), "read-only", allowed)
        return _opened_to_read(file, "ro&immutable=1")


_NO_WRITING = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


def _opened_to_read(file: Path, how: str) -> sqlite3.Connection:
    database = _connected(file, how)
    try:
        _check(database, file)
        database.execute("PRAGMA query_only = ON")
    except BaseException:
        database.close()
        raise
    return database


def _connected(file: Path, how: str) -> sqlite3.Connection:
    database = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode={how}",
        uri=True,
        timeout=BUSY_S,
        isolation_level=None,
        check_same_thread=False,
    )
    database.text_factory = as_text
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE_BYTES)
    database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    database.execute("PRAGMA trusted_schema = OFF")
    database.execute("PRAGMA cell_size_check = ON")
    return database


def check_structure(database: sqlite3.Connection, file: Path) -> None:
    """Check that pages, trees and indices of a file agree, so that no row is lost or duplicated.

    Raises:
        StoreError: They disagree.
        OSError: The file cannot be read.
    """
    with named_errors(file):
        (said,) = database.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise corrupt(file, f"a damaged database: {str(said)[:200]}")


def _check(database: sqlite3.Connection, file: Path) -> None:
    """Check that it is a store of this version with its tables, and without triggers or views."""
    (application,) = database.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise corrupt(file, f"a database of another program (application_id {application})")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise StoreError(
            str(file),
            f"a store of version {version}",
            f"one of version {SCHEMA_VERSION}: the dumbbell that wrote it reads it, and "
            "'dumbbell results export' there takes its numbers along; or another folder "
            "(--store DIR)",
        )
    found = dict(
        database.execute(
            "SELECT name, CASE WHEN length(sql) <= ? AND type = 'table' THEN sql END "
            "FROM sqlite_schema WHERE sql IS NOT NULL LIMIT 100",
            (_LARGEST_SQL_BYTES,),
        ).fetchall()
    )
    if found != TABLES:
        wrong = sorted(found.items() ^ TABLES.items(), key=lambda each: str(each[0]))
        raise corrupt(
            file, f"a store whose table {str(wrong[0][0])[:100]!r} is not as it should be"
        )
