"""Distinguishes a silent program that hangs from one that got no CPU time."""

from __future__ import annotations

import os
import time
from pathlib import Path

_WORKED = 0.75
"""Of its limit in CPU time: a silent program that used so much did work in vain."""
_IDLE = 6.0
"""Times its limit: one that does nothing for so long waits for what never comes."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def hangs(silent_s: float, worked_s: float, limit_s: float) -> bool:
    """Whether a program that may be silent for ``limit_s`` hangs.

    Seconds alone do not tell: on a loaded machine a program may be given none of them.

    Args:
        silent_s: Since it last said something.
        worked_s: CPU time that it used since then.
        limit_s: On a machine of its own.
    """
    return silent_s > limit_s and (worked_s > _WORKED * limit_s or silent_s > _IDLE * limit_s)


class Patience:
    """With a process that was started, from one word of it to the next."""

    def __init__(self, pid: int, limit_s: float) -> None:
        """Begins now.

        Args:
            pid: Of a child; one that has ended and was waited for never hangs.
            limit_s: How long it may be silent on a machine of its own.
        """
        self._pid = pid
        self._limit_s = limit_s
        self.heard()

    def heard(self) -> None:
        """It said something: begin again."""
        self._since_s = time.monotonic()
        self._worked_s = cpu_s(self._pid)

    def is_lost(self) -> bool:
        """Whether it hangs."""
        silent_s = time.monotonic() - self._since_s
        return hangs(silent_s, cpu_s(self._pid) - self._worked_s, self._limit_s)


def cpu_s(pid: int) -> float:
    """CPU time of a process with all its threads, and of its children that have ended (proc(5)).

    0 of a process that is gone: a signal sent to one that has just ended waits for it.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    # The name of the program, in parentheses, may hold anything.
    after_name = stat.rpartition(")")[2].split()
    return sum(int(ticks) for ticks in after_name[11:15]) / _TICKS_PER_S
