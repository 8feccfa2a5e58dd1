"""Signals that ask the command line to end.

Where a command listens (`stopped_by_ctrl_c`), the first one stops the work and keeps what finished,
the second ends at once; elsewhere the first one ends the process.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from dumbbell.cli.terminal.output import tell
from dumbbell.errors import EXIT_STOPPED

_ASKING = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
    if name in signal.Signals.__members__  # Windows has the first two
)
_IMPORTING = "<frozen importlib._bootstrap>"


def stop_signals() -> list[signal.Signals]:
    """Those that ask this process to end: not one that it was started to ignore (`nohup`)."""
    return [number for number in _ASKING if signal.getsignal(number) is not signal.SIG_IGN]


def leave_when_asked() -> None:
    """From now on `stop_signals` raise KeyboardInterrupt, as Ctrl-C does.

    While modules are loaded they end the process at once instead, with status 130: Python runs
    callbacks of its own there, in which an exception is printed and then lost.
    """
    for number in stop_signals():
        signal.signal(number, _on_signal)
    # Registered before what others register, and so called after it.
    atexit.register(_stay_until_the_end)


def leave_at_once_when_asked() -> None:
    """From now on `stop_signals` end the process with status 130: all is done but to leave."""
    for number in stop_signals():
        signal.signal(number, _leave)


def _stay_until_the_end() -> None:
    """Python lets go of its handlers when it ends: a signal would kill what is done already."""
    for number in stop_signals():
        signal.signal(number, signal.SIG_IGN)


def _on_signal(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            _leave(number, frame)
        frame = frame.f_back
    raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(EXIT_STOPPED)


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
