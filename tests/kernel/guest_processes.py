"""Whose processes are left: only those of a test's own guests are looked at.

Others may run guests of the same kernel at the same time. A guest and its processes work in the
folder of their run.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from dumbbell.backends.kernel import launch


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


def lay_launcher(place: Path) -> None:
    """Write ``launcher.py`` into a folder, for a Python that knows nothing of ours.

    Another user's Python may not read root's environment: it gets the two files it needs.
    """
    folder = Path(launch.__code__.co_filename).parent
    shutil.copy(folder / "processor.py", place / "processor.py")
    text = (folder / "launch.py").read_text(encoding="utf-8")
    text = text.replace("from dumbbell.errors import RunError", "RunError = RuntimeError")
    text = text.replace("from dumbbell.backends.kernel.processor import", "from processor import")
    (place / "launcher.py").write_text(text, encoding="utf-8")
