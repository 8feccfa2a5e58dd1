"""Which load explains the delays printed for 2 mb?

While the queue is never empty and never full, the unfinished work grows by what arrives less what
leaves. Over a second that is nearly normal: mean (rho - 1) s of work, variance lam E[S^2] / mu^2,
independent from second to second, whatever the path's base round-trip time. So the increments of
the printed delays, one a second, have a likelihood in closed form with one free parameter.
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
"""Half of the last digits of 619 and 26.4, between which the delay grows."""
FIRST = 3
"""icmp_seq from which the queue is surely busy: before it the sender may not have begun."""
LIKELIHOOD_DROP = 3.841
"""Chi-square with one degree of freedom at 95 %: the profile interval."""
LOADS = np.arange(0.8, 1.5, 0.0005)
"""Loads tried."""


@dataclass(frozen=True, slots=True)
class LoadFit:
    """The load that explains the listing, and how well.

    Attributes:
        rho: Offered load: what arrives over what can leave.
        low: Lower end of its 95 % profile interval.
        high: Upper end.
        chi_square: Squared standardised increments at the best fit.
        freedom: Increments less one.
        p_value: Probability of more if the model were right.
    """

    rho: float
    low: float
    high: float
    chi_square: float
    freedom: int
    p_value: float

    @property
    def packets_per_second(self) -> float:
        """Of the ideal source at that load."""
        return self.rho * published.RATE_BPS / (8 * published.MEAN_PAYLOAD_BYTES)


def base_rtt_ms() -> float:
    """Of the ping before the traffic began."""
    return min((seq, rtt) for seq, rtt in published.LISTING_MS.items() if seq < FIRST)[1]


def level_name(number: int) -> str:
    """What a printed ping is called among those that are held together."""
    if number == FIRST:
        return f"icmp_seq {number}"
    return f"icmp_seq {number - 1} to {number}"


def levels_ms() -> dict[str, tuple[float, float]]:
    """The first ping of the busy queue and what each after it is more than the one before, by
    name: milliseconds as printed, and half of the last digits."""
    busy = {seq: rtt for seq, rtt in sorted(published.LISTING_MS.items()) if seq >= FIRST}
    found = {level_name(FIRST): (busy[FIRST], rounding_ms(busy[FIRST]))}
    for number in list(busy)[1:]:
        before, rtt = busy[number - 1], busy[number]
        found[level_name(number)] = (rtt - before, rounding_ms(before) + rounding_ms(rtt))
    return found


def levels_of(rtt_ms: Floats) -> dict[str, Floats]:
    """The same of our runs, from round-trip times of shape (runs, pings) over an empty path of no
    delay."""
    columns = np.column_stack([rtt_ms[:, 0] + base_rtt_ms(), np.diff(rtt_ms, axis=1)])
    return dict(zip(levels_ms(), columns.T, strict=True))


def increments_ms() -> Floats:
    """What each printed delay is more than the one before."""
    delays = [rtt for seq, rtt in sorted(published.LISTING_MS.items()) if seq >= FIRST]
    return np.diff(delays)


def growth_ms() -> float:
    """From the first to the last of ten consecutive pings, as one run of ``-c 10`` would have."""
    return float(increments_ms().sum())


def sd_per_second_ms(rho: float) -> float:
    """Standard deviation of a second's increment, exponential sizes."""
    mu_bytes = published.RATE_BPS / 8
    return 1e3 * math.sqrt(2.0 * rho * published.MEAN_PAYLOAD_BYTES / mu_bytes)


def fit_load(increments: Floats | None = None) -> LoadFit:
    """The most likely load.

    Args:
        increments: Milliseconds a second; the printed ones when None.
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
