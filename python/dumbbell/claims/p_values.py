"""How strongly a measurement speaks against a theory."""

from __future__ import annotations

import math

from dumbbell.stats import Estimate


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
    # Half a second, which pages without such claims spare.
    from scipy.special import stdtr, stdtrit

    freedom = estimate.degrees_of_freedom
    standard_error = reach / float(stdtrit(freedom, (1 + estimate.level) / 2))
    # stdtr is Student's distribution function; its value at -t is the upper tail at t.
    near = float(stdtr(freedom, -(distance - margin) / standard_error))
    far = float(stdtr(freedom, -(distance + margin) / standard_error))
    return min(1.0, near + far)
