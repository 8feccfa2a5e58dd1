"""Convert verdicts to points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from dumbbell.claims import ClaimView, Judged, Verdict, view_of

FULL: Final = frozenset({Verdict.REPRODUCED, Verdict.EXPLAINED_AT, Verdict.CHECK_HOLDS})
NOTHING: Final = frozenset(
    {
        Verdict.NOT_REPRODUCED,
        Verdict.NOT_EXPLAINED,
        Verdict.CHECK_FAILS,
        Verdict.NOT_TESTABLE,
        Verdict.PREVIEW,
        Verdict.CALIBRATION,
    }
)
RULE: Final = (
    "A claim that is reproduced earns its points; one that is not reproduced, or of which there "
    "is no number, earns none. In between counts how much of the measured interval lies where the "
    "claim holds, the shaded part of the drawing: half of it, half of the points. Of a claim over "
    "several settings counts the share of the settings at which it is reproduced."
)
"""`share_of` in words, for pages."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A claim judged for one submission.

    Attributes:
        view: Statement, verdict and interval.
        points: Points earned, to a hundredth.
        of: Points that can be earned.
    """

    view: ClaimView
    points: float
    of: float


def mark_of(judged: Judged, points: float, *, partial: bool) -> Mark:
    """The points for a verdict.

    Args:
        judged: The claim with its verdict.
        points: Points that can be earned.
        partial: Whether an undecided claim earns a part of them.
    """
    share = share_of(judged)
    if not partial and share < 1.0:
        share = 0.0
    return Mark(view_of(judged), round(points * share, 2), points)


def share_of(judged: Judged) -> float:
    """The share of its points that a claim earns, from 0 to 1.

    - *reproduced*, *explained at* and *check holds*: 1.
    - *not reproduced*, *not explained anywhere*, *check fails*, *not testable*, and verdicts that
        are never counted (*preview*, *calibration*): 0.
    - *depends on* a parameter: the number of settings at which the claim is reproduced, divided by
        the number of settings of its grid.
    - *inconclusive* and *uninformative*: the fraction of the measured interval in which the claim
        holds. The claim holds where the rule counts agreement: within the margin around a value, or
        on the claimed side of a bound. 0 without a bounded interval.
    """
    verdict = judged.verdict
    if verdict in FULL:
        return 1.0
    if verdict in NOTHING:
        return 0.0
    decision = judged.decision
    if decision.turns:
        count = {turn.verdict: len(turn.settings) for turn in decision.turns}
        return sum(count.get(each, 0) for each in FULL) / sum(count.values())
    shares = [
        _inside(glyph.low, glyph.high, glyph.shaded) for glyph in judged.claim.rule.glyphs(decision)
    ]
    return min(shares, default=0.0)


def _inside(low: float | None, high: float | None, accepted: tuple[float, float] | None) -> float:
    """Length of the part of an interval that lies in another one."""
    if low is None or high is None or accepted is None or not high - low < math.inf:
        return 0.0
    least, most = accepted
    if high <= low:
        return 1.0 if least <= low <= most else 0.0
    return max(0.0, min(high, most) - max(low, least)) / (high - low)
