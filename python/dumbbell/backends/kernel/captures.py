"""The capture a guest wrote: kept in its folder while the run is, its hash in the run's meta."""

from __future__ import annotations

import shutil
from typing import Any

from dumbbell.backends.captures import CAPTURE, captures, described
from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.tables import RunFile

__all__ = ["CAPTURE", "captures", "kept_capture"]


def kept_capture(folder: RunFolder) -> tuple[RunFile, dict[str, Any]]:
    """The capture of a guest that has ended, and what meta says of it.

    What else lies in the folder is removed at once; the folder goes with the file.

    Raises:
        OSError: The guest wrote none.
    """
    written = folder.path / "output" / CAPTURE
    kept = written.rename(folder.path / CAPTURE)
    shutil.rmtree(folder.path / "output")
    return RunFile(kept, folder.remove), {"files": {CAPTURE: described(kept)}}
