"""Errors in what was typed, which quote it: a shell puts names of files there, too."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer import TyperException
from typer.core import TyperGroup

from dumbbell.printable import printable


class Commands(TyperGroup):
    """Commands whose errors are made printable before Typer shows them."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        """As of any group."""
        with _printable_errors():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """As of any group."""
        with _printable_errors():
            return super().invoke(ctx)


@contextmanager
def _printable_errors() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        said: Any = error
        if hasattr(said, "format_message"):
            shown = printable(said.format_message(), lines=True)
            said.format_message = lambda: shown
        raise
