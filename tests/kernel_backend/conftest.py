from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dumbbell.backends.kernel.cache import TEST_VARIABLE, KernelMissingError, require_kernel
from dumbbell.backends.kernel.guest import GUEST_VARIABLE, GuestMissingError, guest_program
from dumbbell.backends.kernel.module_tree import module_tree
from dumbbell.folders import cache_folder

REPOSITORY = Path(__file__).parents[2]
# For the helpers that the tests of the kernel alone use too.
sys.path.insert(0, str(REPOSITORY / "tests/kernel"))


def _missing(why: str) -> None:
    """A user without a kernel skips these tests; continuous integration must have one."""
    if os.environ.get("CI") or os.environ.get("DUMBBELL_REQUIRE_KERNEL"):
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture
def linux_6_1() -> None:
    """Skip on another kernel what holds it against numbers of 6.1, or of the simulator's TCP."""
    if (name := os.environ.get(TEST_VARIABLE, "6.1")) != "6.1":
        pytest.skip(f"of Linux 6.1, and this is {name}: docs/kernels.md")


@pytest.fixture(scope="session")
def kernel() -> Path:
    """Give the virtual-time kernel, with this checkout's guest built where cargo is there.

    Unless another is named.
    """
    try:
        kernel = require_kernel().path
    except KernelMissingError as error:
        _missing(str(error))
        raise
    if shutil.which("cargo") and GUEST_VARIABLE not in os.environ:
        build = ["cargo", "build", "--quiet", "--release", "-p", "dumbbell-guest"]
        subprocess.run(build, cwd=REPOSITORY, check=True)
    try:
        guest_program()
    except GuestMissingError as error:
        _missing(str(error))
        raise
    return kernel


@pytest.fixture
def modules(kernel: Path) -> None:
    """Skip where nothing to compile modules with was kept of the kernel."""
    if module_tree(require_kernel().key) is None:
        _missing("the kernel was built without what modules need: `dumbbell kernel build` keeps it")


@pytest.fixture
def cache(modules: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the machine's kernels, no modules, and nothing that was ever allowed."""
    own = tmp_path / "cache"
    (own / "dumbbell").mkdir(parents=True)
    for name in ("kernel", "kernel-modules"):
        (own / "dumbbell" / name).symlink_to(cache_folder() / name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
