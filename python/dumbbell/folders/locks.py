"""Locks on open files: they end with the process that holds them, even if it is killed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

if sys.platform == "win32":
    import errno
    import msvcrt

    OPEN_FILES_CAN_BE_REMOVED = False
    """Whether a folder can be removed while this process has one of its files open."""

    _HELD = (errno.EACCES, errno.EDEADLK)

    def lock(file: BinaryIO, *, wait: bool = False) -> None:
        """Lock a file until it is closed.

        Raises:
            BlockingIOError: Another process holds the lock (for more than ten seconds with
                ``wait``).
            OSError: The file system has no locks.
        """
        file.seek(0)  # bytes are locked from here on, even beyond the end
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _HELD:
                raise BlockingIOError(error.errno, error.strerror) from None
            raise

    def is_own(path: Path) -> bool:
        """Whether a file or folder belongs to this user; True if only its existence is known.

        Raises:
            OSError: It does not exist.
        """
        path.lstat()
        return True

else:
    import fcntl

    OPEN_FILES_CAN_BE_REMOVED = True
    """Whether a folder can be removed while this process has a file in it open."""

    def lock(file: BinaryIO, *, wait: bool = False) -> None:
        """Hold the lock of a file until it is closed.

        Raises:
            BlockingIOError: Another process holds it (not with ``wait``).
            OSError: The file system has no locks.
        """
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def is_own(path: Path) -> bool:
        """Whether a file or folder is this user's; of a link, the link itself.

        Raises:
            OSError: It is not there.
        """
        return path.lstat().st_uid == os.geteuid()


LOCK = "lock"
"""Name of a folder's lock file."""


def hold(folder: Path) -> BinaryIO | None:
    """Lock a folder until the returned file is closed; None if it is locked already or gone.

    Raises:
        OSError: The file system has no locks, or the lock file cannot be created.
    """
    try:
        held = (folder / LOCK).open("ab")
    except FileNotFoundError:
        return None
    try:
        lock(held)
        # The previous holder may have removed it since it was opened.
        if os.path.samestat(os.fstat(held.fileno()), (folder / LOCK).stat()):
            return held
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        held.close()
        raise
    held.close()
    return None
