"""Errors of a store."""

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
"""Length of a key in messages."""


class StoreError(SpecError):
    """A store cannot be used; it is not removed."""


class DamagedRunError(StoreError):
    """A stored run is damaged; the caller may repeat it."""


class DamagedRunWarning(UserWarning):
    """A stored run is damaged and is repeated; the caller gave no function for messages."""


ELSEWHERE = "another folder (--store DIR), or none (--no-store)"


def corrupt(file: Path, what: str) -> StoreError:
    """The error for a file with invalid content."""
    allowed = f"a store as dumbbell writes it: move this one away, or name {ELSEWHERE}"
    return StoreError(str(file), what, allowed)


def damaged_run(file: Path, key: object, what: str) -> DamagedRunError:
    """The error for a run whose row or files were changed."""
    name = run_id_of(key)[:_SHOWN_DIGITS] if isinstance(key, bytes) else str(key)[:_SHOWN_DIGITS]
    allowed = (
        "runs as they were kept: the command that made one makes it again, 'dumbbell results "
        f"forget NAME' removes it; or {ELSEWHERE}"
    )
    return DamagedRunError(str(file), f"a damaged run {name}", allowed, reason=what)


@contextlib.contextmanager
def named_errors(file: Path) -> Iterator[None]:
    """Convert SQLite's errors to `StoreError` with the file's name, and disk errors to `OSError`.

    Raises:
        OSError: The disk is full, or cannot be written.
        StoreError: The file is not a store, cannot be written, or is locked by another process.
    """
    try:
        yield
    except sqlite3.Error as error:
        # Errors raised by Python's module have no code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file)) from error
        if code == sqlite3.SQLITE_IOERR:
            # SQLite does not distinguish a quota and a file size limit from other errors.
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
    except UnicodeDecodeError as error:  # its message would quote the unreadable bytes
        raise corrupt(file, "a damaged database: its tables cannot be read") from error


def _beyond_limit(file: Path) -> OSError | None:
    """Whether a limit on the size of files (``ulimit -f``) leaves no room for another page."""
    if sys.platform == "win32":  # Windows has no such limit
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
