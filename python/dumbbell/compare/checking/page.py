"""The page of a check: claims with verdicts first, then the runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dumbbell.claims import Verdict, counts_of, views_of
from dumbbell.compare.checking.asserted import Checked
from dumbbell.compare.page import comparison_report
from dumbbell.report import Report
from dumbbell.report.badges import count_words

CHECK = "check"
"""Name of the page's study."""


def check_report(checked: Checked, files: Mapping[str, str | bytes]) -> Report:
    """The page of a user's own claims.

    Args:
        checked: Runs and verdicts.
        files: Files from which the check can be repeated.
    """
    found = comparison_report(checked.comparison)
    name = checked.comparison.cells[0].experiment.name
    return replace(
        found,
        study=CHECK,
        title=f"{name}: what is claimed of it",
        summary=summary(checked),
        judged=checked.judged,
        rules_file=Path(checked.comparison.cells[0].source).name,
        files=dict(files),
    )


def summary(checked: Checked) -> str:
    """Number of facts for each verdict, and the contradicted ones."""
    told: dict[Verdict, int] = {}
    for count in counts_of(views_of(checked.judged)):
        for verdict, number in count.verdicts.items():
            told[verdict] = told.get(verdict, 0) + number
    counts = ", ".join(count_words(verdict, number) for verdict, number in told.items())
    said = f"Facts: {counts}." if counts else "Nothing is counted: previews and checks only."
    against = ", ".join(each.claim.id for each in checked.contradicted)
    return f"{said} Contradicted: {against}." if against else said
