"""Compile modules for a built kernel, once, by the kernel's own makefiles."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Final

from dumbbell.backends.kernel.build import build_environment
from dumbbell.backends.kernel.cache import KernelInfo, KernelMissingError
from dumbbell.backends.kernel.folders import RunFolder
from dumbbell.backends.kernel.module_tree import module_tree
from dumbbell.backends.kernel.recipe import HZ_CHOICES, VERSIONS
from dumbbell.backends.native import BuildError
from dumbbell.backends.native.building import shown_lines
from dumbbell.folders import replaced_file

_COMPILES_WITHIN_S: Final = 300


def compiled_module(
    kernel: KernelInfo, name: str, place: Path, lay_out: Callable[[Path], None]
) -> Path:
    """A module, compiled if it is missing.

    Args:
        kernel: The kernel it is for.
        name: The module's name.
        place: Path of the module's file.
        lay_out: Writes all files that make reads to a folder, which it creates.

    Raises:
        BuildError: It does not compile; the message contains the compiler's output.
        KernelMissingError: The kernel was built without keeping the tree for compiling modules.
        OSError: The cache folder cannot be written.
    """
    if place.is_file():
        return place
    tree = module_tree(kernel.key)
    if tree is None:
        raise KernelMissingError(_how_to_keep(kernel))
    folder = RunFolder()
    try:
        lay_out(folder.path / "module")
        if re.search(r"[\s:]", str(tree)):  # the kernel's makefiles cannot handle such paths
            shutil.copytree(tree, folder.path / "tree", symlinks=True)
            tree = folder.path / "tree"
        _make(tree, folder.path / "module")
        with replaced_file(place) as new:
            shutil.copyfile(folder.path / "module" / f"{name}.ko", new)
    finally:
        folder.remove()
    return place


def _how_to_keep(kernel: KernelInfo) -> str:
    command = "dumbbell kernel build"
    if kernel.own_name:
        command += f" --source DIR --name {kernel.own_name}"
    elif kernel.version != VERSIONS[0]:
        command += f" --version {kernel.version}"
    if kernel.hz != HZ_CHOICES[0]:
        command += f" --hz {kernel.hz}"
    return (
        f"the virtual-time kernel {kernel.name} (HZ={kernel.hz}) was built before modules were "
        f"compiled for it: run `{command}` once more, which takes a minute and leaves the kernel "
        "as it is"
    )


def _make(tree: Path, folder: Path) -> None:
    """Run make in its own process group, which is killed when the call ends."""
    process = subprocess.Popen(
        ["make", "-s", "-C", str(tree), f"M={folder}", "ARCH=um", "modules"],
        cwd=folder,
        env=build_environment() | {"TMPDIR": str(folder.parent)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=_COMPILES_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise BuildError(f"make was not done in {_COMPILES_WITHIN_S} s") from None
    except OSError as error:
        raise BuildError(f"make cannot be run: {error.strerror}") from None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode:
        lines = [line for line in said.splitlines() if not line.startswith("make")]
        text = "\n".join(lines).replace(f"{folder}/", "")
        raise BuildError(f"as a module of Linux it does not compile:\n{shown_lines(text)}")
