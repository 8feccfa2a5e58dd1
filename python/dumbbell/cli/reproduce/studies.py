"""``dumbbell reproduce``: run and judge published experiments, and write their pages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from dumbbell.claims import contradicting, failed_checks, to_rows
from dumbbell.cli.common.executor import executor_for
from dumbbell.cli.common.store import StoreOptions, asked_store
from dumbbell.cli.terminal.errors import print_error, print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.cli.terminal.tables import print_group
from dumbbell.compare.executing.dask import check_backend
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, DumbbellError, RunError
from dumbbell.lab import (
    LIVE,
    has_module,
    live_text,
    story_opening,
    write_laboratory,
    write_live,
    write_story,
)
from dumbbell.report import (
    LABORATORY,
    FigureDrawer,
    IndexEntry,
    check_index,
    claims_table,
    overview_table,
    report_folder,
    write_index,
    write_report,
)
from dumbbell.store import StoreError
from dumbbell.studies import (
    MORE,
    STUDIES,
    Interrupted,
    Study,
    StudyOptions,
    StudyWithRequirements,
    get_study,
    question_of,
    topic_of,
)
from dumbbell.studies.performing import ExecutorPerformer

if TYPE_CHECKING:
    from dumbbell.folders import ResultFolder
    from dumbbell.report import Report
    from dumbbell.store import Store

ALL = "all"
DEFAULT_FOLDER = Path("results")


@dataclass(frozen=True, slots=True)
class _WrittenStudy:
    """A study that was completed."""

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
    name: str,
    options: StudyOptions,
    *,
    storing: StoreOptions,
    cluster: str | None,
    out: Path | None,
    replace: bool,
    as_json: bool,
    console: Console,
) -> int:
    """Reproduce one study or all of them.

    Args:
        name: Name of a study, or ``all``.
        options: Options of the study; executor, progress and cancellation are added here.
        storing: Options of the store.
        cluster: Address of a Dask scheduler or ``local``; None for this process.
        out: Folder of the page; for ``all``, of the index, with one folder per study in it.
        replace: Whether the page of another study may be replaced.
        as_json: Print the claims as JSON instead of tables.
        console: Console for the tables.

    Returns:
        The exit status.
    """
    storing.check(is_comparison=True)
    if cluster is not None:
        for backend in options.backends:
            check_backend(backend)
    targets = _checked_folders(name, out, options, replace=replace)
    studies = {each: get_study(each) for each in targets}
    not_run = _lacking(studies, options)
    written: list[_WrittenStudy] = []
    results = (out or DEFAULT_FOLDER) if name == ALL or out is None else None
    store = asked_store(storing)
    to_run = [study for study in targets if study not in not_run]
    with (
        executor_for(
            cluster, options.jobs, options.memory_bytes, with_tables=True, with_numbers=False
        ) as executor,
        stopped_by_ctrl_c() as stop,
        FigureDrawer() as drawer,
    ):
        if options.quick:
            # In a campaign of hours, memory is better left to the runs.
            drawer.prepare()
        for each in to_run:
            # An interrupted campaign was started with the first study.
            resume = storing.resume and each == to_run[0]
            performer = ExecutorPerformer(executor, store, study=each, resume=resume, tell=tell)
            try:
                with performer:
                    done = _one(
                        studies[each],
                        changed(options, cancel=stop, performer=performer),
                        targets[each],
                        drawer,
                        results,
                        has_index=name == ALL,
                    )
                _say_found(performer, store, resume=storing.resume)
            except StoreError:
                raise  # of all studies
            except DumbbellError as error:
                # A failed study must not stop the others.
                not_run[each] = _print_unless_last(error, alone=name != ALL)
            else:
                written.append(done)
                if not as_json:
                    _print(done, console)
            if stop.is_set():
                break
    not_run = {each: why for each, why in not_run.items() if not isinstance(why, Interrupted)}
    if name == ALL and written:
        entries = [IndexEntry.of(each.report) for each in written]
        entries += [_not_run_entry(studies[each], why) for each, why in not_run.items()]
        entries = [_with_topic(each) for each in entries]
        folder = out or DEFAULT_FOLDER
        _put_laboratory(folder)
        write_story(folder, [each.report.study for each in written])
        write_index(entries, folder, opening=story_opening(), more=_more_entries())
        if not as_json:
            print_group(overview_table(entries), console)
    if as_json:
        say(json_text([each.as_json() for each in written]))
    return Interrupted.exit_code if stop.is_set() else _status(written, not_run.values())


def _say_found(performer: ExecutorPerformer, store: Store | None, *, resume: bool) -> None:
    if performer.found and store is not None:
        verb = "resumed" if resume else "not repeated"
        total = performer.found + performer.made
        tell(f"{performer.found} of {total} runs were in {store.folder}: {verb}")


def _with_bundle(report: Report, results: Path | None) -> tuple[Report, str]:
    """The report, and the address of its live figure's module; empty if it has none.

    Args:
        report: The report of a study.
        results: Folder above the studies' pages, which gets one shared module. When None, each
            page's own folder gets it, because the folder above may not be ours.
    """
    if report.live is None:
        return report, ""
    if results is None:
        return changed(report, files={**report.files, LIVE: live_text()}), LIVE
    write_live(results)
    return report, f"../{LIVE}"


def _put_laboratory(results: Path) -> None:
    """Write the laboratory beside the index, if it can be built; an existing one is kept."""
    place = results / LABORATORY
    if has_module() and not place.exists():
        write_laboratory(place)


def _print_unless_last(error: DumbbellError, *, alone: bool) -> DumbbellError:
    """Print the error; if no other study remains, only failures of runs are handled here."""
    if alone and not isinstance(error, (RunError, Interrupted)):
        raise error
    print_error(error)
    return error


def _status(written: Iterable[_WrittenStudy], not_run: Iterable[DumbbellError]) -> int:
    """Exit status for the worst result."""
    judged = [each.report.judged for each in written]
    is_wrong = any(contradicting(each) or failed_checks(each) for each in judged)
    of_claims = EXIT_CONTRADICTED_OR_FAILED if is_wrong else EXIT_DONE
    return max([of_claims, *(why.exit_code for why in not_run)])


def _checked_folders(
    name: str, out: Path | None, options: StudyOptions, *, replace: bool
) -> dict[str, ResultFolder]:
    """Folder of each study's page, checked to be writable.

    Raises:
        SpecError: A folder contains something that must not be replaced.
    """
    targets = {
        each: _folder(folder, each, options, replace=replace)
        for each, folder in _targets(name, out).items()
    }
    for target in targets.values():
        target.check()
    if name == ALL:
        check_index(out or DEFAULT_FOLDER)
    return targets


def _targets(name: str, out: Path | None) -> Mapping[str, Path]:
    """Folder of each study's page."""
    if name == ALL:
        return {each: (out or DEFAULT_FOLDER) / each for each in STUDIES}
    return {name: out or DEFAULT_FOLDER / name}


