"""Cache of the script of interactive pages: bundling it takes seconds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dumbbell.folders import cache_folder, replace_file

_SMALLEST_BYTES = 100_000
"""Smallest plausible size; Vega alone is larger."""


def kept_script(vega_lite: str) -> str:
    """Return the cached script of a Vega-Lite version and this vl-convert version; else empty."""
    try:
        kept = _file(vega_lite).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return kept if len(kept) > _SMALLEST_BYTES and "</script" not in kept.lower() else ""


def keep_script(vega_lite: str, script: str) -> None:
    """Store it if possible: without a cache folder the next page takes seconds longer."""
    try:
        file = _file(vega_lite)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, script)
    except OSError:
        return


def _file(vega_lite: str) -> Path:
    """Return the cache file, named after the versions that made it."""
    try:
        converter = version("vl-convert-python")
    except PackageNotFoundError:
        converter = "unknown"
    return cache_folder() / "page" / f"vega-lite-{vega_lite}-by-vl-convert-{converter}.js"
