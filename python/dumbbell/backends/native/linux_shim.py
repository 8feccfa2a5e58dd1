"""Headers and a bridge of our own, with which the C files of Linux's controllers are compiled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from dumbbell.spec.linux import LinuxFiles

COMPILER_FLAGS: Final = ("-shared", "-fPIC", "-O2", "-ffp-contract=off")
LINUX_FOLDER: Final = Path(__file__).with_name("linux")
LINUX_FLAGS: Final = (
    *COMPILER_FLAGS,
    # As the kernel's Makefile has it: signed numbers wrap, pointers may alias.
    *("-std=gnu11", "-fwrapv", "-fno-strict-aliasing"),
    # Where a file asks for what is not there, the interface is another one.
    *("-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types"),
    # Vegas has a variable `gamma`.
    "-Wno-builtin-declaration-mismatch",
)
_INCLUDED = re.compile(r"^\s*#\s*include\s+<([a-z0-9_]+(?:/[a-z0-9_]+){0,3}\.h)>", re.M)
_HEADER = "dumbbell_linux.h"
_BRIDGE = "bridge.c"


def linux_files() -> list[Path]:
    """All that is ours."""
    return [LINUX_FOLDER / _HEADER, LINUX_FOLDER / _BRIDGE, Path(__file__)]


def write_linux(files: LinuxFiles, folder: Path) -> list[str]:
    """Lays out what is to be compiled.

    Args:
        files: A controller's files, which are written as they are.
        folder: An empty one, where to: the kernel's paths, and ``include`` with a header for each
            that a file includes.

    Returns:
        What the compiler is given, relative to the folder where it is not absolute.
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
