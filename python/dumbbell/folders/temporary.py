"""Temporary folders, locked while their process lives.

Folders of killed processes are removed by the next process (`remove_left`).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from dumbbell.folders.locks import OPEN_FILES_CAN_BE_REMOVED, hold, is_own


class TemporaryFolder:
    """A temporary folder, created and locked."""

    def __init__(self, prefix: str) -> None:
        """Create it.

        Args:
            prefix: Beginning of its name.

        Raises:
            OSError: The folder for temporary files is full or cannot be written.
        """
        held = None
        while held is None:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            try:
                # A clean-up may have removed it before it was locked: then try again.
                held = hold(self.path)
            except BaseException:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
        self._lock = held

    def remove(self) -> None:
        """Remove it with its contents."""
        if not OPEN_FILES_CAN_BE_REMOVED:
            self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()

    def __enter__(self) -> Path:
        """Return the folder."""
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove it."""
        self.remove()


def remove_left(prefix: str) -> None:
    """Remove this user's unlocked folders, which belong to killed processes."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            held = hold(folder) if is_own(folder) and not folder.is_symlink() else None
            if held is not None:
                with held:
                    if not OPEN_FILES_CAN_BE_REMOVED:
                        held.close()
                    shutil.rmtree(folder, ignore_errors=True)
