"""When a study's exit status is 1: a measurement contradicts theory, or a check of ours fails.

Of theory: per claim a p-value, per study Holm's procedure. A check is no measurement: one run that
fails it is a fault of the laboratory.
"""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims.model import Judged
from dumbbell.claims.rules.base import CountedAs
from dumbbell.claims.verdicts import Verdict
from dumbbell.claims.view import ClaimView, view_of, views_of
from dumbbell.stats import holm

FAMILYWISE_ERROR = 0.001
"""Chance that exit status 1 is ever raised by a study in which every theory claim is true."""


def contradicting(
    judged: Sequence[Judged], familywise: float = FAMILYWISE_ERROR
) -> list[ClaimView]:
    """The theory claims that the measurements contradict at a familywise error.

    Only claims of theory with a p-value (equality) take part: a published number that is not
    reproduced says something about the publication, not about the laboratory.

    Args:
        judged: Every judged claim of a study.
        familywise: Chance of one or more false alarms among them all.
    """
    tested = [
        (view, view.p_value)
        for view in map(view_of, judged)
        if view.standing is CountedAs.THEORY and view.p_value is not None
    ]
    if not tested:
        return []
    adjusted = holm([p_value for _, p_value in tested])
    return [
        view
        for (view, _), p_adjusted in zip(tested, adjusted, strict=True)
        if p_adjusted <= familywise
    ]


def contradicted(judged: Sequence[Judged], familywise: float = FAMILYWISE_ERROR) -> bool:
    """Whether any theory claim is contradicted (exit status 1). See :func:`contradicting`."""
    return bool(contradicting(judged, familywise))


def failed_checks(judged: Sequence[Judged]) -> list[ClaimView]:
    """The checks of ours that a run fails (exit status 1): what holds by construction does not."""
    return [view for view in views_of(judged) if view.verdict is Verdict.CHECK_FAILS]
