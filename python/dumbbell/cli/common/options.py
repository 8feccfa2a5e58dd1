"""Options that several commands share, each defined once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.common.memory import MEMORY_HELP
from dumbbell.cli.common.store import VARIABLE

DEFAULT_BACKENDS = ("sim",)

# Headings of ``--help`` after the command's own options.
_WHERE = "Where it runs"
_WRITTEN = "What is written"
_KEPT = "Runs that are kept"
_BEFORE = "Before it runs"
_ALLOWED = "What it may do"

Json = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output.", rich_help_panel=_WRITTEN)
]
Replace = Annotated[
    bool,
    typer.Option(
        "--replace",
        help="Also where another experiment's result lies; your own files stay.",
        rich_help_panel=_WRITTEN,
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        help="Where: sim (the default), kernel, or sim,kernel side by side.", rich_help_panel=_WHERE
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="On the backend kernel, in place of the file's: 6.1, 6.12, or your own name; several "
        "are compared.",
        metavar="NAME[,...]",
        rich_help_panel=_WHERE,
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(help="In place of a number: relative half-width to reach, such as 0.05."),
]
Jobs = Annotated[
    int,
    typer.Option(
        help="Threads, or processes of --cluster local; 0 for one a core.", rich_help_panel=_WHERE
    ),
]
Memory = Annotated[
    str | None, typer.Option(help=MEMORY_HELP, metavar="SIZE", rich_help_panel=_WHERE)
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Of several runs: on the workers of a Dask scheduler, tcp://host:8786, or of one on "
        "this machine, local.",
        metavar="ADDRESS|local",
        rich_help_panel=_WHERE,
    ),
]
Page = Annotated[
    bool | None,
    typer.Option(
        "--page/--no-page",
        envvar="DUMBBELL_PAGE",
        help="Also a page, index.html in its folder; left out with --json.",
        rich_help_panel=_WRITTEN,
    ),
]
AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs",
        help="The file's [[programs]] may be any command lines: they run inside the guest, which "
        "sees this machine's programs and the experiment's network, and nothing else.",
        rich_help_panel=_ALLOWED,
    ),
]
AllowNative = Annotated[
    bool,
    typer.Option(
        "--allow-native",
        help="Controllers file:NAME.c may be compiled and loaded, and file:NAME.py:CLASS executed: "
        "they run with all that you may do. Remembered for files of the same content.",
        rich_help_panel=_ALLOWED,
    ),
]
YES_HELP = "Run also what takes hours, without asking."
Yes = Annotated[bool, typer.Option("--yes", help=YES_HELP, rich_help_panel=_ALLOWED)]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="How many runs, how long, how much memory; run nothing.",
        rich_help_panel=_BEFORE,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="How packets will go through each queue of the simulator, and why; run nothing.",
        rich_help_panel=_BEFORE,
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        envvar=VARIABLE,
        help="Folder in which finished runs are kept, so that none is done twice (results/.store).",
        metavar="DIR",
        rich_help_panel=_KEPT,
    ),
]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Keep and look up no runs.", rich_help_panel=_KEPT)
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with what was stopped; refused where nothing is.",
        rich_help_panel=_KEPT,
    ),
]
KeepTables = Annotated[
    bool,
    typer.Option(
        "--keep-tables", help="Keep the tables of runs too, as Parquet.", rich_help_panel=_WRITTEN
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        help="Only this share of the runs, such as 2/8.",
        metavar="NUMBER/SHARDS",
        rich_help_panel=_KEPT,
    ),
]


def kernel_settings(listed: str | None) -> list[str]:
    """The ``--set`` settings for a comma-separated list of kernels."""
    return [f"kernel={json.dumps(name)}" for name in names_of(listed)]


def names_of(listed: str | None) -> tuple[str, ...]:
    """Names from a comma-separated list, without duplicates; empty if not given."""
    return tuple(dict.fromkeys(listed.split(","))) if listed else ()
