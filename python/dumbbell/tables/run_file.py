"""Files that belong to a run besides its tables, such as captures."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from pathlib import Path


class RunFile:
    """A file of a run, too large for memory.

    A backend leaves it in a temporary folder, which goes when nobody holds this any more;
    `write_parquet` writes it beside the tables.
    """

    def __init__(self, path: Path, remove: Callable[[], object] | None = None) -> None:
        """Hold a file.

        Args:
            path: Where it is.
            remove: Called once when nobody holds this any more, or when Python ends.
        """
        self.path = path
        if remove is not None:
            weakref.finalize(self, remove)

    def __repr__(self) -> str:
        """Say where it is."""
        return f"RunFile({str(self.path)!r})"
