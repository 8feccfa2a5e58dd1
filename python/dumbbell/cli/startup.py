"""Prepare a process before large imports: standard streams, threads, garbage collection."""

from __future__ import annotations

import gc
import os
import sys
import threading

_STREAMS = (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w"))
_STACK_BYTES = 1 << 18
_OF_LIBRARIES = 10
"""Threads of Polars and its allocator beyond one per core."""
_NEW_OBJECTS = 50_000
"""Allocations between two garbage collections; with Python's default of 700, imports trigger
hundreds.
"""


def collect_garbage_rarely() -> None:
    """Reduce garbage collections: objects created by imports are permanent."""
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])


def freeze_garbage() -> None:
    """Exempt all imported objects from garbage collection.

    At exit Python would otherwise search them for reference cycles several times: a twentieth of
    the CPU time of a small run.
    """
    gc.freeze()


def disable_pydantic_plugins() -> None:
    """Disable pydantic's plugins, whose discovery reads the metadata of every installed package."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def open_closed_streams() -> bool:
    """Open the null device for closed standard streams (``>&-``), so that no other file gets their
    descriptors and output.

    Returns:
        Whether standard output was open.
    """
    was_there = sys.stdout is not None
    for name, number, mode in _STREAMS:
        if getattr(sys, name) is not None:
            continue
        try:
            os.fstat(number)
        except OSError:
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
        setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    return was_there


def has_room_for_threads() -> bool:
    """Whether enough threads can be started, tried with empty ones.

    Libraries that cannot start a thread (``ulimit -u``, a container's limit) abort the process. A
    child process tries it, because glibc never releases the address space it reserves per thread.
    """
    if not hasattr(os, "fork"):  # Windows has no such limit
        return True
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        status = 1
        try:
            status = 0 if _can_start(3 * (os.cpu_count() or 1) + _OF_LIBRARIES) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _can_start(threads: int) -> bool:
    done = threading.Event()
    threading.stack_size(_STACK_BYTES)
    try:
        for _ in range(threads):
            threading.Thread(target=done.wait, daemon=True).start()
    except RuntimeError:
        return False
    return True
