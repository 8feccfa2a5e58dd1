"""``dumbbell controller build | list``: congestion controllers of one's own, in C."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from dumbbell.cli.terminal.consoles import standard_output
from dumbbell.cli.terminal.output import say, tell
from dumbbell.errors import EXIT_BAD_INPUT

controller_app = typer.Typer(
    help="Congestion controllers of your own, in C.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@controller_app.command()
def build(
    file: Annotated[Path, typer.Argument(help="A controller in C.", metavar="FILE.c")],
    *,
    as_json: Json = False,
) -> None:
    """Allow a C file to run as a controller, and compile it.

    As --allow-native of dumbbell run, for this file alone: it may then run with all that you may
    do, wherever a description names it and it has this content. Exit status: 0 done, 2 it is no
    controller.
    """
    from dumbbell.backends.native import BuildError, built
    from dumbbell.cli.terminal.json_text import json_text
    from dumbbell.spec.native import allow

    try:
        found = built(allow(file))
    except BuildError as error:
        tell(f"dumbbell: {file}: {error}")
        raise typer.Exit(EXIT_BAD_INPUT) from None
    assert found is not None
    if as_json:
        say(json_text(asdict(found)))
        return
    numbers = [f"{p.name} = {p.value} ({p.least} to {p.most})" for p in found.parameters]
    say(f"{found.name}: {found.sha256}")
    say(f"parameters: {', '.join(numbers) or 'none'}")


@controller_app.command("list")
def list_controllers(*, as_json: Json = False) -> None:
    """List the controllers that a description may name, and the folder of the header."""
    from dumbbell import _engine
    from dumbbell.backends.native import HEADER, kept
    from dumbbell.cli.terminal.json_text import json_text

    own = list(_engine.congestion_controllers())
    files = list(kept())
    if as_json:
        listed = [
            {"sha256": sha256, "built": None if found is None else asdict(found)}
            for sha256, found in files
        ]
        say(json_text({"simulator": own, "files": listed, "include": str(HEADER.parent)}))
        return
    say(f"of the simulator: {', '.join(own)}")
    if files:
        table = Table("allowed C file (SHA-256)", "name", "parameters", box=None)
        for sha256, found in files:
            names = "" if found is None else ", ".join(each.name for each in found.parameters)
            table.add_row(sha256[:16], "not compiled" if found is None else found.name, names)
        standard_output().print(table)
    say(f"header: {HEADER}")
