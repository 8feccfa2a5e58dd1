"""Temporary folders, known to be in use by their lock while their process lives.

A process that is killed cannot remove its folders; whoever starts next does (`remove_left`).
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from dumbbell.folders.locks import OPEN_FILES_CAN_BE_REMOVED, hold, is_own


class TemporaryFolder:
    """One, made and locked."""

    def __init__(self, prefix: str) -> None:
        """Make it.

        Args:
            prefix: How its name begins.

        Raises:
            OSError: The folder for temporary files is full or cannot be written.
        """
        held = None
        while held is None:
            self.path = Path(tempfile.mkdtemp(prefix=prefix))
            try:
                # Whoever clears up may have found it before it was locked: then another is made.
                held = hold(self.path)
            except BaseException:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
        self._lock = held

    def remove(self) -> None:
        """Remove it with everything in it."""
        if not OPEN_FILES_CAN_BE_REMOVED:
            self._lock.close()
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


def remove_left(prefix: str) -> None:
    """Remove this user's folders of processes that were killed: nobody holds their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError):
            held = hold(folder) if is_own(folder) and not folder.is_symlink() else None
            if held is not None:
                with held:
                    if not OPEN_FILES_CAN_BE_REMOVED:
                        held.close()
                    shutil.rmtree(folder, ignore_errors=True)
