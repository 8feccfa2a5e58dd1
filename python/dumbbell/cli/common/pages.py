"""The page of a result: its folder, and the message if it cannot be written there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.cli.common.folder_names import Overrides, folder_name
from dumbbell.cli.terminal.output import tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.folders import Content, ResultFolder
    from dumbbell.report import Report
    from dumbbell.report.figure_process import FigureProcesses

RESULTS = Path("results")
_LONGEST_NAME = 100


def result_name(name: str, file: Path) -> str:
    """Name for a folder of results: the experiment's name, or the file's if it has none.

    Args:
        name: The experiment's name.
        file: The experiment's file; it may be a pipe.
    """
    from dumbbell.spec import Experiment

    is_named = name != Experiment.model_fields["name"].default or not file.is_file()
    stem = re.sub(r"[^A-Za-z0-9._=+,-]", "_", file.stem).lstrip("._=+,-")
    return name if is_named or not stem else stem[:_LONGEST_NAME]


def page_folder(name: str, kind: str = "", asked: Overrides | None = None) -> Path:
    """``results/NAME-KIND``, followed by settings and options (`folder_name`).

    Args:
        name: A `result_name`.
        kind: Such as ``compared``; empty for a run.
        asked: What was requested in addition to the file; None for nothing.
    """
    whole = f"{name}-{kind}" if kind else name
    return RESULTS / (whole if asked is None else folder_name(whole, asked))


def has_page(page: bool | None, out: Path | None, *, as_json: bool) -> bool:
    """Whether several runs get a page by default: not with JSON, which is for programs."""
    return page or out is not None or (page is None and not as_json)


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A folder for a result, with the processes that will draw its figures."""

    folder: ResultFolder
    processes: FigureProcesses
    opens: bool = False
    """Whether a browser opens the page when it is written."""

    def write(
        self, report: Report | None, exports: Mapping[str, Content], console: Console
    ) -> None:
        """Write a page, other formats, or both; and print the paths."""
        from dumbbell.folders import write_content
        from dumbbell.report import FigureDrawer, write_report

        if report is None:
            with self.folder.replaced() as staging:
                for name, content in exports.items():
                    write_content(staging / name, content)
        else:
            whole = replace(report, files={**report.files, **exports})
            drawer = FigureDrawer(self.processes)
            page = write_report(whole, self.folder, drawer=drawer, tell=tell, is_last=True)
            console.print(f"page: {page}", markup=False, soft_wrap=True)
            if self.opens:
                open_page(page)
        if exports:
            said = f"exported: {', '.join(exports)} in {self.folder.folder}"
            console.print(said, markup=False, soft_wrap=True)


def open_page(page: Path) -> None:
    """Open a page in the browser; print a message if there is none."""
    import webbrowser

    address = page.resolve().as_uri()
    if not webbrowser.open(address):
        tell(f"no browser was found to open {address}")


@contextmanager
def result_place(
    folder: Path,
    *,
    subject: str,
    source: Path | None,
    replace: bool,
    has_page: bool,
    has_exports: bool = False,
    is_asked_for: bool,
    opens: bool = False,
    most_drawing: int | None = None,
) -> Iterator[PagePlace | None]:
    """A context from before the run until the result is written; None if none will be written.

    The drawing processes start in the meantime, which takes longer than the drawing itself.

    Args:
        folder: The folder.
        subject: Identifies the experiment, together with ``source``, to protect other results.
        source: File of the experiment, if it has one.
        replace: Whether another experiment's result may be replaced.
        has_page: Whether there will be a page.
        has_exports: Whether other formats will be written; then an unusable folder is an error.
        is_asked_for: Whether an unwritable page is an error; otherwise a message is printed.
        opens: Whether a browser opens the page when it is written.
        most_drawing: Largest number of drawing processes, of 100 MB each; None for the default.

    Raises:
        SpecError: The folder cannot be used, and its content was asked for.
    """
    if not (has_page or has_exports):
        yield None
        return
    from dumbbell.report import report_folder
    from dumbbell.report.figure_process import MOST_PROCESSES, FigureProcesses

    place = report_folder(folder, subject, source=source, replace=replace, tell=tell)
    try:
        place.check()
    except SpecError as error:
        if is_asked_for or has_exports:
            raise
        tell(f"no page: {folder}: {error.allowed} (--no-page, --out DIR)")
        yield None
        return
    with FigureProcesses(most_drawing or MOST_PROCESSES) as processes:
        if has_page:
            processes.start()
        yield PagePlace(place, processes, opens)
