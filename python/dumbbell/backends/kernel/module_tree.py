"""Headers, configuration, scripts and symbols for compiling modules for a built kernel.

They are saved beside the kernels, by key, when these are built; the rest of the build tree is
removed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dumbbell.folders import cache_folder

SYMBOLS = "Module.symvers"
_KEPT = ("Makefile", "Kbuild", ".config", "include", "scripts", "arch/um", "arch/x86")
_NOT_KEPT = (".c", ".S", ".o", ".cmd", ".d", ".l", ".y", ".dts", ".dtsi", ".cocci", ".rst")
_NEEDED = ("scripts/module-common.c",)
"""Sources that are compiled into every module (Linux 6.12)."""
_EXPORTED = re.compile(r"(?m) __ksymtab_(\w+)$")


def module_tree(key: str) -> Path | None:
    """The folder for the kernel with that key; None if missing."""
    place = _place(key)
    return place if (place / SYMBOLS).is_file() else None


def keep_module_tree(tree: Path, kernel: Path, key: str) -> None:
    """Copy the needed files of a prepared tree (``make modules_prepare``).

    Args:
        tree: The kernel's build tree.
        kernel: The kernel, whose exported symbols modules may use.
        key: The kernel's key.

    Raises:
        OSError: The cache folder cannot be written.
    """
    place = _place(key)
    new = place.with_name(f"{key}.new")
    for folder in (new, place):
        shutil.rmtree(folder, ignore_errors=True)  # left by a killed build
    try:
        for file in _kept_files(tree):
            target = new / file.relative_to(tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target, follow_symlinks=False)
        (new / SYMBOLS).write_text(_symbols(kernel), encoding="utf-8")
        new.rename(place)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _place(key: str) -> Path:
    return cache_folder() / "kernel-modules" / key


def _kept_files(tree: Path) -> Iterator[Path]:
    for place in (tree / name for name in _KEPT):
        files = place.rglob("*") if place.is_dir() else [place]
        for file in files:
            is_file = file.is_symlink() or file.is_file()
            if is_file and (file.suffix not in _NOT_KEPT or str(file.relative_to(tree)) in _NEEDED):
                yield file


def _symbols(kernel: Path) -> str:
    """The symbol list for modpost: without CONFIG_MODVERSIONS there are no checksums."""
    done = subprocess.run(["nm", str(kernel)], capture_output=True, text=True, check=False)
    names = sorted(set(_EXPORTED.findall(done.stdout)))
    return "".join(f"0x00000000\t{name}\tvmlinux\tEXPORT_SYMBOL\t\n" for name in names)
