"""A run's provenance: machine, versions and date."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


@functools.cache
def _machine() -> dict[str, Any]:
    import numpy as np

    return {
        "host": platform.node(),
        "platform": _platform(),
        "cpu": _cpu_model(),
        "cpu_count": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def host_provenance() -> dict[str, Any]:
    """Host, date (UTC), CPU, Python and platform."""
    return {"date": datetime.now(UTC).isoformat(timespec="seconds"), **_machine()}


def package_version() -> str:
    """Version of dumbbell."""
    from dumbbell import _engine

    return _engine.__version__


@functools.cache
def native_module_sha256() -> str:
    """SHA-256 of the native module, which produces the results."""
    from dumbbell import _engine

    with Path(_engine.__file__).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _platform() -> str:
    """As `platform.platform` gives it, which starts ``uname -p`` for it: half as much CPU time as
    the simulator takes for a small run.
    """
    try:
        here, library = os.uname(), os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, OSError, ValueError):  # not a system with glibc
        return platform.platform()
    name, _, version = library.partition(" ")
    return f"{here.sysname}-{here.release}-{here.machine}-with-{name}{version}"


def _cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