def _folder(folder: Path, study: str, options: StudyOptions, *, replace: bool) -> ResultFolder:
    settings = {
        "preset": "quick" if options.quick else "full",
        "backends": ",".join(options.backends),
        "seed": str(options.seed),
    }
    if options.replications is not None:
        settings["replications"] = str(options.replications)
    if options.precision is not None:
        settings["precision"] = str(options.precision)
    return report_folder(folder, study, settings=settings, replace=replace, tell=tell)


def _lacking(studies: Mapping[str, Study], options: StudyOptions) -> dict[str, DumbbellError]:
    """Studies that cannot be run with these options or on this machine, and why; each is reported.

    All are checked before the first one runs.

    Raises:
        DumbbellError: No study can be run.
    """
    found = {}
    for name, study in studies.items():
        try:
            if isinstance(study, StudyWithRequirements):
                study.check(options)
        except DumbbellError as error:
            found[name] = error
    if found and len(found) == len(studies):
        raise next(iter(found.values()))
    for name, lack in found.items():
        print_error(lack, f"{name} is not run: ")
    return found


def _not_run_entry(study: Study, why: DumbbellError) -> IndexEntry:
    return IndexEntry(study=study.id, title=study.title, summary="", not_run=str(why))


def _more_entries() -> list[IndexEntry]:
    """Entries for studies that run only when named, if results exist."""
    return [
        _with_topic(IndexEntry(study=name, title=study.title, summary=study.summary))
        for name, study in MORE.items()
    ]


def _with_topic(entry: IndexEntry) -> IndexEntry:
    topic = topic_of(entry.study)
    return changed(entry, topic=topic, question=question_of(topic))


def _one(
    study: Study,
    options: StudyOptions,
    target: ResultFolder,
    drawer: FigureDrawer,
    results: Path | None,
    *,
    has_index: bool,
) -> _WrittenStudy:
    began = time.monotonic(), time.process_time()
    with shown_progress() as show:
        report = study.reproduce(changed(options, on_progress=show))
    if options.cancelled:
        report, target = _interrupted(report, target, options)
    times = {
        "wall_s": time.monotonic() - began[0],
        "cpu_s": time.process_time() - began[1],
    }
    report = changed(report, provenance={**report.provenance, **times})
    report, live = _with_bundle(report, results)
    page = write_report(
        report, target, drawer=drawer, tell=print_warning, has_index=has_index, live=live
    )
    return _WrittenStudy(report, page)


def _interrupted(
    report: Report, target: ResultFolder, options: StudyOptions
) -> tuple[Report, ResultFolder]:
    """Mark the page as incomplete; it must never replace a page that may be complete."""
    note = "This was stopped by hand: it stands on the replications that had finished by then."
    folder = target.folder
    if folder.exists() and any(folder.iterdir()):
        beside = folder.with_name(f"{folder.name}.interrupted")
        target = _folder(beside, report.study, options, replace=False)
    return changed(report, notes=(note, *report.notes)), target


def _print(done: _WrittenStudy, console: Console) -> None:
    if done.report.judged:
        print_group(claims_table(done.report.judged, title=done.report.title), console, keys=2)
    console.print(Text(done.report.summary))
    for what, found in (
        ("contradicts theory", contradicting(done.report.judged)),
        ("fails a check of ours", failed_checks(done.report.judged)),
    ):
        if found:
            names = ", ".join(each.id for each in found)
            console.print(Text(f"{what}: {names}", style="bold red"))
    console.print(Text(f"page: {done.page}"), soft_wrap=True)


def list_studies(console: Console, *, as_json: bool) -> None:
    """Print the names and titles of the studies."""
    described: list[dict[str, Any]] = []
    for name in (*STUDIES, *MORE):
        try:
            study = get_study(name)
        except ImportError as error:
            raise DumbbellError(f"study {name} cannot be loaded: {error}") from error
        described.append(
            {
                "id": study.id,
                "title": study.title,
                "summary": study.summary,
                "is_of_all": name in STUDIES,
            }
        )
    if as_json:
        say(json_text(described))
        return
    for each in described:
        console.print(Text(each["id"], style="bold"), Text(each["title"]), sep="  ")
        when = "" if each["is_of_all"] else " Run when it is named, not by all."
        console.print(Text(f"  {each['summary']}{when}"), style="dim")
