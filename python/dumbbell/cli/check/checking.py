"""``dumbbell check``: judge a user's own claims, or repeat the check of a folder."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from dumbbell.backends import get_backend
from dumbbell.claims import to_rows
from dumbbell.cli.common.confirmation import agree_to_runs
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.folder_names import Overrides
from dumbbell.cli.common.memory import memory_bytes
from dumbbell.cli.common.options import DEFAULT_BACKENDS
from dumbbell.cli.common.page_runs import PageRuns
from dumbbell.cli.common.pages import (
    PagePlace,
    has_page,
    page_folder,
    result_name,
    result_place,
)
from dumbbell.cli.common.store import StoreOptions, say_share, stored_executor
from dumbbell.cli.run.comparison import KEPT, print_failed
from dumbbell.cli.run.dry_run import dry_run
from dumbbell.cli.run.planning import PlannedCells
from dumbbell.cli.terminal.consoles import print_notices
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.cli.terminal.tables import print_group
from dumbbell.compare.checking import Asserted, Checked, asserted, check
from dumbbell.compare.checking.bundle import (
    MOST_KEPT_REPLICATIONS,
    BundleCheck,
    KeptCheck,
    bundle_files,
    is_bundle,
    read_bundle,
    same,
)
from dumbbell.compare.checking.page import check_report
from dumbbell.compare.executing import ShareDone
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, SpecError
from dumbbell.replication import Interrupted
from dumbbell.report import claims_table
from dumbbell.spec import Setting

_MOST_SENTENCES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(PageRuns):
    """The options; see `PageRuns` for the others.

    Attributes:
        target: A file with claims, or a folder written by an earlier check.
        settings: Texts ``PATH=VALUE``.
        replications: Replications of each cell; None if not given.
        precision: Relative half-width; None if not given.
        strict: Whether an undecided claim counts like a contradicted one.
        dry_run: Whether to print what would be run without running it.
    """

    target: Path
    settings: tuple[str, ...]
    replications: int | None
    precision: float | None
    strict: bool
    dry_run: bool


def run_check(asked: CheckOptions, console: Console) -> int:
    """Run the command.

    Returns:
        The exit status.

    Raises:
        SpecError: The file, a claim or the folder is not allowed.
    """
    for name in asked.backends:
        get_backend(name)
    may_use_bytes = memory_bytes(asked.memory)
    if is_bundle(asked.target):
        again = run_again(asked, may_use_bytes, console)
        if asked.as_json and again.document is not None:
            say(json_text(again.document))
        return again.status
    if asked.target.is_fifo():
        allowed = "a file: the folder of the result has a copy of it"
        raise SpecError(str(asked.target), "a pipe", allowed)
    if asked.replications is not None and asked.replications > MOST_KEPT_REPLICATIONS:
        allowed = f"1 to {MOST_KEPT_REPLICATIONS}: a folder keeps a digest of each"
        raise SpecError("--replications", asked.replications, allowed)
    asked.storing.check(is_comparison=True)
    settings = _settings(asked)
    claims = asserted(asked.target, settings, replications=asked.replications)
    besides = _besides(asked, settings)
    asked = _with_defaults(asked, claims)
    if asked.dry_run:
        return _dry_run(claims, asked, may_use_bytes, console)
    with _place(claims, asked, besides) as place:
        try:
            checked = _run(claims, asked, may_use_bytes)
        except ShareDone as share:
            return say_share(share, console, as_json=asked.as_json)
        if asked.as_json:
            say(json_text(_json(checked)))
        else:
            _print(checked, console)
        _write_page(checked, asked, place, console)
    return _status(checked, strict=asked.strict)


def _besides(asked: CheckOptions, settings: Sequence[Setting]) -> Overrides:
    """Options that differ from the file's defaults."""
    options: dict[str, Sequence[Any]] = {
        "backend": asked.backends if asked.backends != DEFAULT_BACKENDS else (),
        "replications": [] if asked.replications is None else [asked.replications],
        "precision": [] if asked.precision is None else [asked.precision],
    }
    return Overrides(settings, options={key: each for key, each in options.items() if each})


def _with_defaults(asked: CheckOptions, claims: Asserted) -> CheckOptions:
    """Fill in the file's values for options that were not given."""
    replications, precision = asked.replications, asked.precision
    if replications is None and precision is None:
        precision = claims.precision
        replications = claims.replications if precision is None else None
    return replace(
        asked,
        backends=asked.backends or DEFAULT_BACKENDS,
        replications=replications,
        precision=precision,
    )


