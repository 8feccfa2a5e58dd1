"""The capture a guest wrote: kept in its folder while the run is, its hash in the run's meta."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from typing import Any

from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.tables import RunFile

CAPTURE = "capture.pcapng"
"""Name of the file, as guest/src/capture_file.rs writes it."""


def captures(resolved: Mapping[str, Any]) -> bool:
    """Whether a description asks for a capture."""
    return any(link[way]["capture"] for link in resolved["links"] for way in ("forward", "reverse"))


def kept_capture(folder: RunFolder) -> tuple[RunFile, dict[str, Any]]:
    """The capture of a guest that has ended, and what meta says of it.

    What else lies in the folder is removed at once; the folder goes with the file.

    Raises:
        OSError: The guest wrote none.
    """
    written = folder.path / "output" / CAPTURE
    with written.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    kept = written.rename(folder.path / CAPTURE)
    shutil.rmtree(folder.path / "output")
    described = {"bytes": kept.stat().st_size, "sha256": sha256}
    return RunFile(kept, folder.remove), {"files": {CAPTURE: described}}
