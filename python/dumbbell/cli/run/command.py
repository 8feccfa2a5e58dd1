"""The options of ``dumbbell run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.common.options import (
    DEFAULT_BACKENDS,
    AllowNative,
    AllowPrograms,
    Backend,
    Cluster,
    DryRun,
    Explain,
    Jobs,
    Json,
    KeepTables,
    Kernel,
    Memory,
    NoStore,
    Page,
    Precision,
    Replace,
    Resume,
    Shard,
    Store,
    Yes,
    kernel_settings,
    names_of,
)
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.terminal.consoles import sentences_console


def run_command(
    context: typer.Context,
    files: Annotated[
        list[Path], typer.Argument(help="Experiments in TOML.", metavar="FILE.toml...")
    ],
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another value, such as 'links[a->b].forward.qdisc=pie' or duration=10s; "
            "several values of one path are compared.",
            metavar="PATH=VALUE",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(help="Replications, for intervals; 10 by default in comparisons.", min=1),
    ] = None,
    precision: Precision = None,
    backend: Backend = None,
    kernel: Kernel = None,
    replication: Annotated[
        int | None, typer.Option(help="For a single run: number of the replication.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed, instead of the file's.")] = None,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the tables of a single run, or for a comparison's page "
            "(results/NAME-compared).",
            metavar="DIR",
        ),
    ] = None,
    page: Page = None,
    opens: Annotated[
        bool, typer.Option("--open", help="Open the page in a browser when it is written.")
    ] = False,
    watches: Annotated[
        bool,
        typer.Option("--watch", help="Run again whenever a file is saved, until Ctrl-C."),
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            help="Also export, beside the page or in --out, to csv, parquet, sqlite, json; for a "
            "single run also flent, pcapng, and logs of ping, ss, tc.",
            metavar="FORMAT[,...]",
        ),
    ] = None,
    replace: Replace = False,
    allow_programs: AllowPrograms = False,
    allow_native: AllowNative = False,
    dry_run: DryRun = False,
    explain: Explain = False,
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    keep_tables: KeepTables = False,
    shard: Shard = None,
    as_json: Json = False,
) -> None:
    """Run an experiment and print its results, or compare several.

    Several files, several values of one path, several backends, --replications or --precision
    make a comparison: numbers with intervals, and what differs. A [sweep] in the file, or many
    values, make a table with a row for each, and figures over them.

    Exit status: 0 done, 1 a run failed (the others are reported), 2 bad input, 130 stopped with
    Ctrl-C, as --watch always is.
    """
    from dumbbell.cli.run.options import RunOptions, run_asked
    from dumbbell.errors import SpecError
    from dumbbell.spec.native import allowing_native

    if opens:
        source = context.get_parameter_source("page")
        if page is False and source is not None and source.name == "COMMANDLINE":
            raise SpecError("--open", "--no-page", "one of them")
        page = True

    asked = RunOptions(
        files=tuple(files),
        settings=(*(settings or ()), *kernel_settings(kernel)),
        backends=names_of(backend) or DEFAULT_BACKENDS,
        replications=replications,
        precision=precision,
        replication=replication,
        seed=seed,
        jobs=jobs,
        memory=memory,
        cluster=cluster,
        out=out,
        page=page,
        opens=opens,
        replace=replace,
        as_json=as_json,
        to=to,
        dry_run=dry_run,
        explain=explain,
        yes=yes,
        storing=StoreOptions(store, not no_store, resume, keep_tables, shard),
        allow_programs=allow_programs,
    )
    console = sentences_console(as_json=as_json)
    with allowing_native(allow_native):
        if watches:
            from dumbbell.cli.run.watching import watch

            status = watch(asked, lambda each: run_asked(each, console))
        else:
            status = run_asked(asked, console)
    raise typer.Exit(status)
