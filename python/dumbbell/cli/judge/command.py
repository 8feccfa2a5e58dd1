"""Options of ``dumbbell judge``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dumbbell.cli.common.options import (
    AllowNative,
    Backend,
    Cluster,
    Jobs,
    Json,
    Memory,
    NoStore,
    Page,
    Replace,
    Store,
    Yes,
    names_of,
)
from dumbbell.cli.common.store import StoreOptions
from dumbbell.cli.terminal.consoles import sentences_console
from dumbbell.errors import SpecError


def judge_command(
    controllers: Annotated[
        list[str] | None,
        typer.Argument(
            help="A congestion controller: bbr, linux:bbr, my_cc.c, mine.py:Mine; with --course "
            "a folder of them, with --all any number beside the simulator's own.",
            metavar="NAME|FILE|FOLDER",
            show_default=False,
        ),
    ] = None,
    *,
    all_: Annotated[
        bool,
        typer.Option(
            "--all",
            help="A league of all controllers of the simulator and the named ones; linux:* names "
            "all that were built of Linux.",
        ),
    ] = False,
    against: Annotated[
        str,
        typer.Option(help="Controllers that it shares links with.", metavar="NAME[,...]"),
    ] = "reno,cubic,bbr",
    course: Annotated[
        Path | None,
        typer.Option(
            help="Mark a class's submissions by this course file; of the other options only --out, "
            "--allow-native and --json apply.",
            metavar="FILE.toml",
        ),
    ] = None,
    suite: Annotated[
        str,
        typer.Option(
            help="Suite of tests: rfc9743, nsperf (Google's BBR suite), or ccperf (CCPerf's "
            "benchmark).",
            metavar="NAME",
        ),
    ] = "rfc9743",
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick", help="More cells and runs; quick (the default) takes minutes."
        ),
    ] = False,
    with_kernel: Annotated[
        bool,
        typer.Option(
            "--with-kernel",
            help="Run the cell that decides each section on the Linux kernel too, and name first "
            "where the two disagree.",
        ),
    ] = False,
    backend: Backend = None,
    jobs: Jobs = 0,
    memory: Memory = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the page and all it needs (results/NAME-judged, or league-judged).",
            metavar="DIR",
        ),
    ] = None,
    page: Page = None,
    replace: Replace = False,
    allow_native: AllowNative = False,
    yes: Yes = False,
    store: Store = None,
    no_store: NoStore = False,
    as_json: Json = False,
) -> None:
    """Judge a congestion controller by the sections of RFC 9743: alone, beside itself and others.

    Exit status: 0 done, whatever was found; 1 a run failed; 2 bad input.
    """
    from dumbbell.judge.request import ALL_OF_LINUX, Depth
    from dumbbell.spec.native import allowing_native

    named = tuple(dict.fromkeys(controllers or ()))
    if all_ and course is not None:
        raise SpecError("--all", str(course), "it without --course")
    if course is not None and len(named) != 1:
        allowed = "one folder of submissions, or one of its files"
        raise SpecError("FOLDER", ", ".join(named) or "nothing", allowed)
    if not all_ and (len(named) != 1 or ALL_OF_LINUX in named):
        allowed = f"one controller; or --all, and any number, or {ALL_OF_LINUX}"
        raise SpecError("NAME|FILE", ", ".join(named) or "nothing", allowed)
    if suite != "rfc9743" and course is not None:
        raise SpecError("--suite", suite, "it without --course")
    if with_kernel and (all_ or course is not None or backend not in (None, "sim")):
        beside = "--all" if all_ else "--course" if course is not None else f"--backend {backend}"
        raise SpecError("--with-kernel", beside, "it with one controller in the simulator")
    if course is not None:
        from dumbbell.cli.judge.course import judge_course

        with allowing_native(allow_native):
            raise typer.Exit(judge_course(Path(named[0]), course, out, json=as_json))
    from dumbbell.cli.judge.benchmark import run_benchmark
    from dumbbell.cli.judge.judging import run_judge
    from dumbbell.cli.judge.league import run_league
    from dumbbell.cli.judge.running import JudgeOptions

    asked = JudgeOptions(
        against=names_of(against),
        depth=Depth.FULL if full else Depth.QUICK,
        suite=suite,
        with_kernel=with_kernel,
        backends=names_of(backend),
        jobs=jobs,
        memory=memory,
        cluster=cluster,
        out=out,
        page=page,
        replace=replace,
        as_json=as_json,
        yes=yes,
        storing=StoreOptions(store, not no_store),
    )
    console = sentences_console(as_json=as_json)
    with allowing_native(allow_native):
        if all_ and suite == "ccperf":
            raise typer.Exit(run_benchmark(named, asked, console))
        if all_:
            raise typer.Exit(run_league(named, asked, console))
        raise typer.Exit(run_judge(named[0], asked, console))
