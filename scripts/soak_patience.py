"""Distinguishes a silent program that hangs from one that got no CPU time."""

from __future__ import annotations

import os
import time
from pathlib import Path

_WORKED = 0.75
"""Share of the limit in CPU time: a silent program that used more is hanging."""
_IDLE = 6.0
"""Multiple of the limit: a program idle for longer is waiting forever."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def hangs(silent_s: float, worked_s: float, limit_s: float) -> bool:
    """Return whether a program that may be silent for ``limit_s`` hangs.

    Wall-clock time is not sufficient: on a loaded machine a program may get no CPU time.

    Args:
        silent_s: Time since its last output.
        worked_s: CPU time used since then.
        limit_s: Limit on an idle machine.
    """
    return silent_s > limit_s and (worked_s > _WORKED * limit_s or silent_s > _IDLE * limit_s)


class Patience:
    """Watches a child process between two outputs."""

    def __init__(self, pid: int, limit_s: float) -> None:
        """Start now.

        Args:
            pid: Pid of a child; one that has exited and was reaped never hangs.
            limit_s: Maximum silent time on an idle machine.
        """
        self._pid = pid
        self._limit_s = limit_s
        self.heard()

    def heard(self) -> None:
        """Restart the interval after an output."""
        self._since_s = time.monotonic()
        self._worked_s = cpu_s(self._pid)

    def is_lost(self) -> bool:
        """Return whether it hangs."""
        silent_s = time.monotonic() - self._since_s
        return hangs(silent_s, cpu_s(self._pid) - self._worked_s, self._limit_s)


def cpu_s(pid: int) -> float:
    """Return CPU time of a process with its threads and its reaped children (proc(5)).

    0 for a process that is gone: a signal sent to a process that just exited waits for it.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # The name of the program, in parentheses, may contain any character.
    after_name = stat.rpartition(")")[2].split()
    return sum(int(ticks) for ticks in after_name[11:15]) / _TICKS_PER_S
