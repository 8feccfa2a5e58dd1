"""Write data files: equal files are equal byte for byte."""

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
    """The compressed file, without time stamp and file name."""
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
    """Write a data file atomically.

    Args:
        file: The content.
        path: The path; Flent recognizes the extension ``.flent.gz``.

    Returns:
        The path.
    """
    target = Path(path)
    replace_file(target, flent_bytes(file))
    return target


_LONGEST_NAME = 250
"""Flent's limit; most file systems allow 255."""


def flent_file_name(file: FlentFile) -> str:
    """``NAME-TIME.TITLE.flent.gz``, as in Flent: only letters and digits of the title are used."""
    name = re.sub(r"[^A-Za-z0-9_-]", "_", file.text("NAME"))[:100]
    stem = f"{name}-{re.sub(r'[^0-9T.-]', '', file.text('TIME'))[:40]}"
    title = re.sub(r"[^A-Za-z0-9-]", "_", str(file.metadata.get("TITLE") or ""))
    title = title[: _LONGEST_NAME - len(stem) - len(SUFFIX) - 1]
    return f"{stem}{'.' + title if title else ''}{SUFFIX}"
