"""Errors of looking up tables and columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dumbbell.errors import DumbbellError


class TableError(DumbbellError, KeyError):
    """A table, column, queue, flow or probe that the run does not have."""

    def __init__(self, what: str, asked: object, known: Iterable[str]) -> None:
        """Say what was asked for, what there is and what was probably meant."""
        names = list(known)
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        near = difflib.get_close_matches(str(asked), names, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"no {what} {asked!r} in this run; it has {shown or 'none'}{hint}")

    def __str__(self) -> str:
        """The message; KeyError would put it in quotes."""
        return str(self.args[0])
