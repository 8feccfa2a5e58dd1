"""``dumbbell reproduce``: published experiments, judged and written as pages."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dumbbell.claims import contradicting, to_rows
from dumbbell.cli.failing import print_error, print_warning
from dumbbell.cli.jsonable import json_text
from dumbbell.cli.progress import shown_progress
from dumbbell.cli.stopping import stopped_by_ctrl_c
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, DumbbellError, RunError
from dumbbell.report import (
    FigureDrawer,
    IndexEntry,
    check_replaceable,
    claims_table,
    overview_table,
    write_index,
    write_report,
)
from dumbbell.studies import STUDIES, Interrupted, Study, StudyOptions, get_study

if TYPE_CHECKING:
    from dumbbell.report import Report

ALL = "all"
DEFAULT_FOLDER = Path("results")


@dataclass(frozen=True, slots=True)
class _Written:
    """A study that came to its end."""

    report: Report
    page: Path

    def as_json(self) -> dict[str, Any]:
        return {
            "study": self.report.study,
            "title": self.report.title,
            "page": str(self.page),
            "claims": to_rows(self.report.judged),
        }


def reproduce(
    name: str, options: StudyOptions, *, out: Path | None, as_json: bool, console: Console
) -> int:
    """Reproduce one study or all of them.

    Args:
        name: Of a study, or ``all``.
        options: How; progress and cancellation are put in here.
        out: Folder of the page; of ``all``, of the index, with a folder a study in it.
        as_json: Print the claims as JSON instead of tables.
        console: Where tables go.

    Returns:
        The exit status.
    """
    targets = _targets(name, out)
    studies = {each: get_study(each) for each in targets}
    for target in targets.values():
        check_replaceable(target)
    written: list[_Written] = []
    status = EXIT_DONE
    with stopped_by_ctrl_c() as stop, FigureDrawer() as drawer:
        if options.quick:
            # In a campaign of hours the memory is better left to the runs.
            drawer.prepare()
        for each, target in targets.items():
            try:
                done = _one(studies[each], replace(options, cancel=stop), target, drawer)
            except Interrupted as error:
                print_error(error)
            except RunError as error:
                # One study's failure is no reason to lose the others.
                print_error(error)
                status = EXIT_CONTRADICTED_OR_FAILED
            else:
                written.append(done)
                if contradicting(done.report.judged):
                    status = EXIT_CONTRADICTED_OR_FAILED
                if not as_json:
                    _print(done, console)
            if stop.is_set():
                status = Interrupted.exit_code
                break
    if name == ALL and written:
        entries = [IndexEntry.of(each.report) for each in written]
        write_index(entries, out or DEFAULT_FOLDER)
        if not as_json:
            console.print(overview_table(entries))
    if as_json:
        print(json_text([each.as_json() for each in written]))
    return status


def _targets(name: str, out: Path | None) -> Mapping[str, Path]:
    """Study to the folder of its page."""
    if name == ALL:
        return {each: (out or DEFAULT_FOLDER) / each for each in STUDIES}
    return {name: out or DEFAULT_FOLDER / name}


def _one(study: Study, options: StudyOptions, target: Path, drawer: FigureDrawer) -> _Written:
    began = time.monotonic(), time.process_time()
    with shown_progress() as show:
        report = study.reproduce(replace(options, on_progress=show))
    if options.cancelled:
        report, target = _interrupted(report, target)
    times = {
        "wall_s": time.monotonic() - began[0],
        "cpu_s": time.process_time() - began[1],
    }
    report = replace(report, provenance={**report.provenance, **times})
    page = write_report(report, target, drawer=drawer, tell=print_warning)
    return _Written(report, page)


def _interrupted(report: Report, target: Path) -> tuple[Report, Path]:
    """Say on the page that it is not all; and never put it over one that may be whole."""
    note = "This was stopped by hand: it stands on the replications that had finished by then."
    if target.exists() and any(target.iterdir()):
        target = target.with_name(f"{target.name}.interrupted")
        check_replaceable(target)
    return replace(report, notes=(note, *report.notes)), target


def _print(done: _Written, console: Console) -> None:
    console.print(claims_table(done.report.judged, title=done.report.title))
    console.print(Text(done.report.summary))
    against = contradicting(done.report.judged)
    if against:
        names = ", ".join(each.id for each in against)
        console.print(Text(f"contradicts theory: {names}", style="bold red"))
    console.print(Text(f"page: {done.page}"), soft_wrap=True)


def list_studies(console: Console, *, as_json: bool) -> None:
    """Names and what they are."""
    described = []
    for name in STUDIES:
        try:
            study = STUDIES[name]
        except ImportError as error:
            raise DumbbellError(f"study {name} cannot be loaded: {error}") from error
        described.append({"id": study.id, "title": study.title, "summary": study.summary})
    if as_json:
        print(json_text(described))
        return
    for each in described:
        console.print(Text(each["id"], style="bold"), Text(each["title"]), sep="  ")
        console.print(Text(f"  {each['summary']}"), style="dim")
