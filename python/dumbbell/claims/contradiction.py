"""When a measurement contradicts theory: per claim a p-value, per study Holm's procedure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import stdtr, stdtrit

from dumbbell.claims.model import Judged
from dumbbell.claims.rules import Kind
from dumbbell.stats import Estimate, holm

FAMILYWISE_ERROR = 0.001
"""Chance that exit status 1 is ever raised by a study in which every theory claim is true."""


def contradiction_p_value(estimate: Estimate, target: float, margin: float) -> float | None:
    """P-value of "the true value is within ``margin`` of ``target``".

    The standard error is read back from the interval (Student, n - 1 degrees of freedom) on the
    side that faces the target, so an asymmetric interval is not made optimistic. At the edge of
    the null hypothesis the estimate is off by exactly the margin; both tails count, which for a
    margin of 0 is the usual two-sided test.

    Args:
        estimate: Point and interval at ``estimate.level`` from ``estimate.n`` replications.
        target: What theory says.
        margin: Half-width of what counts as equal, at least 0.

    Returns:
        The p-value; 1 inside the margin; None when there is no spread to judge by (fewer than
        two replications, or a number that is not finite).
    """
    value, low, high = estimate.value, estimate.low, estimate.high
    if estimate.n < 2 or not all(map(math.isfinite, (value, low, high))):
        return None
    distance = abs(value - target)
    if distance <= margin:
        return 1.0
    reach = value - low if value > target else high - value
    if reach <= 0:
        return 0.0
    freedom = estimate.n - 1
    standard_error = reach / float(stdtrit(freedom, (1 + estimate.level) / 2))
    # stdtr is Student's distribution function; its value at -t is the upper tail at t.
    near = float(stdtr(freedom, -(distance - margin) / standard_error))
    far = float(stdtr(freedom, -(distance + margin) / standard_error))
    return min(1.0, near + far)


def contradicting(judged: Sequence[Judged], familywise: float = FAMILYWISE_ERROR) -> list[Judged]:
    """The theory claims that the measurements contradict at a familywise error.

    Only ``theory: equals`` claims with a p-value take part: a published number that is not
    reproduced says something about the publication, not about the laboratory.

    Args:
        judged: Every judged claim of a study.
        familywise: Chance of one or more false alarms among them all.
    """
    tested = [
        (claim, claim.p_value)
        for claim in judged
        if claim.claim.kind is Kind.THEORY_EQUALS and claim.p_value is not None
    ]
    if not tested:
        return []
    adjusted = holm([p_value for _, p_value in tested])
    return [
        claim
        for (claim, _), p_adjusted in zip(tested, adjusted, strict=True)
        if p_adjusted <= familywise
    ]


def contradicted(judged: Sequence[Judged], familywise: float = FAMILYWISE_ERROR) -> bool:
    """Whether any theory claim is contradicted (exit status 1). See :func:`contradicting`."""
    return bool(contradicting(judged, familywise))
