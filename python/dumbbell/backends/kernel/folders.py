"""Temporary folders of guests."""

from __future__ import annotations

from dumbbell.folders.temporary import TemporaryFolder, remove_left

PREFIX = "dumbbell-kernel-"


class RunFolder(TemporaryFolder):
    """The temporary folder of a guest; locked while this process lives."""

    def __init__(self) -> None:
        """Make and lock it.

        Raises:
            OSError: The folder for temporary files is full or cannot be written.
        """
        super().__init__(PREFIX)


def remove_left_folders() -> None:
    """Remove the folders of killed processes."""
    remove_left(PREFIX)
