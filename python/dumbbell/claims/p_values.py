"""P-values of measurements against theory."""

from __future__ import annotations

import math

from dumbbell.stats import Estimate


def contradiction_p_value(estimate: Estimate, target: float, margin: float) -> float | None:
    """P-value of "the true value is within ``margin`` of ``target``".

    The standard error is derived from the half of the interval (Student, n - 1 degrees of freedom)
    that faces the target, so that an asymmetric interval does not understate it. The null
    hypothesis is tested at its edge, where the estimate differs by exactly the margin. Both tails
    count; with a margin of 0 this is the usual two-sided test.

    Args:
        estimate: Point and interval at ``estimate.level`` from ``estimate.n`` replications.
        target: The value that theory predicts.
        margin: Half-width of the equivalence range, at least 0.

    Returns:
        The p-value; 1 inside the margin; None without an estimate of the spread (fewer than two
        replications, or a number that is not finite).
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
    # Importing SciPy takes half a second, which pages without such claims save.
    from scipy.special import stdtr, stdtrit

    freedom = estimate.degrees_of_freedom
    standard_error = reach / float(stdtrit(freedom, (1 + estimate.level) / 2))
    # stdtr is the CDF of Student's distribution; its value at -t is the upper tail at t.
    near = float(stdtr(freedom, -(distance - margin) / standard_error))
    far = float(stdtr(freedom, -(distance + margin) / standard_error))
    return min(1.0, near + far)
