"""The memory that runs may use: the least of what the machine, its container and ulimit leave."""

from __future__ import annotations

import math
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_OWN_CGROUPS = Path("/proc/self/cgroup")
_STATM = Path("/proc/self/statm")

_SHARE_OF_ADDRESSES = 0.5
"""Usable share of a limited address space (``ulimit -v``): libraries that are loaded later reserve
much more than they use (Polars, which writes Parquet, 900 MB on two cores), and so does each
thread.
"""


LOOKED_AT_S = 0.1
"""Shortest interval between two measurements: one takes as long as a short run."""


@dataclass(slots=True)
class MemoryLimit:
    """Memory limit of all runs together.

    Attributes:
        asked_bytes: The user's limit; None for what the machine leaves.
    """

    asked_bytes: int | None = None
    _left_bytes: int | None = field(default=None, init=False, repr=False, compare=False)
    _looked_s: float = field(default=-math.inf, init=False, repr=False, compare=False)

    def left_bytes(self) -> int | None:
        """Available memory, at most `LOOKED_AT_S` old, plus what runs have in use.

        None if unknown.
        """
        now_s = time.monotonic()
        if now_s - self._looked_s >= LOOKED_AT_S:
            self._looked_s, self._left_bytes = now_s, available_memory_bytes()
        return self._left_bytes

    def of_new_runs_bytes(self) -> int | None:
        """Memory for runs that have not started; None without a limit."""
        known = [each for each in (self.asked_bytes, self.left_bytes()) if each is not None]
        return min(known) if known else None


def available_memory_bytes() -> int | None:
    """Memory that runs can use without swapping or failing; None if unknown.

    The minimum of the kernel's estimate (``MemAvailable``), of what the limits of this process's
    cgroup and its ancestors (v1 and v2) leave, and of half the address space that ``ulimit -v``
    leaves.
    """
    addresses = _addresses_left()
    share = None if addresses is None else int(_SHARE_OF_ADDRESSES * addresses)
    found = [each for each in (_meminfo_available(), _cgroup_left(), share) if each is not None]
    return min(found) if found else None


def _meminfo_available() -> int | None:
    try:
        for line in _MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _addresses_left() -> int | None:
    """Address space that RLIMIT_AS leaves; None without such a limit."""
    if sys.platform == "win32":
        return None
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(_STATM.read_text(encoding="ascii").split()[0])
    except (ImportError, OSError, ValueError, IndexError):
        return None
    return max(0, limit - pages * os.sysconf("SC_PAGE_SIZE"))


def _cgroup_left() -> int | None:
    """The least memory left by any cgroup of this process; None without a limit."""
    left = []
    for root, own, limit, used, cached in (
        (_CGROUP, _own_cgroup(""), "memory.max", "memory.current", "inactive_file"),
        (
            _CGROUP / "memory",
            _own_cgroup("memory"),
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ):
        for group in (own, *own.parents):
            folder = root / group
            try:
                free = int((folder / limit).read_text()) - int((folder / used).read_text())
            except (OSError, ValueError):
                continue  # missing, or "max": no limit
            # Unused page cache is reclaimed when memory is needed.
            left.append(max(0, free + _counted(folder / "memory.stat", cached)))
    return min(left) if left else None


def _own_cgroup(controller: str) -> Path:
    """This process's relative path in a controller's tree; the empty name is v2's tree."""
    try:
        for line in _OWN_CGROUPS.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                # Groups outside the container's view cannot be read.
                return Path() if ".." in path else Path(path.lstrip("/"))
    except (OSError, ValueError):
        pass
    return Path()


def _counted(file: Path, name: str) -> int:
    try:
        for line in file.read_text(encoding="ascii").splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    except (OSError, ValueError):
        pass
    return 0
