"""Where a report goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dumbbell.folders import ResultFolder, ResultKind, Subject

REPORT = ResultKind(
    noun="report",
    marker=".dumbbell-report",
    known=frozenset({"index.html", "claims.json", "meta.json", "provenance.json"}),
)


def report_folder(
    folder: str | Path,
    study: str,
    *,
    source: Path | None = None,
    settings: Mapping[str, str] | None = None,
    replace: bool = False,
    tell: Callable[[str], None] | None = None,
) -> ResultFolder:
    """The folder of a report; call its ``check`` before hours of simulation.

    Args:
        folder: New, empty, or with an earlier report of the same study in it.
        study: Identifier of what is reported on.
        source: File that is reported on, where it is one.
        settings: How it was made, as words, to say later what it was.
        replace: Whether the report of another study may be replaced.
        tell: Gets a sentence about whatever a person may not expect.
    """
    subject = Subject(study, source, settings=settings or {})
    return ResultFolder(folder, REPORT, subject, replace=replace, tell=tell)
