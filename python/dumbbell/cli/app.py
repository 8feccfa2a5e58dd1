"""The commands: each is a module or a package beside this one, and a line here."""

from __future__ import annotations

from typing import Annotated

import typer

from dumbbell.cli.terminal.output import say_version
from dumbbell.cli.terminal.usage_errors import Commands

GROUPS: dict[str, dict[str, str]] = {
    "Run and check an experiment": {
        "run": "run.command:run_command",
        "check": "check.command:check_command",
        "explain": "explain.command:explain_command",
        "judge": "judge.command:judge_command",
        "lab": "lab:lab_command",
        "schema": "schema:schema_command",
    },
    "Model a real line": {
        "twin": "twin.command:twin_command",
        "advise": "twin.advise:advise_command",
        "home": "home:home_command",
    },
    "Work with results": {
        "results": "results:results_app",
        "figures": "figures:figures_command",
        "analyze": "analyze.command:analyze_command",
    },
    "Reproduce published results": {
        "studies": "reproduce.command:studies_command",
        "reproduce": "reproduce.command:reproduce_command",
    },
    "Use other tools and real kernels": {
        "flent": "flent.command:flent_command",
        "shell": "shell.command:shell_command",
        "packetdrill": "packetdrill.command:packetdrill_command",
        "kernel": "kernel.command:kernel_app",
        "controller": "controller:controller_app",
        "ccperf": "ccperf:ccperf_app",
        "mahimahi": "mahimahi:mahimahi_command",
    },
}
"""Commands by the heading of ``dumbbell --help``, in its order; each with its module below
`dumbbell.cli` and the name in it: a function, or a group of subcommands. A module is imported when
its command is used.
"""

COMMANDS: dict[str, str] = {
    name: place for group in GROUPS.values() for name, place in group.items()
}
"""Place of each command, by name."""


class AllCommands(Commands):
    """The commands of `GROUPS`."""

    groups = GROUPS


app = typer.Typer(
    name="dumbbell",
    cls=AllCommands,
    help="A laboratory for queues and congestion control at a bottleneck link.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        say_version()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="And leave.")
    ] = False,
) -> None:
    """A laboratory for queues and congestion control at a bottleneck link."""
