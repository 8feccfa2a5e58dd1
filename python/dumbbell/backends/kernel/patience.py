"""How long to wait for a guest: a limit of the wall time in which it had a processor.

A guest on a busy machine waits in the run queue, and that is no fault of its own. Linux counts such
waits for every process (``/proc/PID/schedstat``, second number; Documentation/scheduler/
sched-stats.rst). One that sleeps or spins does not wait there, and is ended in time.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_PROC = Path("/proc")
_LONGEST = 10
"""At most this multiple of the limit passes, however busy the machine is."""
_LOOKED_EVERY_S = 1.0
_SESSION_FIELD = 3
"""Behind the name's closing bracket in ``/proc/PID/stat``: state, parent, group, session."""


class Patience:
    """When a guest has had its time.

    Args:
        leader: The process that leads the guest's session.
        limit_s: What it may take from now on while it has a processor.
    """

    def __init__(self, leader: int, limit_s: float) -> None:  # noqa: D107  # the class says it
        self._leader = leader
        began = time.monotonic()
        self._least, self._most = began + limit_s, began + _LONGEST * limit_s
        self._deadline = self._least

    def left_s(self) -> float:
        """Wall time until the next look or the end; 0 or less when there is none left."""
        now = time.monotonic()
        if now >= self._deadline and self._deadline < self._most:
            ends = min(self._least + waited_s(self._leader), self._most)
            self._deadline = ends if ends <= now else min(ends, now + _LOOKED_EVERY_S)
        return self._deadline - now


def waited_s(leader: int) -> float:
    """Time in seconds that the living processes of a session were ready and had no processor.

    0 where this system does not count it.
    """
    return sum(_waited_ns(process) for process in _of_session(leader)) / 1e9


def _of_session(leader: int) -> list[int]:
    return [
        int(name)
        for name in os.listdir(_PROC)  # noqa: PTH208  # names alone
        if name.isdecimal() and _session_of(name) == leader
    ]


def _session_of(process: str) -> int | None:
    try:
        said = (_PROC / process / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # ended in the meantime
        return None
    return int(said.rpartition(")")[2].split()[_SESSION_FIELD])


def _waited_ns(process: int) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(process) / "schedstat").read_text(encoding="utf-8").split()[1])
    return 0
