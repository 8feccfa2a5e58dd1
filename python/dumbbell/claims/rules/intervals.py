"""What several rules do with an interval."""

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
"""Replications. From two, a band of several points misses the truth in 16 % of cases, not 5 %: its
critical value comes from a correlation that two curves cannot show."""


ANYTHING = (-math.inf, math.inf)
"""What a parameter can be of which nothing is known."""


def interval(evidence: Parameter, level: float) -> Estimate:
    """The interval of the parameter that the evidence is about.

    Args:
        evidence: Mean of runs, ratio of means, or difference of means (paired where the streams
            are shared, else Welch's); or an estimate that is finished.
        level: Coverage wanted.

    Raises:
        ValueError: A finished estimate of something that is no parameter, such as a prediction.
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
    """Inside the margin, outside of it, or neither."""
    return {
        "inside": Verdict.REPRODUCED,
        "outside": Verdict.NOT_REPRODUCED,
        "straddles": Verdict.INCONCLUSIVE,
    }[equivalence(found, margin, target).verdict]


def one_sided(found: Estimate, stated: float, side: Side) -> Verdict:
    """Wholly on the side claimed, wholly on the other, or neither."""
    above, below = found.low >= stated, found.high <= stated
    if above and below:
        # Without any spread, on the bound itself: "at least" and "at most" both hold.
        return Verdict.REPRODUCED
    holds, fails = (above, below) if side is Side.AT_LEAST else (below, above)
    if holds:
        return Verdict.REPRODUCED
    return Verdict.NOT_REPRODUCED if fails else Verdict.INCONCLUSIVE


def held_against(
    evidence: Parameter, *, stated: float, side: Side, margin: float | None, level: float
) -> tuple[Estimate, Verdict]:
    """An interval compared with a number: by equivalence, or on one side of it.

    Args:
        evidence: About one parameter.
        stated: What it is compared with.
        side: Equivalence for ``equals``.
        margin: For ``equals``.
        level: Of the interval.
    """
    found = interval(evidence, level)
    if side is Side.EQUALS:
        if margin is None:
            raise ValueError("equality needs a margin, written before the run")
        return found, equivalent(found, stated, margin)
    return found, one_sided(found, stated, side)


def cut(found: Estimate, lowest: float, highest: float) -> Estimate:
    """The estimate with its ends inside what is possible, such as a share's 0 to 1."""
    low = min(max(found.low, lowest), highest)
    return replace(found, low=low, high=max(min(found.high, highest), low))


def inconclusive(
    found: MeasuredInterval, n: int, least: int, margin: float | None = None
) -> Decision:
    """The decision where there are fewer replications than a rule needs."""
    return Decision(
        verdict=Verdict.INCONCLUSIVE,
        found=found,
        margin=margin,
        remark=f"{n} replications, where this rule needs {least}",
    )
