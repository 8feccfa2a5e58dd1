"""What whoever wrote a description should know of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from dumbbell.spec import PlacedNotice


def print_notices(notices: Iterable[PlacedNotice], console: Console) -> None:
    """What was read as tc reads it and may have been meant otherwise, a line each."""
    for each in notices:
        console.print(Text(str(each), style="yellow"), soft_wrap=True)
