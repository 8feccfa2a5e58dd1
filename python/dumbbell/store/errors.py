"""What can be wrong with a store."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

from dumbbell.errors import SpecError
from dumbbell.folders import disk_full_error
from dumbbell.store.content import run_id_of

_SHOWN_DIGITS = 16
"""Of a key, in a message."""


class StoreError(SpecError):
    """A store that cannot be used as it is; it is never removed for that."""


class DamagedRunError(StoreError):
    """A stored run is damaged; a caller that can runs it again."""


class DamagedRunWarning(UserWarning):
    """A stored run is damaged and is run again; no caller asked for a report."""


ELSEWHERE = "another folder (--store DIR), or none (--no-store)"


def corrupt(file: Path, what: str) -> StoreError:
    """Of a file that does not hold what it should."""
    allowed = f"a store as dumbbell writes it: move this one away, or name {ELSEWHERE}"
    return StoreError(str(file), what, allowed)


def damaged_run(file: Path, key: object, what: str) -> DamagedRunError:
    """Of a run whose row or files were changed since."""
    name = run_id_of(key)[:_SHOWN_DIGITS] if isinstance(key, bytes) else str(key)[:_SHOWN_DIGITS]
    allowed = (
        "runs as they were kept: the command that made one makes it again, 'dumbbell results "
        f"forget NAME' removes it; or {ELSEWHERE}"
    )
    return DamagedRunError(str(file), f"a damaged run {name}", allowed, reason=what)


@contextlib.contextmanager
def named_errors(file: Path) -> Iterator[None]:
    """Say SQLite's errors with the file's name, and those of a disk as everybody's.

    Raises:
        OSError: The disk is full, or cannot be written.
        StoreError: The file is no store, cannot be written, or another process does not let go.
    """
    try:
        yield
    except sqlite3.Error as error:
        # Of a few errors that Python finds itself there is no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file)) from error
        if code == sqlite3.SQLITE_IOERR:
            # SQLite tells a quota and a limit on a file's size from nothing else.
            full = disk_full_error(file.parent) or _beyond_limit(file)
            if full is not None:
                raise OSError(full.errno, full.strerror, str(file)) from error
            raise OSError(errno.EIO, str(error), str(file)) from error
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
            raise StoreError(
                str(file), str(error), f"a store that may be written here; or {ELSEWHERE}"
            ) from error
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            allowed = f"a store that no other program holds for so long; or {ELSEWHERE}"
            raise StoreError(str(file), str(error), allowed) from error
        raise corrupt(file, str(error)) from error
    except UnicodeDecodeError as error:  # of SQLite's own message: it quotes what it cannot read
        raise corrupt(file, "a damaged database: its tables cannot be read") from error


def _beyond_limit(file: Path) -> OSError | None:
    """Whether a limit on the size of files (``ulimit -f``) leaves no room for another page."""
    if sys.platform == "win32":  # it has no such limit
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    if limit == resource.RLIM_INFINITY:
        return None
    beside = (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-journal"))
    largest = max((each.stat().st_size for each in beside if each.exists()), default=0)
    if largest + 2**16 < limit:
        return None
    return OSError(errno.EFBIG, os.strerror(errno.EFBIG))
