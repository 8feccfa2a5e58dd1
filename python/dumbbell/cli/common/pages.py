"""The page of ``dumbbell run``: where it goes, and what is said where it cannot go there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.cli.common.folder_names import AskedBesides, folder_name
from dumbbell.cli.terminal.output import tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.folders import Content, ResultFolder
    from dumbbell.report import Report
    from dumbbell.report.figure_process import FigureProcesses

RESULTS = Path("results")
_LONGEST_NAME = 100


def result_name(name: str, file: Path) -> str:
    """What a folder of results is called: as the experiment is, or as its file without a name.

    Args:
        name: Of the experiment.
        file: In which it is described; it may be a pipe.
    """
    from dumbbell.spec import Experiment

    is_named = name != Experiment.model_fields["name"].default or not file.is_file()
    stem = re.sub(r"[^A-Za-z0-9._=+,-]", "_", file.stem).lstrip("._=+,-")
    return name if is_named or not stem else stem[:_LONGEST_NAME]


def page_folder(name: str, kind: str = "", asked: AskedBesides | None = None) -> Path:
    """``results/NAME-KIND``, and behind it what was asked for besides a file (`folder_name`).

    Args:
        name: A `result_name`.
        kind: Such as ``compared``; empty for a run.
        asked: What was asked for besides its file; None for nothing.
    """
    whole = f"{name}-{kind}" if kind else name
    return RESULTS / (whole if asked is None else folder_name(whole, asked))


def has_page(page: bool | None, out: Path | None, *, as_json: bool) -> bool:
    """Whether several runs have one: who asks for JSON is a program, until they say otherwise."""
    return page or out is not None or (page is None and not as_json)


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A folder that a result can be written to, and the processes that will draw its figures."""

    folder: ResultFolder
    processes: FigureProcesses
    opens: bool = False
    """Whether a browser shows the page when it is written."""

    def write(
        self, report: Report | None, exports: Mapping[str, Content], console: Console
    ) -> None:
        """Write a page, the same in other formats, or both; and say where."""
        from dumbbell.folders import write_content
        from dumbbell.report import FigureDrawer, write_report

        if report is None:
            with self.folder.replaced() as staging:
                for name, content in exports.items():
                    write_content(staging / name, content)
        else:
            whole = replace(report, files={**report.files, **exports})
            drawer = FigureDrawer(self.processes)
            page = write_report(whole, self.folder, drawer=drawer, tell=tell)
            console.print(f"page: {page}", markup=False, soft_wrap=True)
            if self.opens:
                open_page(page)
        if exports:
            said = f"exported: {', '.join(exports)} in {self.folder.folder}"
            console.print(said, markup=False, soft_wrap=True)


def open_page(page: Path) -> None:
    """Show a page in the browser, and say so where there is none."""
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
) -> Iterator[PagePlace | None]:
    """Context from before the run until its result is written; None where there is none to write.

    What draws gets ready meanwhile: that takes longer than the drawing.

    Args:
        folder: Where to.
        subject: What tells its result from that of another experiment, with ``source``.
        source: File of the experiment, where it is one.
        replace: Whether another experiment's result may be replaced.
        has_page: Whether there will be a page.
        has_exports: Whether there will be other formats; then a folder that will not do is an
            error.
        is_asked_for: Whether a page that cannot be written is an error; else a sentence.
        opens: Whether a browser shows the page when it is written.

    Raises:
        SpecError: The folder will not do, and what goes there was asked for.
    """
    if not (has_page or has_exports):
        yield None
        return
    from dumbbell.report import report_folder
    from dumbbell.report.figure_process import FigureProcesses

    place = report_folder(folder, subject, source=source, replace=replace, tell=tell)
    try:
        place.check()
    except SpecError as error:
        if is_asked_for or has_exports:
            raise
        tell(f"no page: {folder}: {error.allowed} (--no-page, --out DIR)")
        yield None
        return
    with FigureProcesses() as processes:
        if has_page:
            processes.start()
        yield PagePlace(place, processes, opens)
