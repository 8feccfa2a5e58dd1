"""Equivalence tests with a margin fixed before the measurement.

The absence of a significant difference does not show equality: a short, noisy run shows neither.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from dumbbell.stats._laws import student_upper_tail
from dumbbell.stats.errors import StatsError
from dumbbell.stats.estimate import Estimate, IntervalKind


class Equivalence(NamedTuple):
    """Outcome of an equivalence test.

    Attributes:
        verdict: ``inside`` the margin (equal for the purpose), ``outside`` (different), or
            ``straddles`` (not decided).
        p_value: P-value of the two one-sided tests: the probability of an estimate this close to
            the target if the parameter is at the edge of the margin. A small value indicates
            equivalence. NaN if the standard error is zero or unknown.
    """

    verdict: Literal["inside", "outside", "straddles"]
    p_value: float


def equivalence(estimate: Estimate, margin: float, target: float = 0.0) -> Equivalence:
    """Two one-sided tests (TOST) of "the parameter lies within target +- margin".

    Schuirmann, "A comparison of the two one-sided tests procedure and the power approach",
    J. Pharmacokinetics and Biopharmaceutics 15, 1987. The verdict asks whether the whole
    interval lies inside; with an interval of level 0.95 that is TOST at 0.025 a side, stricter
    than the customary 90 % interval. The p-value takes the standard error from the interval
    (Student, n - 1 degrees of freedom), so p <= (1 - level)/2 exactly when ``inside``.

    Args:
        estimate: Estimate and interval of a parameter (mean, ratio, difference), not a prediction.
        margin: Half-width of the region of equivalence, positive, in the estimate's unit.
        target: The reference value; 0 for a difference.

    Raises:
        StatsError: A margin that is not positive, or a prediction interval.
    """
    if not (margin > 0.0 and math.isfinite(margin)):
        raise StatsError(f"margin is {margin}; it must be a positive number in the value's unit")
    if estimate.kind == IntervalKind.PREDICTION:
        raise StatsError("equivalence is about a parameter; a prediction interval is about one run")
    low, high = target - margin, target + margin
    verdict: Literal["inside", "outside", "straddles"] = "straddles"
    if low <= estimate.low and estimate.high <= high:
        verdict = "inside"
    elif estimate.high < low or estimate.low > high:
        verdict = "outside"
    return Equivalence(verdict, _tost_p_value(estimate, low, high))


def _tost_p_value(estimate: Estimate, low: float, high: float) -> float:
    error = estimate.standard_error
    if not (math.isfinite(error) and math.isfinite(estimate.value)):
        return math.nan
    if error == 0.0:
        return 0.0 if low <= estimate.value <= high else 1.0
    freedom = estimate.degrees_of_freedom
    not_below = student_upper_tail((estimate.value - low) / error, freedom)
    not_above = student_upper_tail((high - estimate.value) / error, freedom)
    return max(not_below, not_above)
