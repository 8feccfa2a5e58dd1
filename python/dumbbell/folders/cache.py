"""The cache folder, for data that can be made again."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/dumbbell``, or below ``~/.cache``. Does not create it."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path must be ignored (XDG Base Directory Specification).
    root = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return root / "dumbbell"
