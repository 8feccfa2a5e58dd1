"""The commands and their options; what they do stands in the modules beside this one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.analyzing import analyze_command
from dumbbell.cli.ccperf import ccperf_app
from dumbbell.cli.consoles import sentences_console
from dumbbell.cli.figures_command import figures_command
from dumbbell.cli.flent_command import flent_command
from dumbbell.cli.kernel import kernel_app
from dumbbell.cli.lab_command import lab_command
from dumbbell.cli.options import (
    DEFAULT_BACKENDS,
    AllowPrograms,
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
from dumbbell.cli.packetdrill_command import packetdrill_command
from dumbbell.cli.results_command import results_app
from dumbbell.cli.shell_command import shell_command
from dumbbell.cli.storing import Storing
from dumbbell.cli.telling import say
from dumbbell.cli.usage import Commands

app = typer.Typer(
    name="dumbbell",
    cls=Commands,
    help="A laboratory for queues and congestion control at a bottleneck link.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(kernel_app, name="kernel")
app.add_typer(ccperf_app, name="ccperf")
app.add_typer(results_app, name="results")
app.command("flent")(flent_command)
app.command("analyze")(analyze_command)
app.command("figures")(figures_command)
app.command("lab")(lab_command)
app.command("packetdrill")(packetdrill_command)
app.command("shell")(shell_command)


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


@app.command()
def studies(as_json: Json = False) -> None:
    """List the published experiments that can be reproduced."""
    from dumbbell.cli.reproducing import list_studies

    list_studies(sentences_console(as_json=as_json), as_json=as_json)


@app.command()
def reproduce(
    study: Annotated[str, typer.Argument(help="Name of a study, or all.", metavar="STUDY|all")],
    *,
    backend: Annotated[
        list[str] | None,
        typer.Option(help="Where to run: sim, kernel, or sim,kernel for both side by side."),
    ] = None,
    replications: Annotated[
        int | None, typer.Option(help="Replications of each comparison; the study's when left out.")
    ] = None,
    precision: Annotated[
        float | None, typer.Option(help="Relative half-width of means to reach, such as 0.01.")
    ] = None,
    seed: Annotated[int, typer.Option(help="All randomness follows from it.")] = 1,
    jobs: Annotated[int, typer.Option(help="Threads; 0 for one a core.")] = 0,
    memory: Memory = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the page (results/STUDY; of all, results).", metavar="DIR"),
    ] = None,
    replace: Replace = False,
    quick: Annotated[
        bool, typer.Option("--quick/--full", help="Few replications, or all that are wanted.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Run a published experiment again and judge its claims.

    Exit status: 0 done, 1 a theory claim is contradicted, a check or a run failed, 2 bad
    input.
    """
    from dumbbell.cli import reproducing
    from dumbbell.cli.memory import memory_bytes
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
    status = reproducing.reproduce(
        study,
        options,
        out=out,
        replace=replace,
        as_json=as_json,
        console=sentences_console(as_json=as_json),
    )
    raise typer.Exit(status)


@app.command()
def run(
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
        typer.Option(help="Runs of each, for intervals; 10 where something is compared.", min=1),
    ] = None,
    precision: Precision = None,
    backend: Backend = None,
    kernel: Kernel = None,
    replication: Annotated[
        int | None, typer.Option(help="Of a single run: chooses the random numbers.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the file's.")] = None,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the tables of a single run, or of a comparison's page "
            "(results/NAME-compared).",
            metavar="DIR",
        ),
    ] = None,
    page: Page = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Also in other formats, beside the page or in --out: csv, parquet, sqlite, json; "
            "of a single run flent, pcapng, and as programs would have logged it: ping, ss, tc.",
            metavar="FORMAT[,...]",
        ),
    ] = None,
    replace: Replace = False,
    allow_programs: AllowPrograms = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    keep_tables: KeepTables = False,
    shard: Shard = None,
    as_json: Json = False,
) -> None:
    """Run an experiment and print what happened, or compare several.

    Several files, several values of one path, several backends, --replications or --precision
    make a comparison: numbers with intervals, and what differs. A [sweep] in the file, or many
    values, make a table with a row for each, and figures over them.

    Exit status: 0 done, 1 a run failed (the others are reported), 2 bad input.
    """
    from dumbbell.cli.asking import Asked, run_asked

    asked = Asked(
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
        replace=replace,
        as_json=as_json,
        to=to,
        dry_run=dry_run,
        yes=yes,
        storing=Storing(store, not no_store, resume, keep_tables, shard),
        allow_programs=allow_programs,
    )
    raise typer.Exit(run_asked(asked, sentences_console(as_json=as_json)))


@app.command()
def check(
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
        typer.Option(help="Runs of each cell; as many as the rules need when left out.", min=1),
    ] = None,
    precision: Precision = None,
    backend: Backend = None,
    kernel: Kernel = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Also what is not decided gives exit status 1.")
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
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    resume: Resume = False,
    keep_tables: KeepTables = False,
    shard: Shard = None,
    as_json: Json = False,
) -> None:
    """Judge the claims of a file; or run a folder again and hold it against what it keeps.

    Exit status of a file: 0 no claim is contradicted, 1 one is, or a run failed; with --strict
    also where one is not decided. Of a folder: 0 the same numbers and verdicts, 1 not. 2 bad
    input.
    """
    from dumbbell.cli.checking import CheckAsked, run_check

    asked = CheckAsked(
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
        storing=Storing(store, not no_store, resume, keep_tables, shard),
    )
    raise typer.Exit(run_check(asked, sentences_console(as_json=as_json)))


@app.command()
def schema() -> None:
    """Print the JSON schema of an experiment's file."""
    from dumbbell.cli.jsonable import json_text
    from dumbbell.spec import Experiment

    say(json_text(Experiment.json_schema()))
