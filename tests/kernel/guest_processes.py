"""Whose processes are left: only those of a test's own guests are looked at.

Others may run guests of the same kernel at the same time. A guest and its processes work in the
folder of their run.
"""

from __future__ import annotations

from pathlib import Path


def processes_below(folder: Path) -> list[int]:
    """Living processes that work in a folder or below it."""
    place = folder.resolve()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                works_in = (entry / "cwd").readlink()
            except OSError:  # gone, a zombie, or somebody else's
                continue
            if works_in.is_relative_to(place):
                found.append(int(entry.name))
    return found
