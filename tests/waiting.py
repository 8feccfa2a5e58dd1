"""Waiting for what comes, and not for a time in which it should: machines are busy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 180.0
"""Promised are seconds: far beyond what a machine takes that does ten other things."""

Found = TypeVar("Found")


def wait_until(
    condition: Callable[[], Found],
    awaited: object = "",
    *,
    pause: Callable[[], object] = lambda: time.sleep(0.05),
) -> Found:
    """Ask again and again until something is true, and give it.

    ``awaited`` is said when it did not come; it is put into words only then. ``pause`` is made
    between two questions, for a page that must go on meanwhile.
    """
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, awaited
        pause()
    return found
