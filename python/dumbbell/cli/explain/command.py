"""The options of ``dumbbell explain``."""

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
    Kernel,
    Memory,
    NoStore,
    Page,
    Replace,
    Resume,
    Store,
    Yes,
    kernel_settings,
    names_of,
)
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.terminal.consoles import sentences_console


def explain_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="An experiment with [[claim]] tables of printed numbers and [[unknown]] tables.",
            metavar="FILE.toml",
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
    pairs: Annotated[
        str,
        typer.Option(
            help="Try settings two at a time: always, never, or auto: if none alone fits.",
            metavar="auto|always|never",
        ),
    ] = "auto",
    replications: Annotated[
        int | None,
        typer.Option(
            help="Replications of each cell; default: ten, or as many as the joint test needs.",
            min=1,
        ),
    ] = None,
    backend: Backend = None,
    kernel: Kernel = None,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the page (results/NAME-explained).", metavar="DIR"),
    ] = None,
    page: Page = None,
    replace: Replace = False,
    dry_run: DryRun = False,
    allow_native: AllowNative = False,
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Find which unknown setting, or which two together, give the printed numbers.

    Exit status: 0 something tried gives them (perhaps the file as it is), 1 nothing does, 2 bad
    input.
    """
    from dumbbell.cli.explain.explaining import ExplainOptions, run_explain
    from dumbbell.spec.native import allowing_native

    asked = ExplainOptions(
        file=file,
        settings=(*(settings or ()), *kernel_settings(kernel)),
        pairs=pairs,
        replications=replications,
        dry_run=dry_run,
        backends=names_of(backend),
        jobs=jobs,
        memory=memory,
        cluster=cluster,
        out=out,
        page=page,
        replace=replace,
        as_json=as_json,
        yes=yes,
        storing=StoreOptions(store, not no_store, resume),
    )
    with allowing_native(allow_native):
        status = run_explain(asked, sentences_console(as_json=as_json))
    raise typer.Exit(status)
