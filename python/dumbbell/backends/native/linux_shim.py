"""Our own headers and glue code for compiling the C files of Linux's controllers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dumbbell.spec.linux import LinuxFiles

COMPILER_FLAGS: Final = ("-shared", "-fPIC", "-O2", "-ffp-contract=off")
LINUX_FOLDER: Final = Path(__file__).with_name("linux")
LINUX_FLAGS: Final = (
    *COMPILER_FLAGS,
    # Options as in the kernel's Makefile: signed integers wrap, pointers may alias.
    *("-std=gnu11", "-fwrapv", "-fno-strict-aliasing"),
    # A missing declaration means that the file uses a different kernel interface.
    *("-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types"),
    # Vegas has a variable named `gamma`.
    "-Wno-builtin-declaration-mismatch",
)
_INCLUDED = re.compile(r"^\s*#\s*include\s+<([a-z0-9_]+(?:/[a-z0-9_]+){0,3}\.h)>", re.M)
_HEADER = "dumbbell_linux.h"
_BRIDGE = "bridge.c"


def linux_files() -> list[Path]:
    """Texts of all our files, by path."""
    return [LINUX_FOLDER / _HEADER, LINUX_FOLDER / _BRIDGE, Path(__file__)]


def write_linux(files: LinuxFiles, folder: Path) -> list[str]:
    """Write the files to be compiled.

    Args:
        files: The controller's files, written unchanged.
        folder: An empty folder; gets the kernel's paths, and ``include`` with a header for each one
            that a file includes.

    Returns:
        Arguments for the compiler; relative paths are relative to the folder.
    """
    for path, text in files.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        for header in _INCLUDED.findall(text):
            stands_in = folder / "include" / header
            stands_in.parent.mkdir(parents=True, exist_ok=True)
            stands_in.write_text(f"#include <{_HEADER}>\n", encoding="utf-8")
    names = ["main.c"]
    (folder / "main.c").write_text(f'#include "{files.main}"\n', encoding="utf-8")
    for number, path in enumerate(files.needed):
        names.append(f"needed-{number}.c")
        text = f'#define DUMBBELL_IS_NEEDED\n#include "{path}"\n'
        (folder / names[-1]).write_text(text, encoding="utf-8")
    return [*names, str(LINUX_FOLDER / _BRIDGE)]
