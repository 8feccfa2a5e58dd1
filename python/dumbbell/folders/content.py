"""Contents of files to be written: text, bytes, or another file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypeAlias

from dumbbell.printable import utf8

Content: TypeAlias = str | bytes | Path
"""Text (written as UTF-8, line ends unchanged), bytes, or a file to copy."""


def write_content(path: Path, content: Content) -> None:
    """Write a file of a folder that is being made.

    Raises:
        OSError: It cannot be written, or the file to copy cannot be read.
    """
    if isinstance(content, Path):
        shutil.copyfile(content, path)
    else:
        path.write_bytes(utf8(content) if isinstance(content, str) else content)
