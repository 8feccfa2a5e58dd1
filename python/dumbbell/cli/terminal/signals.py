"""Handle signals that ask the command line to end.

Inside `stopped_by_ctrl_c`, the first signal stops the work and keeps finished results, the second
one ends the process at once. Elsewhere the first one ends the process.
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
    """Signals that ask this process to end, except those it was started to ignore (`nohup`)."""
    return [number for number in _ASKING if signal.getsignal(number) is not signal.SIG_IGN]


def interrupt_on_stop_signals() -> None:
    """From now on, `stop_signals` raise KeyboardInterrupt, like Ctrl-C.

    During imports they end the process at once with status 130, because Python prints and drops
    exceptions raised in its own import callbacks.
    """
    for number in stop_signals():
        signal.signal(number, _on_signal)
    # Registered first, and therefore called last.
    atexit.register(_keep_handlers_until_exit)


def exit_on_stop_signals() -> None:
    """From now on, `stop_signals` end the process with status 130; used when all work is done."""
    for number in stop_signals():
        signal.signal(number, _leave)


def _keep_handlers_until_exit() -> None:
    """Keep the handlers until the end: Python restores the default ones at exit, and a signal would
    then change the exit status.
    """
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
    """Yield an event that the first of `stop_signals` sets; restores the previous handlers."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may install handlers
        return

    def on_signal(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        with contextlib.suppress(OSError):  # a closed terminal cannot be written to
            tell("\nstopping; Ctrl-C again to stop at once")

    before = [(number, signal.signal(number, on_signal)) for number in stop_signals()]
    try:
        yield stop
    finally:
        for number, handler in before:
            signal.signal(number, handler)
