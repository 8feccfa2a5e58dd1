"""The script of interactive pages, kept between runs: putting it together takes seconds."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from dumbbell.folders import cache_folder, replace_file

_SMALLEST_BYTES = 100_000
"""Vega alone has more."""


def kept_script(vega_lite: str) -> str:
    """What was kept for a version of Vega-Lite by this version of vl-convert; empty for nothing."""
    try:
        kept = _file(vega_lite).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
    return kept if len(kept) > _SMALLEST_BYTES and "</script" not in kept.lower() else ""


def keep_script(vega_lite: str, script: str) -> None:
    """Keep it where it can be: without a cache folder the next page takes seconds longer."""
    try:
        file = _file(vega_lite)
        file.parent.mkdir(parents=True, exist_ok=True)
        replace_file(file, script)
    except OSError:
        return


def _file(vega_lite: str) -> Path:
    """In the cache, named by what made it."""
    try:
        converter = version("vl-convert-python")
    except PackageNotFoundError:
        converter = "unknown"
    return cache_folder() / "page" / f"vega-lite-{vega_lite}-by-vl-convert-{converter}.js"
