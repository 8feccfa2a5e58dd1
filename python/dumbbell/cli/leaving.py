"""What a signal that asks the command line to end does wherever no command listens itself."""

from __future__ import annotations

import atexit
import os
import signal
from types import FrameType

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