def _dry_run(
    claims: Asserted, asked: CheckOptions, may_use_bytes: int | None, console: Console
) -> int:
    return dry_run(
        _planned(claims, asked),
        asked.backends,
        jobs=asked.jobs,
        may_use_bytes=may_use_bytes,
        storing=asked.storing,
        tables_below=_kept_runs(asked),
        as_json=asked.as_json,
        console=console,
    )


def _planned(claims: Asserted, asked: CheckOptions) -> PlannedCells:
    return PlannedCells(
        claims.cells,
        claims.failed,
        asked.replications,
        asked.precision,
        at_least=claims.before_precision,
    )


@dataclass(frozen=True, slots=True)
class RepeatedCheck:
    """A check that was repeated from its folder.

    Attributes:
        document: Its JSON; None after a dry run, or if it was interrupted.
        status: The exit status.
        checked: The repeated runs and verdicts; None with it.
    """

    document: dict[str, Any] | None
    status: int
    checked: Checked | None = None


def run_again(
    asked: CheckOptions, may_use_bytes: int | None, console: Console, *, label: str = ""
) -> RepeatedCheck:
    """Repeat the check of a folder, and compare and print numbers and verdicts.

    Args:
        asked: The options.
        may_use_bytes: Memory that all runs may use together.
        console: Console for tables and sentences.
        label: See `asserted`.

    Raises:
        SpecError: The folder holds no check, or it may not be repeated.
    """
    _refuse_what_the_folder_says(asked)
    kept = read_bundle(asked.target)
    claims = asserted(kept.description, kept.settings, replications=kept.replications, label=label)
    asked = replace(
        asked,
        backends=kept.backends,
        replications=kept.replications,
        precision=kept.precision,
        # The folder that a reviewer was given is never overwritten.
        page=bool(asked.out),
        # The runs are repeated, not taken from a store.
        storing=StoreOptions(is_wanted=False),
    )
    if asked.dry_run:
        return RepeatedCheck(None, _dry_run(claims, asked, may_use_bytes, console))
    with _place(claims, asked) as place:
        checked = _run(claims, asked, may_use_bytes)
        if checked.comparison.interrupted:
            return RepeatedCheck(None, Interrupted.exit_code)
        found = same(kept, checked)
        document = {
            **_json(checked),
            "same": found.is_whole,
            "numbers": found.differing,
            "verdicts": found.verdicts,
        }
        if not asked.as_json:
            _print(checked, console)
            _print_sameness(found, kept, checked, console)
        _write_page(checked, asked, place, console)
    status = _status(checked, strict=True) if asked.strict else EXIT_DONE
    if not found.is_whole or checked.comparison.failed:
        status = EXIT_CONTRADICTED_OR_FAILED
    return RepeatedCheck(document, status, checked)


def _refuse_what_the_folder_says(asked: CheckOptions) -> None:
    given = {
        "--set": asked.settings,
        "--backend": asked.backends,
        "--replications": asked.replications,
        "--precision": asked.precision,
    }
    of_a_store = {
        "--resume": asked.storing.resume,
        "--keep-tables": asked.storing.keep_tables,
        "--shard": asked.storing.shard,
    }
    file = asked.target / "experiment.toml"
    for option, value in given.items():
        if value:
            shown = ", ".join(value) if isinstance(value, tuple) else value
            raise SpecError(option, shown, f"nothing: the folder says it; or {file}")
    for option, said in of_a_store.items():
        if said:
            allowed = f"nothing: a folder is run again, whatever a store has; or {file}"
            raise SpecError(option, said if isinstance(said, str) else "", allowed)


def _settings(asked: CheckOptions) -> list[Setting]:
    settings = [Setting.parse(each) for each in asked.settings]
    paths = [each.path for each in settings]
    for each in settings:
        if paths.count(each.path) > 1:
            allowed = "one value of a path: claims name their cells by `where`, or a [sweep] does"
            raise SpecError("--set", str(each), allowed)
    return settings


def _run(claims: Asserted, asked: CheckOptions, may_use_bytes: int | None) -> Checked:
    keep = _kept_runs(asked)
    agree_to_runs(
        [_planned(claims, asked)],
        asked.backends,
        jobs=asked.jobs,
        yes=asked.yes,
        may_use_bytes=may_use_bytes,
        storing=asked.storing,
        tables_below=keep,
        cluster=asked.cluster,
    )
    # Waiting for a scheduler can be interrupted at once.
    with (
        executor_for(
            asked.cluster,
            asked.jobs,
            may_use_bytes,
            with_tables=asked.storing.keep_tables,
        ) as executor,
        stopped_by_ctrl_c() as stop,
        shown_progress() as show,
    ):
        checked = check(
            claims,
            backends=asked.backends,
            replications=asked.replications,
            precision=asked.precision,
            executor=stored_executor(asked.storing, executor, claims.cells, tables_below=keep),
            keep=keep,
            on_progress=show,
            cancel=stop,
        )
    for failed in checked.comparison.failed:
        print_failed(failed)
    return checked


