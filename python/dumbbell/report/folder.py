"""The output folder of a report."""

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
    """Return the folder of a report; call its ``check`` before a long simulation.

    Args:
        folder: New, empty, or holding an earlier report of the same study.
        study: Identifier of the study.
        source: Source file, if the report is about a file.
        settings: Settings as text, stored to identify the report later.
        replace: Whether the report of another study may be replaced.
        tell: Called with a sentence about anything unexpected.
    """
    subject = Subject(study, source, settings=settings or {})
    return ResultFolder(folder, REPORT, subject, replace=replace, tell=tell)
