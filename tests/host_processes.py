"""Processes of this machine: whose they are, and whether they have ended."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def has_ended(pid: int) -> bool:
    """Whether it is gone, or waits to be buried: whoever adopts orphans may be slow."""
    return state(pid) in ("", "Z", "X")


def state(pid: int) -> str:
    """``R``, ``S`` and so on, as in proc(5); nothing of a process that is gone."""
    try:
        return _after_name(Path(f"/proc/{pid}/stat").read_text(errors="replace"))[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children(of: int | None = None) -> set[int]:
    """Processes that this one, or another, started, and that nobody has buried.

    Every process is asked for its parent: the lists of children are kept by thread, and threads
    come and go while they are read.
    """
    parent, found = of or os.getpid(), set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            if int(_after_name(place.read_text(errors="replace"))[1]) == parent:
                found.add(int(place.parent.name))
    return found


def descendants(of: int) -> set[int]:
    """Its children, and theirs."""
    found = children(of)
    return found.union(*(descendants(child) for child in found))


def _after_name(stat: str) -> list[str]:
    # The name of the program, in parentheses, may hold anything.
    return stat.rpartition(")")[2].split()
