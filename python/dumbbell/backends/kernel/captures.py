"""Files that a guest wrote: kept as long as the run exists, their hashes in the meta of the run."""

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
"""Folder for them: what else a guest wrote goes."""


def kept_files(
    folder: RunFolder, written: Mapping[str, Path]
) -> tuple[dict[str, RunFile], dict[str, Any]]:
    """What a guest that has ended leaves, and what meta says of it.

    What else lies in the folder is removed at once; the folder goes with the last of the files.

    Args:
        folder: Of the run.
        written: Name to file, in that folder.

    Raises:
        OSError: The guest wrote no such file.
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
