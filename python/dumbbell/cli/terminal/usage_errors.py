"""The group of all commands: commands are imported on use, and usage errors are escaped.

Usage errors quote the command line, which may contain file names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

from typer import Typer, TyperException
from typer.core import TyperGroup
from typer.main import get_group_from_info
from typer.models import TyperInfo

from dumbbell.printable import printable


class Commands(TyperGroup):
    """Commands that are imported on use, with escaped usage errors."""

    groups: ClassVar[Mapping[str, Mapping[str, str]]] = {}
    """For each heading, the commands by name, each with its module below `dumbbell.cli` and the
    name in it: ``run.command:run_command``.
    """

    def __init__(self, **options: Any) -> None:
        """Use the commands of `groups`; see Typer for the options."""
        super().__init__(**options)
        self.commands = _LazyCommands(self.groups)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """See Typer's group."""
        with _printable_errors():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        """See Typer's group."""
        with _printable_errors():
            return super().invoke(ctx)


class _LazyCommands(MutableMapping[str, Any]):
    """Commands by name; looking one up imports its module, listing names imports none."""

    def __init__(self, groups: Mapping[str, Mapping[str, str]]) -> None:
        self._places = {
            name: (heading, place)
            for heading, each in groups.items()
            for name, place in each.items()
        }
        self._found: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._found:
            self._found[name] = _command(name, *self._places[name])
        return self._found[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._places.setdefault(name, ("", ""))
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._found.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _command(name: str, heading: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    found = getattr(import_module(f"dumbbell.cli.{module}"), attribute)
    alone = Typer()
    if isinstance(found, Typer):
        alone.add_typer(found, name=name, rich_help_panel=heading)
    else:
        alone.command(name, rich_help_panel=heading)(found)
    group = get_group_from_info(
        TyperInfo(alone),
        pretty_exceptions_short=True,
        suggest_commands=True,
        rich_markup_mode=alone.rich_markup_mode,
    )
    command = group.commands[name]
    _escape_help(command)
    return command


_MARKUP = re.compile(r"\[[a-z#/@][^\[]*?\]")
"""What rich would take for markup; importing its own `escape` would slow every start."""


def _escape_help(command: Any) -> None:
    """Escape brackets in help texts, and wrap them at the terminal's width."""
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(_escaped(" ".join(each.split())) for each in paragraphs)
    for parameter in command.params:
        if getattr(parameter, "help", None):
            parameter.help = _escaped(parameter.help)
    for each in getattr(command, "commands", {}).values():
        _escape_help(each)


def _escaped(text: str) -> str:
    return _MARKUP.sub(lambda found: "\\" + found[0], text)


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
