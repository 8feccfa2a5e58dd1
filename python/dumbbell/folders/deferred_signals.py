"""Defer signals that ask the process to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

STOPPING = tuple(
    signal.Signals[name]
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if name in signal.Signals.__members__
)
"""Signals that ask a process to end; Windows has no SIGHUP."""


@contextlib.contextmanager
def deferred_signals() -> Iterator[None]:
    """Defer these signals to the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread can handle signals, and it receives them
        return
    came: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        came.append(number)

    # A handler that was not installed from Python cannot be restored, so it is kept.
    before = {number: signal.getsignal(number) for number in STOPPING}
    for number, handler in before.items():
        if handler is not None:
            signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
