"""``dumbbell run``: choose between a single run and a comparison by the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from dumbbell.backends import get_backend
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.common.options import DEFAULT_BACKENDS
from dumbbell.cli.common.page_runs import PageRuns
from dumbbell.cli.common.store import say_share
from dumbbell.cli.run.planning import (
    Document,
    PlannedCells,
    is_comparison,
    overrides_of,
    planned_of,
    single,
)
from dumbbell.cli.terminal.named_pipes import say_if_pipe
from dumbbell.errors import EXIT_DONE, SpecError
from dumbbell.spec import Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(PageRuns):
    """The options; see `PageRuns` for the others. For a single run, its ``out`` is the tables'
    folder.

    Attributes:
        files: Experiments.
        settings: Texts ``PATH=VALUE``.
        replications: Replications of each cell; None if not given.
        precision: Relative half-width; None if not given.
        replication: Number of a single run; None if not given.
        seed: Replaces the files' seed.
        opens: Whether to open the page in a browser.
        to: Further export formats, as typed; None without.
        dry_run: Whether to print what would be run without running it.
        explain: Whether to print how the simulator will handle each queue without running it.
        allow_programs: Whether the files may run programs of this machine.
    """

    files: tuple[Path, ...]
    settings: tuple[str, ...]
    replications: int | None
    precision: float | None
    replication: int | None
    seed: int | None
    to: str | None = None
    dry_run: bool = False
    explain: bool = False
    allow_programs: bool = False
    opens: bool = False


def run_asked(asked: RunOptions, console: Console) -> int:
    """Run the command.

    Returns:
        The exit status.

    Raises:
        SpecError: A file or option is not valid, or options conflict.
    """
    for name in asked.backends:
        get_backend(name)
    settings = [found for each in asked.settings for found in Setting.parse_each(each)]
    if asked.seed is not None:
        if any(each.path == "seed" for each in settings):
            raise SpecError("--seed", asked.seed, "either --seed or --set seed=...")
        settings.append(Setting("seed", asked.seed))
    may_use_bytes = memory_bytes(asked.memory)
    for file in asked.files:
        say_if_pipe(file)
    documents = [Document.read(file) for file in asked.files]
    compares = is_comparison(asked, settings, documents)
    asked.storing.check(is_comparison=compares)
    if compares:
        return _compare(asked, planned_of(asked, settings, documents), may_use_bytes, console)
    return _run_one(asked, settings, documents[0], may_use_bytes, console)


def _compare(
    asked: RunOptions, planned: PlannedCells, may_use_bytes: int | None, console: Console
) -> int:
    from dumbbell.cli.run.comparison import compare_files, kept_runs
    from dumbbell.compare.executing import ShareDone

    if asked.explain:
        raise SpecError("--explain", "a comparison", "a single run of one file")
    if asked.replication is not None:
        allowed = "a single run; of a comparison --replications says how many there are"
        raise SpecError("--replication", asked.replication, allowed)
    if asked.dry_run:
        return _dry_run(asked, planned, kept_runs(asked, planned), may_use_bytes, console)
    try:
        return compare_files(asked, planned, may_use_bytes, console)
    except ShareDone as share:
        return say_share(share, console, as_json=asked.as_json)


def _run_one(
    asked: RunOptions,
    settings: Sequence[Setting],
    document: Document,
    may_use_bytes: int | None,
    console: Console,
) -> int:
    if asked.cluster is not None:
        allowed = "a comparison: say --replications, --precision or several values to compare"
        raise SpecError("--cluster", asked.cluster, allowed)
    if asked.dry_run:
        planned = single(asked, settings, document)
        # A single run prints more than its summary.
        return _dry_run(asked, planned, planned.first + 1, may_use_bytes, console)
    experiment = document.experiment(settings, allow_programs=asked.allow_programs)
    if asked.explain:
        from dumbbell.cli.run.explain import explain

        if asked.backends != DEFAULT_BACKENDS:
            raise SpecError("--explain", f"--backend {asked.backends[0]}", "the simulator")
        explain(experiment, as_json=asked.as_json, console=console)
        return EXIT_DONE
    from dumbbell.cli.run.single import run_file

    run_file(
        asked.files[0],
        experiment,
        settings=settings,
        besides=overrides_of(asked, settings, [document], compares=False),
        storing=asked.storing,
        backend=asked.backends[0],
        replication=asked.replication or 0,
        may_use_bytes=may_use_bytes,
        out=asked.out,
        page=asked.page,
        opens=asked.opens,
        replace=asked.replace,
        as_json=asked.as_json,
        to=asked.to,
        yes=asked.yes,
        console=console,
    )
    return EXIT_DONE


def _dry_run(
    asked: RunOptions,
    planned: PlannedCells,
    tables_below: int,
    may_use_bytes: int | None,
    console: Console,
) -> int:
    from dumbbell.cli.run.dry_run import dry_run

    return dry_run(
        planned,
        asked.backends,
        jobs=asked.jobs,
        may_use_bytes=may_use_bytes,
        storing=asked.storing,
        tables_below=tables_below,
        as_json=asked.as_json,
        console=console,
    )
