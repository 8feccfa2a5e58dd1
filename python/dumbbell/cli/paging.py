"""The page of ``dumbbell run``: where it goes, and what is said where it cannot go there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.cli.telling import tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.report import Report

RESULTS = Path("results")


def page_folder(name: str, suffix: str = "") -> Path:
    """``results/NAME``; an experiment's name is one of files."""
    return RESULTS / f"{name}{suffix}"


def write_page(
    made: Callable[[], Report],
    folder: Path,
    *,
    subject: str,
    source: Path | None,
    replace: bool,
    is_asked_for: bool,
    console: Console,
) -> None:
    """Write a page and say where it is.

    Args:
        made: Makes the report; called when the folder will do.
        folder: Where to.
        subject: What tells its result from that of another experiment, with ``source``.
        source: File of the experiment, where it is one.
        replace: Whether another experiment's page may be replaced.
        is_asked_for: Whether a page that cannot be written is an error; else a sentence.
        console: Where the address is printed.

    Raises:
        SpecError: The folder will not do, and the page was asked for.
    """
    from dumbbell.report import report_folder, write_report

    place = report_folder(folder, subject, source=source, replace=replace, tell=tell)
    try:
        place.check()
    except SpecError as error:
        if is_asked_for:
            raise
        print(f"no page: {folder}: {error.allowed} (--no-page, --out DIR)", file=sys.stderr)
        return
    page = write_report(made(), place, tell=tell)
    console.print(f"page: {page}", markup=False, soft_wrap=True)
