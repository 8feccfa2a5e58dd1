"""Prediction interval for one run as published, by the distribution of the printed number."""

from __future__ import annotations

import math
from dataclasses import replace
from enum import StrEnum

import numpy as np

from dumbbell.claims.evidence import Floats
from dumbbell.stats import (
    Estimate,
    IntervalKind,
    prediction_interval,
    prediction_quantiles,
    replications_for_prediction,
)

LEAST_FOR_STUDENT = 10
"""With 3 runs a Student prediction interval contains a value 6 standard deviations away in 24 % of
cases; with 10 in fewer than one in a thousand.
"""
LEAST_AGAINST = 3
"""Fewest replications that can contradict a printed number: two hardly show any spread."""
LEVEL_AGAINST = 0.999
"""Level of the interval that a number must lie outside with fewer than `LEAST_FOR_STUDENT` runs.

A Student interval is valid for any number of normal runs, if only wide for few. But few runs cannot
show that they are normal, and a verdict from few runs must not be reversed by more.
"""
INFORMATIVE_HALF_WIDTH = 0.5
"""A prediction interval wider than +-50 % of its centre cannot test a published number."""


class Law(StrEnum):
    """Assumed distribution, over runs, of the number that one run prints."""

    NORMAL = "normal"
    """Student's prediction interval; for means and shares over many packets or flows."""
    LOG_NORMAL = "log-normal"
    """Student's interval of the logarithms; for positive, skewed numbers with few runs."""
    ANY = "any"
    """Order statistics; for maxima, high quantiles, completion times. Needs 39 runs at 95 %."""


def least_runs(law: Law, level: float) -> int:
    """Fewest replications for which the prediction interval is valid."""
    if law is Law.ANY:
        return replications_for_prediction(level)
    return LEAST_FOR_STUDENT


def predict(
    values: Floats, law: Law, level: float, *, rounding: float = 0.0, jitter: float = 0.0
) -> Estimate:
    """Central prediction interval for the number that one run as published would print.

    Args:
        values: The number of each replication, shape (n,), finite; positive for the log-normal
            distribution.
        law: Distribution of the number.
        level: Probability that one more run falls inside.
        rounding: Half a unit of the last printed digit (or what "around" leaves), added to both
            ends.
        jitter: Additional standard deviation of the published instrument, added in quadrature.

    Raises:
        ValueError: A number is not positive under the log-normal distribution.
    """
    from scipy.special import ndtri  # imported when used: half a second

    match law:
        case Law.ANY:
            found = prediction_quantiles(values, level)
        case Law.NORMAL:
            found = prediction_interval(values, level)
        case Law.LOG_NORMAL:
            if not bool((values > 0).all()):
                raise ValueError("the log-normal law is for positive numbers")
            of_logs = prediction_interval(np.log(values), level)
            ends = (math.exp(end) for end in (of_logs.value, of_logs.low, of_logs.high))
            value, low, high = ends
            found = Estimate(value, low, high, level, of_logs.n, IntervalKind.PREDICTION)
    reach = float(ndtri((1.0 + level) / 2.0)) * jitter
    return replace(
        found,
        low=found.value - math.hypot(found.value - found.low, reach) - rounding,
        high=found.value + math.hypot(found.high - found.value, reach) + rounding,
    )


def prediction_p_value(
    values: Floats, printed: float, law: Law, *, rounding: float = 0.0, jitter: float = 0.0
) -> float | None:
    """Probability that one run is at least as far out as the printed number; None for order
    statistics.

    Args:
        values: As for :func:`predict`.
        printed: The published number.
        law: Distribution of the number.
        rounding: Rounding error of the printed number.
        jitter: Additional standard deviation of the published instrument.
    """
    n = values.size
    if law is Law.ANY or n < 2:
        return None
    from scipy.special import stdtr

    of_logs = law is Law.LOG_NORMAL
    x = np.log(values) if of_logs else values
    centre, spread = float(x.mean()), float(x.std(ddof=1)) * math.sqrt(1.0 + 1.0 / n)
    ends = (printed - rounding, printed + rounding)
    if of_logs:
        if ends[1] <= 0:
            return 0.0
        ends = (math.log(ends[0]) if ends[0] > 0 else -math.inf, math.log(ends[1]))
    spread = math.hypot(spread, jitter / abs(printed) if of_logs else jitter)
    away = max(ends[0] - centre, centre - ends[1], 0.0)
    if away == 0.0:
        return 1.0
    return 0.0 if spread == 0.0 else min(1.0, 2.0 * float(stdtr(n - 1, -away / spread)))


def is_informative(found: Estimate) -> bool:
    """Whether the interval is narrow enough to test a number: within +-50 % of its centre."""
    return found.half_width <= INFORMATIVE_HALF_WIDTH * abs((found.low + found.high) / 2)
