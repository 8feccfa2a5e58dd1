"""Refuse runs that would exceed memory or take days, before they start."""

from __future__ import annotations

import os

from dumbbell.backends.base import Cost
from dumbbell.errors import SpecError

LONGEST_S = 24 * 3600.0
"""Longest wall time of a replication. A longer run is usually a mistake."""

MOST_A_CORE = 4
"""Most threads per core."""


def threads_that_fit(cost: Cost, threads: int, duration: str, available: int | None) -> int:
    """Number of replications of that cost that may run in parallel.

    A thread may hold a running replication and a finished one that was not taken yet, so memory for
    two runs per thread is needed. The number of threads does not change results.

    Args:
        cost: Cost of one replication.
        threads: Threads asked for, at least 1.
        duration: Its duration as text, for the message.
        available: Free memory in bytes; None when unknown.

    Returns:
        Between 1 and ``threads``.

    Raises:
        SpecError: One replication does not fit in memory, or takes longer than `LONGEST_S`.
    """
    if available is not None and cost.memory_bytes > available:
        raise SpecError(
            "duration",
            duration,
            f"at most what fits in {_size(available)} of free memory, and this run needs "
            f"{_size(cost.memory_bytes)}: shorten it, sample less often (sample_interval), ping "
            "less often, or leave record_packets off",
        )
    if cost.wall_s > LONGEST_S:
        raise SpecError(
            "duration",
            duration,
            f"at most a day per replication, and this one needs {cost.events:.2g} events, about "
            f"{_long_time(cost.wall_s)}: shorten it or lower the rates",
        )
    if available is None:
        return threads
    return max(1, min(threads, available // max(1, 2 * cost.memory_bytes)))


def usable_threads(jobs: int) -> int:
    """Number of threads for the user's ``jobs``: 0 is one per core that this process may use.

    Results do not depend on it. More than `MOST_A_CORE` per core only contend: with a thousand
    threads on two cores, Ctrl-C takes minutes.
    """
    if jobs < 0:
        raise SpecError("jobs", jobs, "0 (one a core) or a number of threads")
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(jobs, MOST_A_CORE * cores) if jobs else cores


def _size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.3g} TB"


def _long_time(seconds: float) -> str:
    days = seconds / 86400
    if days < 3:
        return f"{24 * days:.0f} hours"
    return f"{days:.0f} days" if days < 730 else f"{days / 365.25:.2g} years"
