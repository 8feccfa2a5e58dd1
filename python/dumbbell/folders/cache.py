"""Where what can be made again is kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/dumbbell``, or below ``~/.cache``. Not made here."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    # A relative path there is to be ignored (XDG Base Directory Specification).
    root = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
    return root / "dumbbell"
