"""When a study exits with status 1: a measurement contradicts theory, or one of our checks fails.

Each theory claim has a p-value; Holm's procedure bounds the familywise error over a study. A check
is not statistical: a single run that fails it is a bug in dumbbell.
"""

from __future__ import annotations

from collections.abc import Sequence

from dumbbell.claims.model import Judged
from dumbbell.claims.rules.base import CountedAs
from dumbbell.claims.verdicts import Verdict
from dumbbell.claims.view import ClaimView, view_of, views_of
from dumbbell.stats import holm

FAMILYWISE_ERROR = 0.001
"""Probability that a study in which every theory claim is true exits with status 1."""


def contradicting(
    judged: Sequence[Judged], familywise: float = FAMILYWISE_ERROR
) -> list[ClaimView]:
    """The theory claims that the measurements contradict at a familywise error.

    Only claims of theory with a p-value (equality) take part: a published number that is not
    reproduced says something about the publication, not about the laboratory.

    Args:
        judged: All judged claims of a study.
        familywise: Probability of one or more false alarms among all of them.
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
    """The checks that a run fails (exit status 1): identities that should hold by construction."""
    return [view for view in views_of(judged) if view.verdict is Verdict.CHECK_FAILS]
