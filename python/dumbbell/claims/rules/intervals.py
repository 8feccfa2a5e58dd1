"""Intervals and comparisons that several rules share."""

from __future__ import annotations

import math
from dataclasses import replace

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Pairing, Parameter, Ratio, Runs, Sides
from dumbbell.claims.glyphs import Side
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import (
    Estimate,
    difference_interval,
    equivalence,
    ratio_interval,
    student_interval,
    welch_interval,
)

LEAST_FOR_A_BAND = 3
"""Fewest replications for a simultaneous band. From two, it misses the truth in 16 % of cases
instead of 5 %, since its critical value needs a correlation that two curves cannot show.
"""


ANYTHING = (-math.inf, math.inf)
"""Range of a parameter without known bounds."""


def interval(evidence: Parameter, level: float) -> Estimate:
    """Confidence interval of the parameter that the evidence is about.

    Args:
        evidence: Runs (mean), a ratio of means or a difference of means (paired where the streams
            are shared, else Welch's), or a finished estimate.
        level: Coverage.

    Raises:
        ValueError: The finished estimate is not of a parameter but, for example, a prediction.
    """
    match evidence:
        case Runs():
            return student_interval(evidence.values, level)
        case Ratio():
            return ratio_interval(evidence.above, evidence.below, level)
        case Sides(pairing=Pairing.SHARED_STREAMS):
            return difference_interval(evidence.ours, evidence.other, level)
        case Sides():
            return welch_interval(evidence.ours, evidence.other, level)
        case Estimate():
            if not evidence.is_of_a_parameter:
                raise ValueError(
                    f"this rule is about a parameter; a {evidence.kind.value} interval is not one's"
                )
            return evidence.at_level(level)


def equivalent(found: Estimate, target: float, margin: float) -> Verdict:
    """Equivalence test: inside the margin, outside it, or neither."""
    return {
        "inside": Verdict.REPRODUCED,
        "outside": Verdict.NOT_REPRODUCED,
        "straddles": Verdict.INCONCLUSIVE,
    }[equivalence(found, margin, target).verdict]


def one_sided(found: Estimate, stated: float, side: Side) -> Verdict:
    """One-sided test: wholly on the claimed side, wholly on the other, or neither."""
    above, below = found.low >= stated, found.high <= stated
    if above and below:
        # An interval of zero width on the bound itself satisfies both "at least" and "at most".
        return Verdict.REPRODUCED
    holds, fails = (above, below) if side is Side.AT_LEAST else (below, above)
    if holds:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if fails else Verdict.INCONCLUSIVE


def held_against(
    evidence: Parameter, *, stated: float, side: Side, margin: float | None, level: float
) -> tuple[Estimate, Verdict]:
    """Compare an interval with a number: by equivalence, or on one side of it.

    Args:
        evidence: About one parameter.
        stated: The reference number.
        side: ``equals`` asks for equivalence.
        margin: For ``equals`` only.
        level: Level of the interval.
    """
    found = interval(evidence, level)
    if side is Side.EQUALS:
        if margin is None:
            raise ValueError("equality needs a margin, written before the run")
        return found, equivalent(found, stated, margin)
    return found, one_sided(found, stated, side)


def cut(found: Estimate, lowest: float, highest: float) -> Estimate:
    """The estimate with its interval clipped to the possible range, such as 0 to 1 for a share."""
    low = min(max(found.low, lowest), highest)
    return replace(found, low=low, high=max(min(found.high, highest), low))


def inconclusive(
    found: MeasuredInterval, n: int, least: int, margin: float | None = None
) -> Decision:
    """The decision when there are fewer replications than a rule needs."""
    return Decision(
        verdict=Verdict.INCONCLUSIVE,
        found=found,
        margin=margin,
        remark=f"{n} replications, where this rule needs {least}",
    )
