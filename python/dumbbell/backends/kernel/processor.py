"""Pin each guest to a processor of its own.

A User-Mode Linux kernel and the process inside it alternate at every system call and page fault. On
one processor each switch is a context switch; across two processors it wakes an idle processor,
which takes up to twenty times as long in a virtual machine. So each guest is pinned to one
processor. Parallel guests, of any process, get different processors while there are enough.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import socket
from collections.abc import Iterator

MARK = "dumbbell-guest-on-processor"
"""Prefix of the abstract socket name that marks a processor as taken; a dash and its number follow.
"""

_next = itertools.count()


@contextlib.contextmanager
def reserved_processor() -> Iterator[int | None]:
    """Reserve a processor that no other guest of this machine uses, for the block.

    Yields:
        The processor's number; if all are taken, one of them in turn. None on a system that cannot
        pin processes.
    """
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    allowed = sorted(os.sched_getaffinity(0))
    for processor in allowed:
        # Only one process at a time can bind an abstract socket name. It is released when the
        # process ends in any way, and leaves no file.
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
    """Pin the processes that this thread starts in the block to ``processor``; None pins none.

    Only the calling thread is pinned, and released at the end.
    """
    if processor is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {processor})
    except OSError:  # removed from this process meanwhile, or not permitted: it only costs time
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, before)
