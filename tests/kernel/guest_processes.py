"""Whose processes are left: only those of a test's own guests are looked at.

Others may run guests of the same kernel at the same time. A guest and its processes work in the
folder of their run.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from dumbbell import errors
from dumbbell.backends.kernel import launch
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


_OURS = re.compile(r"from dumbbell\.backends\.kernel\.(\w+) import")
"""The launcher's neighbours."""


def lay_launcher(place: Path) -> None:
    """Write ``launcher.py`` into a folder, for a Python that knows nothing of ours.

    Another user's Python may not read root's environment: it gets the few files it needs, and the
    program that confines guests.
    """
    folder = Path(launch.__code__.co_filename).parent
    left = ["launch"]
    while left:
        name = left.pop()
        text = (folder / f"{name}.py").read_text(encoding="utf-8")
        left += [each for each in _OURS.findall(text) if not (place / f"{each}.py").exists()]
        text = text.replace("from dumbbell.errors import", "from errors import")
        text = text.replace("from dumbbell.backends.kernel.", "from ")
        (place / f"{name}.py").write_text(text, encoding="utf-8")
    shutil.copy(Path(errors.__file__), place / "errors.py")
    shutil.copy(guest_program(), place / "dumbbell-guest")
    (place / "launch.py").rename(place / "launcher.py")
