"""Ctrl-C and whatever else asks a program to end: the first one stops the work and keeps what
finished, the second at once.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from dumbbell.cli.leaving import stop_signals
from dumbbell.cli.telling import tell


@contextlib.contextmanager
def stopped_by_ctrl_c() -> Iterator[threading.Event]:
    """Give an event that the first of `stop_signals` sets; the handlers before are restored."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may handle signals
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        with contextlib.suppress(OSError):  # a terminal that was closed takes no words
            tell("\nstopping; Ctrl-C again to stop at once")

    before = [(number, signal.signal(number, on_signal)) for number in stop_signals()]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)
