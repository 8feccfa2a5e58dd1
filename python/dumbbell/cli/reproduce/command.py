"""The options of ``dumbbell reproduce`` and ``dumbbell studies``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.common.options import (
    DEFAULT_BACKENDS,
    Cluster,
    Jobs,
    Json,
    Memory,
    NoStore,
    Replace,
    Resume,
    Store,
    names_of,
)
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.terminal.consoles import sentences_console


def studies_command(as_json: Json = False) -> None:
    """List the published experiments that can be reproduced."""
    from dumbbell.cli.reproduce.studies import list_studies

    list_studies(sentences_console(as_json=as_json), as_json=as_json)


def reproduce_command(
    study: Annotated[str, typer.Argument(help="Name of a study, or all.", metavar="STUDY|all")],
    *,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Backend: sim, kernel, or sim,kernel to compare both."),
    ] = None,
    replications: Annotated[
        int | None, typer.Option(help="Replications of each comparison; default: the study's.")
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(help="Replicate until means have this relative half-width, such as 0.01."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 1,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the page (results/STUDY; of all, results).", metavar="DIR"),
    ] = None,
    replace: Replace = False,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Few replications, or all of the study's.")
    ] = True,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Reproduce a published experiment and judge its claims.

    Exit status: 0 done, 1 a theory claim is contradicted, a check or a run failed, 2 bad
    input.
    """
    from dumbbell.cli.common.memory import memory_bytes
    from dumbbell.cli.reproduce import studies
    from dumbbell.studies import StudyOptions

    options = StudyOptions(
        backends=names_of(",".join(backend or ())) or DEFAULT_BACKENDS,
        replications=replications,
        precision=precision,
        seed=seed,
        jobs=jobs,
        memory_bytes=memory_bytes(memory),
        quick=quick,
    )
    status = studies.reproduce(
        study,
        options,
        storing=StoreOptions(store, not no_store, resume),
        cluster=cluster,
        out=out,
        replace=replace,
        as_json=as_json,
        console=sentences_console(as_json=as_json),
    )
    raise typer.Exit(status)
