"""Whose processes are left: only those of a test's own guests are looked at.

Others may run guests of the same kernel at the same time. A guest and its processes work in the
folder of their run.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dumbbell import errors
from dumbbell.backends.kernel.guest import guest_program


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


_OURS = re.compile(r"from (dumbbell(?:\.\w+)*\.(\w+)) import")
"""A module that the launcher imports, and its last name."""


def lay_launcher(place: Path) -> None:
    """Write ``launcher.py`` into a folder, for a Python that knows nothing of ours.

    Another user's Python may not read root's environment: it gets the few files it needs, and the
    program that confines guests.
    """
    root = Path(errors.__file__).parents[1]
    left = {"dumbbell.backends.kernel.launch": "launch"}
    while left:
        module, name = left.popitem()
        text = root.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        imported = dict(_OURS.findall(text))
        left |= {of: each for of, each in imported.items() if not (place / f"{each}.py").exists()}
        (place / f"{name}.py").write_text(_OURS.sub(r"from \2 import", text), encoding="utf-8")
    shutil.copy(guest_program(), place / "dumbbell-guest")
    (place / "launch.py").rename(place / "launcher.py")
