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
        help="Overwrite the result of another experiment; your own files are kept.",
        rich_help_panel=_WRITTEN,
    ),
]
Backend = Annotated[
    str | None,
    typer.Option(
        help="Backend: sim (the default), kernel, or sim,kernel to compare both.",
        rich_help_panel=_WHERE,
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        help="Kernel for the backend kernel, instead of the file's: 6.1, 6.12, or your own name; "
        "several are compared.",
        metavar="NAME[,...]",
        rich_help_panel=_WHERE,
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(help="Replicate until the intervals have this relative half-width, such as 0.05."),
]
Jobs = Annotated[
    int,
    typer.Option(
        help="Threads, or processes with --cluster local; 0 for one per core.",
        rich_help_panel=_WHERE,
    ),
]
Memory = Annotated[
    str | None, typer.Option(help=MEMORY_HELP, metavar="SIZE", rich_help_panel=_WHERE)
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Run on the workers of a Dask scheduler, tcp://host:8786, or on worker processes of "
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
        help="Write a page, index.html in its folder; off with --json.",
        rich_help_panel=_WRITTEN,
    ),
]
AllowPrograms = Annotated[
    bool,
    typer.Option(
        "--allow-programs",
        help="Allow arbitrary command lines in the file's [[programs]]. They run inside the guest, "
        "which can use this machine's programs and the experiment's network, and nothing else.",
        rich_help_panel=_ALLOWED,
    ),
]
AllowNative = Annotated[
    bool,
    typer.Option(
        "--allow-native",
        help="Allow compiling and loading controllers file:NAME.c, and executing "
        "file:NAME.py:CLASS. They run with all your permissions. Remembered for files with the "
        "same content.",
        rich_help_panel=_ALLOWED,
    ),
]
YES_HELP = "Do not ask before runs that take hours."
Yes = Annotated[bool, typer.Option("--yes", help=YES_HELP, rich_help_panel=_ALLOWED)]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Estimate the number of runs, time and memory; run nothing.",
        rich_help_panel=_BEFORE,
    ),
]
Explain = Annotated[
    bool,
    typer.Option(
        "--explain",
        help="Show how the simulator will handle each queue, and why; run nothing.",
        rich_help_panel=_BEFORE,
    ),
]
Store = Annotated[
    Path | None,
    typer.Option(
        envvar=VARIABLE,
        help="Folder that stores finished runs, so that none is repeated (results/.store).",
        metavar="DIR",
        rich_help_panel=_KEPT,
    ),
]
NoStore = Annotated[
    bool, typer.Option("--no-store", help="Do not use the store.", rich_help_panel=_KEPT)
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Resume an interrupted command; an error if the store has none of its runs.",
        rich_help_panel=_KEPT,
    ),
]
KeepTables = Annotated[
    bool,
    typer.Option(
        "--keep-tables", help="Also store the tables of runs, as Parquet.", rich_help_panel=_WRITTEN
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        help="Perform only this share of the runs, such as 2/8.",
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
