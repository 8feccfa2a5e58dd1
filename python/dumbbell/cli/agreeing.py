"""Whether somebody who may not know that it takes hours wants a run."""

from __future__ import annotations

import sys

from dumbbell.cli.telling import tell
from dumbbell.errors import SpecError
from dumbbell.sweep.interrupted import Interrupted

ASKED_S = 3600.0
"""What is foreseen to take longer is not begun before somebody has agreed."""


def is_long(wall_s: float) -> bool:
    """Whether to ask."""
    return wall_s > ASKED_S


def agree(wall_s: float, *, yes: bool) -> None:
    """Ask on the terminal whether to go on; where there is none, only ``--yes`` agrees.

    Args:
        wall_s: What is foreseen.
        yes: Whether it was agreed to beforehand.

    Raises:
        SpecError: There is nobody to ask.
        Interrupted: The answer was no.
    """
    if yes or not is_long(wall_s):
        return
    hours = f"some {wall_s / 3600:.2g} hours"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        allowed = f"--yes, for what takes {hours}; --dry-run says what it would be"
        raise SpecError("--yes", "not said", allowed)
    tell(f"this takes {hours}, by an estimate that is rather too long. Run it? [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Interrupted("nothing was run")
