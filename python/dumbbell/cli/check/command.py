"""The options of ``dumbbell check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.common.options import (
    AllowNative,
    Backend,
    Cluster,
    DryRun,
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


def check_command(
    target: Annotated[
        Path,
        typer.Argument(
            help="An experiment with [[claim]] tables, or a folder that this command wrote.",
            metavar="FILE.toml|FOLDER",
        ),
    ],
    *,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Another value, in every cell, such as duration=10s.",
            metavar="PATH=VALUE",
        ),
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(help="Replications of each cell; default: as many as the rules need.", min=1),
    ] = None,
    precision: Precision = None,
    backend: Backend = None,
    kernel: Kernel = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also exit with status 1 for undecided claims.")
    ] = False,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the page and all it needs (results/NAME-checked).", metavar="DIR"
        ),
    ] = None,
    page: Page = None,
    replace: Replace = False,
    dry_run: DryRun = False,
    allow_native: AllowNative = False,
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    keep_tables: KeepTables = False,
    shard: Shard = None,
    as_json: Json = False,
) -> None:
    """Judge the claims of a file; or repeat the check of a folder and compare the results.

    Exit status for a file: 0 no claim is contradicted, 1 one is, or a run failed; with --strict
    also if one is undecided. For a folder: 0 the same numbers and verdicts, 1 not. 2 bad input.
    """
    from dumbbell.cli.check.checking import CheckOptions, run_check
    from dumbbell.judge.kept_dossier import is_dossier
    from dumbbell.spec.native import allowing_native

    asked = CheckOptions(
        target=target,
        settings=(*(settings or ()), *kernel_settings(kernel)),
        backends=names_of(backend),
        replications=replications,
        precision=precision,
        strict=strict,
        jobs=jobs,
        memory=memory,
        cluster=cluster,
        out=out,
        page=page,
        replace=replace,
        as_json=as_json,
        dry_run=dry_run,
        yes=yes,
        storing=StoreOptions(store, not no_store, resume, keep_tables, shard),
    )
    with allowing_native(allow_native):
        console = sentences_console(as_json=as_json)
        if is_dossier(target):
            from dumbbell.cli.check.dossier import check_dossier

            status = check_dossier(asked, console)
        else:
            status = run_check(asked, console)
    raise typer.Exit(status)
