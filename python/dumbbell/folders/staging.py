"""Hidden staging folders beside a target; their lock shows whether they are in use.

.NAME.partial-RANDOM/lock     locked by the writing process while it lives
.NAME.partial-RANDOM/new      being written
.NAME.partial-RANDOM/ready    complete; once in place, the folder that was there before
.NAME.partial-RANDOM/old      the folder before, where two cannot be exchanged in one step
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from dumbbell.folders.deferred_signals import deferred_signals
from dumbbell.folders.locks import OPEN_FILES_CAN_BE_REMOVED, hold, is_own

NEW, READY, OLD = "new", "ready", "old"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_LONGEST_NAME = 200
"""Longest name of a target, in bytes: file systems allow 255 with the added prefix and suffix."""
_EARLIER_STALE_AFTER_S = 3600.0


class Staging:
    """A staging folder, locked."""

    def __init__(self, path: Path, held: BinaryIO | None) -> None:
        """Wrap a folder with its lock file; None on file systems without locks."""
        self.path = path
        self._lock = held

    @classmethod
    def beside(cls, target: Path) -> Staging:
        """Create one; missing parents of the target are created.

        Raises:
            OSError: The folder is not writable, or the disk is full.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        while True:
            path = target.with_name(f".{_stem(target)}.partial-{secrets.token_hex(8)}")
            path.mkdir()
            try:
                staging = cls.taken_over(path)
            except OSError as error:
                if error.errno not in _NO_LOCKS:
                    shutil.rmtree(path, ignore_errors=True)
                    raise
                staging = cls(path, None)
            # A clean-up may have removed it before it was locked: then try again.
            if staging is not None:
                return staging

    @classmethod
    def taken_over(cls, path: Path) -> Staging | None:
        """Lock an existing one; None if another process holds it or it is gone.

        Raises:
            OSError: The file system has no locks, or no room for the lock's file.
        """
        held = hold(path)
        return None if held is None else cls(path, held)

    def remove(self) -> None:
        """Remove it; an earlier result must already have been moved out."""
        if not any((self.path / name).exists() for name in (READY, OLD)):
            if self._lock is not None and not OPEN_FILES_CAN_BE_REMOVED:
                self._lock.close()
            remove_tree(self.path)
        if self._lock is not None:
            self._lock.close()


@contextlib.contextmanager
def staged(target: Path, leave: Callable[[Staging], None]) -> Iterator[Staging]:
    """Create one, and call ``leave`` in any case.

    Args:
        target: The path to be written.
        leave: Called at the end, possibly twice, so that a Ctrl-C just before it cannot skip it.

    Raises:
        OSError: The folder is not writable, or the disk is full.
    """
    staging = None
    try:
        with deferred_signals():
            staging = Staging.beside(target)
        yield staging
    finally:
        if staging is not None:
            try:
                with deferred_signals():
                    leave(staging)
            except BaseException:
                with deferred_signals():
                    leave(staging)
                raise


def remove_tree(folder: Path) -> None:
    """Remove as much as possible, including read-only folders."""
    for inside, _, _ in os.walk(folder):
        with contextlib.suppress(OSError):
            Path(inside).chmod(stat.S_IRWXU)
    shutil.rmtree(folder, ignore_errors=True)


def left_beside(target: Path) -> Iterator[Staging]:
    """Staging folders left by killed processes, each locked."""
    pattern = re.compile(rf"\.{re.escape(_stem(target))}\.partial-[0-9a-f]{{16}}")
    for path in _matching(target.parent, pattern):
        with contextlib.suppress(OSError):
            staging = Staging.taken_over(path)
            if staging is not None:
                yield staging


def left_by_earlier_versions(target: Path) -> Iterator[Path]:
    """Folders and files of versions that had the process id in their names, and no lock.

    Included if their process is gone and an hour has passed, the rule of those versions.
    """
    pattern = re.compile(rf"\.{re.escape(_stem(target))}\.partial-(\d+)-[0-9a-f]{{8}}(-old)?")
    for path in _matching(target.parent, pattern):
        found = pattern.fullmatch(path.name)
        if found is None or Path("/proc", found[1]).exists():
            continue
        with contextlib.suppress(OSError):
            if time.time() - path.lstat().st_mtime > _EARLIER_STALE_AFTER_S:
                yield path


def _stem(target: Path) -> str:
    name = os.fsencode(target.name)
    return target.name if len(name) <= _LONGEST_NAME else hashlib.sha256(name).hexdigest()


def _matching(folder: Path, pattern: re.Pattern[str]) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(
            path for path in folder.iterdir() if pattern.fullmatch(path.name) and is_own(path)
        )
    return []
