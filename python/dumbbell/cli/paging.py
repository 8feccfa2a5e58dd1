"""The page of ``dumbbell run``: where it goes, and what is said where it cannot go there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.cli.telling import tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.folders import ResultFolder
    from dumbbell.report import Report
    from dumbbell.report.figure_process import FigureProcesses

RESULTS = Path("results")


def page_folder(name: str, suffix: str = "") -> Path:
    """``results/NAME``; an experiment's name is one of files."""
    return RESULTS / f"{name}{suffix}"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A folder that a page can be written to, and the processes that will draw its figures."""

    place: ResultFolder
    processes: FigureProcesses

    def write(self, report: Report, console: Console) -> None:
        """Write the page and say where it is."""
        from dumbbell.report import FigureDrawer, write_report

        page = write_report(report, self.place, drawer=FigureDrawer(self.processes), tell=tell)
        console.print(f"page: {page}", markup=False, soft_wrap=True)


@contextmanager
def page_place(
    folder: Path, *, subject: str, source: Path | None, replace: bool, is_asked_for: bool
) -> Iterator[PagePlace | None]:
    """Context from before the run until its page is written; None where the folder will not do.

    What draws gets ready meanwhile: that takes longer than the drawing.

    Args:
        folder: Where to.
        subject: What tells its result from that of another experiment, with ``source``.
        source: File of the experiment, where it is one.
        replace: Whether another experiment's page may be replaced.
        is_asked_for: Whether a page that cannot be written is an error; else a sentence.

    Raises:
        SpecError: The folder will not do, and the page was asked for.
    """
    from dumbbell.report import report_folder
    from dumbbell.report.figure_process import FigureProcesses

    place = report_folder(folder, subject, source=source, replace=replace, tell=tell)
    try:
        place.check()
    except SpecError as error:
        if is_asked_for:
            raise
        print(f"no page: {folder}: {error.allowed} (--no-page, --out DIR)", file=sys.stderr)
        yield None
        return
    with FigureProcesses() as processes:
        processes.start()
        yield PagePlace(place, processes)
