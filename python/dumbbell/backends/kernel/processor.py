"""One processor for a guest, and another for the next.

A User-Mode Linux kernel and the process that runs inside it take turns: at every system call and
page fault one stops and the other goes on. On one processor such a turn is a context switch; on
two it is a wake-up of an idle processor, which takes up to twenty times as long in a virtual
machine. So a guest is held to one processor, and guests that run side by side, of this process or
of another, to different ones while there are enough.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

MARK = "dumbbell-guest-on-processor"
"""With a dash and a processor's number, the socket name of who has that processor."""

_next = itertools.count()


@contextlib.contextmanager
def reserved_processor() -> Iterator[int | None]:
    """Keep a processor that no other guest of this machine has, while the block runs.

    Yields:
        Its number. When each has a guest already, one of them in turn. None on a system where a
        process cannot be held to a processor.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    allowed = sorted(os.sched_getaffinity(0))
    for processor in allowed:
        # An abstract socket name is had by one process at a time and is free again however that
        # process ends; it leaves no file.
        with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as mark:
            try:
                mark.bind(f"\0{MARK}-{processor}")
            except OSError:
                continue
            yield processor
            return
    yield allowed[(os.getpid() + next(_next)) % len(allowed)]


@contextlib.contextmanager
def children_on(processor: int | None) -> Iterator[None]:
    """Processes that this thread starts in the block are held to ``processor``; None holds none.

    Only the calling thread is moved, and back again at the end.
    """
    if processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {processor})
    except OSError:  # taken from this process in the meantime, or forbidden: it only costs time
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, before)
