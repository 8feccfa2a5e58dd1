"""Capture files of runs: kept in a temporary folder as long as the run exists, hashed in its
metadata.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dumbbell.folders.temporary import TemporaryFolder, remove_left
from dumbbell.spec import Resolved
from dumbbell.tables import RunFile

CAPTURE = "capture.pcapng"
"""Name of a run's capture."""
_PREFIX = "dumbbell-capture-"


def captures(resolved: Mapping[str, Any]) -> bool:
    """Whether a description asks for a capture."""
    return any(queue.capture for queue in Resolved(resolved).queues)


def asks_for_capture(resolved_json: str) -> bool:
    """Like `captures`, for canonical text; avoids parsing most texts."""
    return '"capture":true' in resolved_json and captures(json.loads(resolved_json))


def described(path: Path) -> dict[str, Any]:
    """Size and SHA-256 of a file, for a run's metadata.

    Raises:
        OSError: It cannot be read.
    """
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": sha256}


class CaptureFolder:
    """A temporary folder for one capture; locked while this process lives."""

    def __init__(self) -> None:
        """Make and lock it; folders of killed processes are removed.

        Raises:
            OSError: The folder for temporary files is full or cannot be written.
        """
        remove_left(_PREFIX)
        self._folder = TemporaryFolder(_PREFIX)
        self.file = self._folder.path / CAPTURE
        """Path of the capture."""

    def remove(self) -> None:
        """Remove it with everything in it."""
        self._folder.remove()

    def kept(self) -> tuple[dict[str, RunFile], dict[str, Any]]:
        """The file, whose folder is removed with the last reference to it, and its metadata.

        Raises:
            OSError: No capture was written.
        """
        meta = {"files": {CAPTURE: described(self.file)}}
        return {CAPTURE: RunFile(self.file, self.remove)}, meta
