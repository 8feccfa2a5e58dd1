"""Unique short names for files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dumbbell.printable import printable


def unique_names(files: Sequence[Path]) -> list[str]:
    """Names of files: the shortest end of each path that distinguishes it from the others.

    Identical paths get a number.
    """
    parts = [file.absolute().parts for file in files]
    for count in range(1, max(map(len, parts)) + 1):
        names = [printable("/".join(each[-count:])) for each in parts]
        if len(set(names)) == len(names):
            return names
    names = [printable(file.name) for file in files]
    return [f"{name} ({number})" for number, name in enumerate(names, start=1)]
