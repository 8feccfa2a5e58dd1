"""Writing: the same file gives the same bytes."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

from dumbbell.folders import replace_file
from dumbbell.formats.flent.file import FORMAT_VERSION, FlentFile

SUFFIX = ".flent.gz"


def flent_bytes(file: FlentFile) -> bytes:
    """The compressed file; no clock and no file name are in it."""
    whole = {
        "version": FORMAT_VERSION,
        "x_values": file.x_values,
        "results": dict(file.results),
        "raw_values": dict(file.raw_values),
        "metadata": dict(file.metadata),
    }
    text = json.dumps(whole, sort_keys=True, allow_nan=False, separators=(",", ":"))
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as compressed:
        compressed.write(text.encode("ascii"))
    return out.getvalue()


def write_flent(file: FlentFile, path: str | Path) -> Path:
    """Write a data file, whole or not at all.

    Args:
        file: What to write.
        path: Where; Flent tells what it is by the name's end, ``.flent.gz``.

    Returns:
        The path.
    """
    target = Path(path)
    replace_file(target, flent_bytes(file))
    return target


_LONGEST_NAME = 250
"""Flent's; most file systems have 255."""


def flent_file_name(file: FlentFile) -> str:
    """``NAME-TIME.TITLE.flent.gz``, as Flent names its files: of the title letters and digits."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", file.text("NAME"))[:100]
    stem = f"{name}-{re.sub(r'[^0-9T.-]', '', file.text('TIME'))[:40]}"
    title = re.sub(r"[^A-Za-z0-9-]", "_", str(file.metadata.get("TITLE") or ""))
    title = title[: _LONGEST_NAME - len(stem) - len(SUFFIX) - 1]
    return f"{stem}{'.' + title if title else ''}{SUFFIX}"
