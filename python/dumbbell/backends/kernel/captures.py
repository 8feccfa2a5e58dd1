"""Files that a guest wrote: kept as long as the run exists, hashed in the run's metadata."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.backends.captures import CAPTURE, captures, described
from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.tables import RunFile

__all__ = ["CAPTURE", "captures", "kept_files"]

KEPT = "kept"
"""Folder of the files to keep; the guest's other files are removed."""


def kept_files(
    folder: RunFolder, written: Mapping[str, Path]
) -> tuple[dict[str, RunFile], dict[str, Any]]:
    """The files of a finished guest, and their metadata.

    Other files in the folder are removed at once; the folder is removed with the last reference to
    the files.

    Args:
        folder: Folder of the run.
        written: Files in that folder, by name.

    Raises:
        OSError: The guest did not write such a file.
    """
    kept = folder.path / KEPT
    kept.mkdir()
    moved = {name: path.rename(kept / name) for name, path in written.items()}
    shutil.rmtree(folder.path / "output")
    left = len(moved)

    def let_go() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            folder.remove()

    files = {name: RunFile(path, let_go) for name, path in moved.items()}
    return files, {"files": {name: described(path) for name, path in moved.items()}}
