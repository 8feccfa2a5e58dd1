"""``dumbbell run`` for one experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.backends import BatchProgress, get_backend, run_many
from dumbbell.cli.common.confirmation import agree_to_run
from dumbbell.cli.common.folder_names import Overrides
from dumbbell.cli.common.pages import page_folder, result_name, result_place
from dumbbell.cli.common.store import StoreOptions, stored_run
from dumbbell.cli.run.summary import print_summary, summary_numbers
from dumbbell.cli.terminal.consoles import print_notices
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.cli.terminal.progress import shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.compare import Summary
from dumbbell.errors import RunError
from dumbbell.replication.interrupted import Interrupted
from dumbbell.replication.progress import Progress
from dumbbell.spec import Experiment, Setting
from dumbbell.tables import Run, run_folder, write_parquet

if TYPE_CHECKING:
    from dumbbell.compare.exporting import Format
    from dumbbell.folders import Content
    from dumbbell.report import Report


def run_file(
    file: Path,
    experiment: Experiment,
    *,
    settings: Sequence[Setting] = (),
    besides: Overrides,
    storing: StoreOptions,
    backend: str,
    replication: int,
    may_use_bytes: int | None,
    out: Path | None,
    page: bool | None,
    opens: bool,
    replace: bool,
    as_json: bool,
    to: str | None,
    yes: bool,
    console: Console,
) -> None:
    """Run the experiment of a file, print its results, and write the requested files.

    These are its page, or with ``out`` its tables, and with ``to`` further formats. ``replace``
    allows overwriting the run of another experiment.
    """
    formats = _formats(to, experiment)
    place = None
    if out is not None:
        place = run_folder(
            out,
            experiment.resolved(),
            replication=replication,
            origin=get_backend(backend).origin,
            source=file if file.is_file() else None,
            replace=replace,
            tell=tell,
        )
        place.check()
    with ExitStack() as stack:
        # JSON and tables are for programs, so there is no page unless it is requested.
        has_page = page or (page is None and not as_json and out is None)
        has_exports = bool(formats) and out is None
        result = stack.enter_context(
            result_place(
                page_folder(result_name(experiment.name, file), asked=besides),
                subject=experiment.name,
                source=file if file.is_file() else None,
                replace=replace,
                has_page=has_page,
                has_exports=has_exports,
                is_asked_for=page is True,
                opens=opens,
            )
        )
        run, summary = stored_run(
            storing,
            experiment,
            settings,
            (replication, backend),
            lambda: run_one(experiment, replication, backend, may_use_bytes=may_use_bytes, yes=yes),
        )
        notices = experiment.notices()
        exports = _exported(run, formats, summary)
        if place is not None:
            write_parquet(run, place, {**_texts(run), **exports})
        if as_json:
            said = {"notices": [each.as_json() for each in notices]}
            say(json_text({**summary_numbers(run, summary), **said}))
        else:
            print_notices(notices, console)
            print_summary(run, console, summary)
        if out is not None:
            console.print(f"tables: {out}", markup=False, soft_wrap=True)
        if result is not None:
            report = _report(run, experiment, summary) if has_page else None
            result.write(report, exports if has_exports else {}, console)


def _formats(to: str | None, experiment: Experiment) -> Sequence[Format]:
    if to is None:
        return ()
    from dumbbell.compare.exporting import check_formats, formats_of

    formats = formats_of(to)
    check_formats(formats, experiment)
    return formats


def _exported(run: Run, formats: Sequence[Format], summary: Summary) -> Mapping[str, Content]:
    if not formats:
        return {}
    from dumbbell.compare.exporting import exported_run

    return exported_run(run, formats, summary)


def _report(run: Run, experiment: Experiment, summary: Summary) -> Report:
    from dumbbell.cli.run.own_queue import own_queue_notes
    from dumbbell.compare.held_flows import held_flow_sentences, held_flows
    from dumbbell.compare.run_page import run_report
    from dumbbell.spec import Resolved

    notes = [str(each) for each in experiment.notices()]
    described = Resolved(experiment.resolved())
    notes += own_queue_notes(described)
    notes += held_flow_sentences(list(held_flows(summary, described)))
    return run_report(run, experiment, notes, summary)


def run_one(
    experiment: Experiment,
    replication: int,
    backend: str,
    *,
    may_use_bytes: int | None = None,
    yes: bool = False,
    has_dry_run: bool = True,
) -> Run:
    """Perform one run with progress and Ctrl-C handling; long runs are announced first.

    Raises:
        Interrupted: It was stopped, or not confirmed.
        SpecError: It takes hours, ``yes`` is not set, and there is no terminal to ask on.
        RunError: It failed.
    """
    cost = get_backend(backend).check(experiment.resolved_json())
    agree_to_run(cost, yes=yes, has_dry_run=has_dry_run)
    with stopped_by_ctrl_c() as stop, shown_progress() as show:

        def tell(progress: BatchProgress) -> None:
            show(Progress(experiment.name, min(progress.done, 1.0), 1.0, "run"))

        runs = run_many(
            [(experiment, replication)],
            backend=backend,
            jobs=1,
            memory_bytes=may_use_bytes,
            cancel=stop,
            on_progress=tell,
        )
        for _, run in runs:
            return run
        if stop.is_set():
            raise Interrupted("stopped; nothing was written")
    raise RunError("the run gave no result")


def _texts(run: Run) -> dict[str, str]:
    """Logs as a testbed's programs would have written them."""
    from dumbbell.compare.program_logs import ping_files, ss_files, tc_files

    return {**ping_files(run), **tc_files(run), **ss_files(run)}
