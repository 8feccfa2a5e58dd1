"""Fit of the load that explains the delays printed for 2 mb.

While the queue is never empty and never full, the unfinished work grows by arrivals minus
departures. Its increment over a second is nearly normal: mean (rho - 1) s of work, variance lam
E[S^2] / mu^2, independent from second to second and of the path's base round-trip time. The
increments of the printed delays, one per second, therefore have a closed-form likelihood with one
free parameter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.studies.queue_size_delay import published
from dumbbell.studies.queue_size_delay.measured import rounding_ms

Floats = NDArray[np.float64]

ROUNDING_MS = 0.55
"""Half a unit in the last digits of 619 and 26.4, the first and last delay."""
FIRST = 3
"""icmp_seq from which the queue is certainly busy: before it the sender may not have begun."""
LIKELIHOOD_DROP = 3.841
"""Chi-square with one degree of freedom at 95 %, for the profile interval."""
LOADS = np.arange(0.8, 1.5, 0.0005)
"""Loads tried."""


@dataclass(frozen=True, slots=True)
class LoadFit:
    """The load that best explains the listing, and the goodness of fit.

    Attributes:
        rho: Offered load: arrival rate over service rate.
        low: Lower end of its 95 % profile interval.
        high: Upper end.
        chi_square: Squared standardised increments at the best fit.
        freedom: Number of increments minus one.
        p_value: Probability of a larger chi-square if the model were right.
    """

    rho: float
    low: float
    high: float
    chi_square: float
    freedom: int
    p_value: float

    @property
    def packets_per_second(self) -> float:
        """Return the ideal source's rate at that load."""
        return self.rho * published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)


def base_rtt_ms() -> float:
    """Return the base RTT: the ping before the traffic began."""
    return min((seq, rtt) for seq, rtt in published.LISTING_MS.items() if seq < FIRST)[1]


def level_name(number: int) -> str:
    """Return the name of a printed ping among those judged together."""
    if number == FIRST:
        return f"icmp_seq {number}"
    return f"icmp_seq {number - 1} to {number}"


def levels_ms() -> dict[str, tuple[float, float]]:
    """Return the first ping of the busy queue and the increments of the following ones.

    By name: milliseconds as printed, and half a unit in the last digit.
    """
    busy = {seq: rtt for seq, rtt in sorted(published.LISTING_MS.items()) if seq >= FIRST}
    found = {level_name(FIRST): (busy[FIRST], rounding_ms(busy[FIRST]))}
    for number in list(busy)[1:]:
        before, rtt = busy[number - 1], busy[number]
        found[level_name(number)] = (rtt - before, rounding_ms(before) + rounding_ms(rtt))
    return found


def levels_of(rtt_ms: Floats) -> dict[str, Floats]:
    """Return the same quantities of our runs.

    The RTTs have shape (runs, pings), over a path without delay.
    """
    columns = np.column_stack([rtt_ms[:, 0] + base_rtt_ms(), np.diff(rtt_ms, axis=1)])
    return dict(zip(levels_ms(), columns.T, strict=True))


def increments_ms() -> Floats:
    """Return the increment of each printed delay over the one before."""
    delays = [rtt for seq, rtt in sorted(published.LISTING_MS.items()) if seq >= FIRST]
    return np.diff(delays)


def growth_ms() -> float:
    """Return the growth from first to last of ten consecutive pings, as in one ``-c 10``."""
    return float(increments_ms().sum())


def sd_per_second_ms(rho: float) -> float:
    """Return the standard deviation of a second's increment, for exponential sizes."""
    mu_bytes = published.RATE_BPS / 8
    return 1e3 * math.sqrt(2.0 * rho * published.MEAN_PAYLOAD_BYTES / mu_bytes)


def fit_load(increments: Floats | None = None) -> LoadFit:
    """Return the most likely load.

    Args:
        increments: Milliseconds per second; the printed increments when None.
    """
    from scipy.stats import chi2

    steps = increments_ms() if increments is None else np.asarray(increments, np.float64)
    sd = np.array([sd_per_second_ms(rho) for rho in LOADS])
    squares = (((steps[None, :] - 1e3 * (LOADS[:, None] - 1)) / sd[:, None]) ** 2).sum(axis=1)
    misfit = squares + 2 * steps.size * np.log(sd)
    best = int(np.argmin(misfit))
    inside = np.flatnonzero(misfit <= misfit[best] + LIKELIHOOD_DROP)
    freedom = steps.size - 1
    return LoadFit(
        rho=float(LOADS[best]),
        low=float(LOADS[inside[0]]),
        high=float(LOADS[inside[-1]]),
        chi_square=float(squares[best]),
        freedom=freedom,
        p_value=float(chi2.sf(squares[best], freedom)),
    )
