"""Where tables are printed."""

from __future__ import annotations

import sys

from rich.console import Console

PIPED_WIDTH = 120
"""Columns of tables that no terminal limits."""


def standard_output() -> Console:
    """Standard output; wide enough for tables when no terminal says otherwise."""
    console = Console(file=sys.stdout)
    return console if console.is_terminal else Console(file=sys.stdout, width=PIPED_WIDTH)
