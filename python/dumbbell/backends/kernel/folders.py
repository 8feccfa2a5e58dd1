"""Temporary folders of guests: known to be in use while their process lives, removed in any case.

A process that is killed cannot remove its folders; whoever starts next does
(`remove_left_folders`).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from dumbbell.folders.locks import is_own, lock

PREFIX = "dumbbell-kernel-"
_LOCK = "lock"


class RunFolder:
    """A temporary folder that is locked while this process lives."""

    def __init__(self) -> None:
        """Make and lock it.

        Raises:
            OSError: The folder for temporary files is full or cannot be written.
        """
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._lock = (self.path / _LOCK).open("wb")
            lock(self._lock, wait=True)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def remove(self) -> None:
        """Remove it with everything in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Path:
        """Give the folder."""
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove it."""
        self.remove()


def remove_left_folders() -> None:
    """Remove the folders of processes that were killed: nobody holds their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), (folder / _LOCK).open("r+b") as held:
            if is_own(folder):
                lock(held)
                shutil.rmtree(folder, ignore_errors=True)