def _has_page(asked: CheckOptions) -> bool:
    return has_page(asked.page, asked.out, as_json=asked.as_json)


def _kept_runs(asked: CheckOptions) -> int:
    return KEPT if _has_page(asked) else 0


def _place(
    claims: Asserted, asked: CheckOptions, besides: Overrides | None = None
) -> AbstractContextManager[PagePlace | None]:
    """Folder of the page, if one is written."""
    if not _has_page(asked):
        return nullcontext()
    name = claims.cells[0].experiment.name
    return result_place(
        asked.out or page_folder(result_name(name, claims.file), "checked", besides),
        subject=f"{name} checked",
        source=claims.file if claims.file.is_file() else None,
        replace=asked.replace,
        has_page=True,
        is_asked_for=asked.page is True or asked.out is not None,
    )


def _write_page(
    checked: Checked, asked: CheckOptions, place: PagePlace | None, console: Console
) -> None:
    """Write the page with all files for a repetition; an interrupted result overwrites nothing."""
    if place is None or checked.comparison.interrupted:
        return
    files = bundle_files(checked, replications=asked.replications, precision=asked.precision)
    place.write(check_report(checked, files), {}, console)


def _status(checked: Checked, *, strict: bool) -> int:
    if checked.comparison.interrupted:
        return Interrupted.exit_code
    is_wrong = checked.contradicted or checked.comparison.failed
    is_open = strict and checked.undecided
    return EXIT_CONTRADICTED_OR_FAILED if is_wrong or is_open else EXIT_DONE


def _print(checked: Checked, console: Console) -> None:
    found = checked.comparison
    notices = {str(each): each for cell in found.cells for each in cell.experiment.notices()}
    print_notices(notices.values(), console)
    name = found.cells[0].experiment.name
    print_group(claims_table(checked.judged, title=f"{name}: {_runs(checked)}"), console, keys=2)
    for what, judged, style in (
        ("contradicted", checked.contradicted, "bold red"),
        ("not decided", checked.undecided, ""),
    ):
        if judged:
            names = ", ".join(dict.fromkeys(each.claim.id for each in judged))
            console.print(Text(f"{what}: {names}", style=style))
    if found.interrupted:
        console.print(Text("Interrupted: judged by the runs that had finished, no page."))


def _runs(checked: Checked) -> str:
    found = checked.comparison
    counts = sorted({each.n for each in found.results.values()})
    what = "members of an ensemble" if found.ensemble else "replications"
    cells = "one cell" if len(found.cells) == 1 else f"{len(found.cells)} cells"
    return f"{' to '.join(str(n) for n in {counts[0], counts[-1]})} {what} of {cells}"


def _print_sameness(
    found: BundleCheck, kept: KeptCheck, checked: Checked, console: Console
) -> None:
    if found.differing:
        console.print(Text("numbers: not those of the folder", style="bold red"))
        print_sentences(found.differing, console)
    else:
        console.print(Text(f"numbers: the same in all {found.runs} runs, by their digests"))
    if found.verdicts:
        console.print(Text("verdicts: not those of the folder", style="bold red"))
        print_sentences(found.verdicts, console)
    else:
        console.print(Text(f"verdicts: the same, all {len(checked.judged)}"))
    if found.version:
        from dumbbell import __version__

        console.print(Text(f"made by dumbbell {kept.version}, run by {__version__}"))


def print_sentences(sentences: Sequence[str], console: Console) -> None:
    """Print the first sentences, and the number of the others."""
    for sentence in sentences[:_MOST_SENTENCES]:
        console.print(Text(f"  {sentence}"), soft_wrap=True)
    if len(sentences) > _MOST_SENTENCES:
        console.print(Text(f"  and {len(sentences) - _MOST_SENTENCES} more"))


def _json(checked: Checked) -> dict[str, Any]:
    found = checked.comparison
    return {
        "claims": to_rows(checked.judged),
        "contradicted": [each.claim.id for each in checked.contradicted],
        "undecided": [each.claim.id for each in checked.undecided],
        "cells": [each.label for each in found.cells],
        "failed": [
            {"cell": each.label, "error": str(each.error), "again": each.command}
            for each in found.failed
        ],
        "ensemble": None if found.ensemble is None else found.ensemble.words,
        "interrupted": found.interrupted,
    }
