"""``dumbbell explain``: search for the setting that gives the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dumbbell.backends import get_backend
from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.folder_names import Overrides
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.common.options import DEFAULT_BACKENDS
from dumbbell.cli.common.page_runs import PageRuns
from dumbbell.cli.common.pages import PagePlace, has_page, page_folder, result_name, result_place
from dumbbell.cli.common.store import stored_executor
from dumbbell.cli.run.dry_run import dry_run
from dumbbell.cli.run.planning import PlannedCells
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.cli.terminal.tables import print_table
from dumbbell.compare.explaining import (
    Explanation,
    Pairs,
    Search,
    cells_of_trials,
    explain,
    search_of,
)
from dumbbell.compare.explaining.page import explanation_report
from dumbbell.compare.explaining.words import answer, outcome, remarks, to_json
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, SpecError
from dumbbell.replication import Interrupted
from dumbbell.spec import Setting
from dumbbell.spec.refusal import nearest, one_of

MOST_ROWS = 12
"""Most settings in the table on the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions(PageRuns):
    """The options; see `PageRuns` for the others.

    Attributes:
        file: A file with printed numbers and unknowns.
        settings: Texts ``PATH=VALUE``.
        pairs: A value of `Pairs`, as text.
        replications: Replications of each cell; None if not given.
        dry_run: Whether to print what would be run without running it.
    """

    file: Path
    settings: tuple[str, ...]
    pairs: str
    replications: int | None
    dry_run: bool


def run_explain(asked: ExplainOptions, console: Console) -> int:
    """Run the command.

    Returns:
        The exit status.

    Raises:
        SpecError: The file, an unknown or an option is not allowed.
    """
    pairs = _pairs(asked.pairs)
    backends = asked.backends or DEFAULT_BACKENDS
    if len(backends) > 1:
        raise SpecError("--backend", ",".join(backends), "one: sim or kernel")
    get_backend(backends[0])
    may_use_bytes = memory_bytes(asked.memory)
    asked.storing.check(is_comparison=True)
    settings = [Setting.parse(each) for each in asked.settings]
    search = search_of(asked.file, settings, pairs=pairs)
    planned = _planned(search, pairs, asked.replications)
    if asked.dry_run:
        return dry_run(
            planned,
            backends,
            jobs=asked.jobs,
            may_use_bytes=may_use_bytes,
            storing=asked.storing,
            tables_below=0,
            as_json=asked.as_json,
            console=console,
        )
    agree_to_runs(
        [planned],
        backends,
        jobs=asked.jobs,
        yes=asked.yes,
        may_use_bytes=may_use_bytes,
        storing=asked.storing,
        cluster=asked.cluster,
    )
    with _place(search, asked, settings) as place:
        with (
            executor_for(asked.cluster, asked.jobs, may_use_bytes, with_tables=False) as executor,
            stopped_by_ctrl_c() as stop,
            shown_progress() as show,
        ):
            found = explain(
                search,
                pairs=pairs,
                replications=asked.replications,
                backends=backends,
                executor=stored_executor(asked.storing, executor, planned.cells, tables_below=0),
                on_progress=show,
                cancel=stop,
            )
        if asked.as_json:
            say(json_text(to_json(found)))
        else:
            _print(found, console)
        if place is not None and not found.interrupted:
            place.write(
                replace(explanation_report(found), files=_files(search, found)), {}, console
            )
    return _status(found)


def _pairs(text: str) -> Pairs:
    words = [each.value for each in Pairs]
    if text not in words:
        raise SpecError("--pairs", text, one_of(words), nearest(text, words))
    return Pairs(text)


def _planned(search: Search, pairs: Pairs, replications: int | None) -> PlannedCells:
    """Everything that may be run; pairs may turn out not to be needed."""
    trials = [search.base, *search.alone]
    if pairs is not Pairs.NEVER:
        trials += search.pairs()[0]
    return PlannedCells(cells_of_trials(trials), [], replications or search.replications, None)


def _place(
    search: Search, asked: ExplainOptions, settings: Sequence[Setting]
) -> AbstractContextManager[PagePlace | None]:
    if not has_page(asked.page, asked.out, as_json=asked.as_json):
        return nullcontext()
    options: dict[str, Sequence[Any]] = {
        "backend": asked.backends if asked.backends != DEFAULT_BACKENDS else (),
        "replications": [] if asked.replications is None else [asked.replications],
        "pairs": [] if asked.pairs == Pairs.AUTO else [asked.pairs],
    }
    besides = Overrides(settings, options={key: each for key, each in options.items() if each})
    name = search.base.claims.cells[0].experiment.name
    return result_place(
        asked.out or page_folder(result_name(name, search.file), "explained", besides),
        subject=f"{name} explained",
        source=search.file if search.file.is_file() else None,
        replace=asked.replace,
        has_page=True,
        is_asked_for=asked.page is True or asked.out is not None,
    )


def _files(search: Search, found: Explanation) -> dict[str, str | bytes]:
    return {
        "experiment.toml": search.file.read_bytes(),
        "explanation.json": json_text(to_json(found)) + "\n",
    }


def _print(found: Explanation, console: Console) -> None:
    name = found.search.base.claims.cells[0].experiment.name
    console.print(Text(answer(found), style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"{name}: settings by fit")
    table.add_column("setting")
    table.add_column("outcome", no_wrap=True)
    for head in ("chi²", "p"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("misses")
    for each in found.fits[:MOST_ROWS]:
        table.add_row(
            each.trial.label,
            outcome(each).value,
            f"{each.joint.statistic:.1f}",
            "<1e-4" if each.joint.p_value < 1e-4 else f"{each.joint.p_value:.2g}",
            ", ".join(number.id for number in each.missed) or "none",
        )
    print_table(table, console, keys=1)
    left = len(found.fits) - MOST_ROWS
    if left > 0:
        console.print(Text(f"and {left} that fit worse (--json has all)"))
    for remark in remarks(found):
        console.print(Text(remark, style="dim"))


def _status(found: Explanation) -> int:
    if found.interrupted:
        return Interrupted.exit_code
    return EXIT_DONE if found.explaining else EXIT_CONTRADICTED_OR_FAILED
