"""``dumbbell mahimahi "mm-delay 20 mm-link up down"``: convert Mahimahi's command lines."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer


def mahimahi_command(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="COMMAND",
            help="What was typed, in quotes: mm-delay, mm-loss, mm-onoff and mm-link, one "
            "inside the other.",
            show_default=False,
        ),
    ],
) -> None:
    """Print an experiment for a command line of Mahimahi.

    It has a download and a ping between the client, inside the shells, and the server: edit them,
    then dumbbell run the file. Traces are read from its folder.
    """
    from dumbbell.cli.terminal.consoles import standard_output
    from dumbbell.errors import SpecError
    from dumbbell.spec.mahimahi import read_command

    if len(words) == 1:
        try:
            words = shlex.split(words[0])
        except ValueError as error:
            raise SpecError("command line", words[0], f"words of a shell ({error})") from None
    standard_output().print(
        read_command(words), end="", markup=False, highlight=False, soft_wrap=True
    )
