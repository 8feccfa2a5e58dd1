"""What the studies' tests share: the kernel, and a simulator that calls itself the kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pretended_kernel as pretended
import pytest

from dumbbell.backends import registry
from dumbbell.backends.kernel.cache import KernelMissingError, require_kernel
from dumbbell.backends.kernel.guest import guest_program
from dumbbell.errors import RunError
from dumbbell.studies import program_runs


@pytest.fixture(scope="module")
def pretended_kernel() -> Iterator[None]:
    """Put the pretended kernel in place of the real one; it has no programs."""
    modules = registry._MODULES
    real, installed = modules["kernel"], program_runs.are_installed
    modules["kernel"] = pretended.__name__
    program_runs.are_installed = lambda tools: False
    yield
    modules["kernel"], program_runs.are_installed = real, installed


@pytest.fixture(scope="session")
def real_kernel() -> None:
    """Skip without a kernel; in continuous integration there must be one."""
    try:
        require_kernel()
        guest_program()
    except (KernelMissingError, RunError) as error:
        if os.environ.get("DUMBBELL_REQUIRE_KERNEL"):
            pytest.fail(str(error))
        pytest.skip(str(error))
