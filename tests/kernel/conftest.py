from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends.kernel import KernelInfo, find_kernel
from dumbbell.backends.kernel.cache import how_to_build
from dumbbell.backends.kernel.packetdrill import find_packetdrill, how_to_build_packetdrill


@pytest.fixture(scope="session")
def kernel() -> KernelInfo:
    """The kernel in the cache; none is a skip, with CI or DUMBBELL_REQUIRE_KERNEL a failure."""
    found = find_kernel()
    if found is not None:
        return found
    if os.environ.get("CI") or os.environ.get("DUMBBELL_REQUIRE_KERNEL"):
        pytest.fail(how_to_build())
    pytest.skip(how_to_build())


@pytest.fixture(scope="session")
def packetdrill() -> None:
    """packetdrill in the cache, of a checkout that a user names; none is a skip."""
    if find_packetdrill() is None:
        pytest.skip(how_to_build_packetdrill())


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write an executable shell script into the test's folder."""

    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return write


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "a run"
    folder.mkdir()
    return folder
