"""Limit the wall time of a guest, counting only time in which it had a processor.

On a busy machine a guest waits in the run queue, which must not count against it. Linux measures
that time for every process (``/proc/PID/schedstat``, second number;
Documentation/scheduler/sched-stats.rst). A guest that sleeps or spins does not wait in the run
queue and is killed at the limit.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

_PROC = Path("/proc")
_LONGEST = 10
"""The limit of total wall time, as a multiple of the limit."""
_LOOKED_EVERY_S = 1.0
_SESSION_FIELD = 3
"""Index of the session after the name's closing bracket in ``/proc/PID/stat``: state, parent,
group, session.
"""


class Patience:
    """Tells when a guest has used its time.

    Args:
        leader: The leader of the guest's session.
        limit_s: Time with a processor that is allowed from now on.
    """

    def __init__(self, leader: int, limit_s: float) -> None:  # noqa: D107  # the class says it
        self._leader = leader
        began = time.monotonic()
        self._least, self._most = began + limit_s, began + _LONGEST * limit_s
        self._deadline = self._least

    def left_s(self) -> float:
        """Wall time until the next check or the end; 0 or less at the end."""
        now = time.monotonic()
        if now >= self._deadline and self._deadline < self._most:
            ends = min(self._least + waited_s(self._leader), self._most)
            self._deadline = ends if ends <= now else min(ends, now + _LOOKED_EVERY_S)
        return self._deadline - now


def waited_s(leader: int) -> float:
    """Total time in seconds that the session's living processes spent in the run queue.

    0 if the system does not count it.
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
