"""The commands: each is a module or a folder beside this one, and a line here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from dumbbell.cli import ccperf, controller, figures, lab, results, schema
from dumbbell.cli.analyze.command import analyze_command
from dumbbell.cli.check.command import check_command
from dumbbell.cli.flent.command import flent_command
from dumbbell.cli.kernel.command import kernel_app
from dumbbell.cli.packetdrill.command import packetdrill_command
from dumbbell.cli.reproduce.command import reproduce_command, studies_command
from dumbbell.cli.run.command import run_command
from dumbbell.cli.shell.command import shell_command
from dumbbell.cli.terminal.output import say
from dumbbell.cli.terminal.usage_errors import Commands

GROUPS: dict[str, dict[str, Callable[..., Any] | typer.Typer]] = {
    "Run and check an experiment": {
        "run": run_command,
        "check": check_command,
        "lab": lab.lab_command,
        "schema": schema.schema_command,
    },
    "Work with results": {
        "results": results.results_app,
        "figures": figures.figures_command,
        "analyze": analyze_command,
    },
    "Reproduce published results": {
        "studies": studies_command,
        "reproduce": reproduce_command,
    },
    "Use other tools and real kernels": {
        "flent": flent_command,
        "shell": shell_command,
        "packetdrill": packetdrill_command,
        "kernel": kernel_app,
        "controller": controller.controller_app,
        "ccperf": ccperf.ccperf_app,
    },
}
"""The commands under the heading that ``dumbbell --help`` gives them, in its order."""

COMMANDS: dict[str, Callable[..., Any] | typer.Typer] = {
    name: command for group in GROUPS.values() for name, command in group.items()
}
"""Name of each command to its function, or to the group of its own commands."""

app = typer.Typer(
    name="dumbbell",
    cls=Commands,
    help="A laboratory for queues and congestion control at a bottleneck link.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _heading, _commands in GROUPS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_heading)
        else:
            app.command(_name, rich_help_panel=_heading)(_command)


def _version(wanted: bool) -> None:
    if wanted:
        from dumbbell import __version__

        say(f"dumbbell {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="And leave.")
    ] = False,
) -> None:
    """A laboratory for queues and congestion control at a bottleneck link."""
