"""Fit of the senders and the base RTT to the published quartiles.

The nominal load gives delays about twenty times the published ones, so the senders sent less than
requested. Two parameters are free: one of the senders (see `senders.py`), and the base round-trip
time, which adds to every ping. Both are fitted to all six published quartiles jointly, and the fit
reports its goodness.

Method: synthetic likelihood (Wood, "Statistical inference for noisy nonlinear ecological dynamic
systems", Nature 466, 2010). At each value an ensemble of runs as published gives the mean and the
covariance of the logarithms of the six quartiles; minus twice the log-likelihood of the published
ones is their squared Mahalanobis distance plus the log-determinant. Quartiles of one run are
strongly correlated (a long busy period lifts all of them), so they are not fitted one by one. The
two arms were measured in separate runs, so quartiles of different arms are uncorrelated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FREE_PARAMETERS = 2
HOST_JITTER_MS = 0.1
"""Standard error of a published quartile besides the randomness of the traffic: jitter of a virtual
host, and ping's rounding. Without it, a quartile equal in every run (at light load the 25th
percentile is one transmission time) would count as known exactly."""
LIKELIHOOD_DROP = 3.841
"""Chi-square with one degree of freedom at 95 %, for the profile interval of one parameter."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A parameter with its 95 % profile interval."""

    value: float
    low: float
    high: float
    at_edge: bool
    """Whether the interval ends at the edge of the search range."""


@dataclass(frozen=True, slots=True, eq=False)
class QuartileFit:
    """The parameters that best explain the published quartiles, and the goodness of fit.

    Attributes:
        of_sender: The senders' free number, in its unit.
        base_rtt_ms: Round-trip time of the empty path.
        distance: Squared Mahalanobis distance of the published logarithms at the best fit.
        freedom: Number of quartiles minus free parameters.
        p_value: Probability of a larger distance if the model were right (chi-square).
        predicted_ms: Geometric mean over the ensemble of each quartile at the best fit, shape
            (quantiles,).
    """

    of_sender: Fitted
    base_rtt_ms: Fitted
    distance: float
    freedom: int
    p_value: float
    predicted_ms: Floats


def fewest_runs(quantiles: int) -> int:
    """Return the minimum number of runs at each value for a covariance of the quantiles."""
    return quantiles + 2


def fit_sender_and_base_rtt(
    published_ms: Floats,
    ensembles_ms: Mapping[float, Floats],
    *,
    steps_between: int = 8,
    base_rtt_steps: int = 101,
) -> QuartileFit:
    """Fit a sender's free parameter and the base RTT to published quantiles.

    Args:
        published_ms: Published quantiles, milliseconds, shape (quantiles,).
        ensembles_ms: By value of that parameter, the same quantiles of runs over a path without
            delay, shape (runs, quantiles). Runs at different values share their random numbers,
            which makes the likelihood smooth in the parameter. Arms that the source measured in
            separate runs must come from separate runs in each row.
        steps_between: Number of interpolation steps between two simulated values.
        base_rtt_steps: Base RTTs tried, from 0 to just under the least published value.

    Raises:
        ValueError: Fewer than two values, or than `fewest_runs` at one of them.
    """
    values = sorted(ensembles_ms)
    if len(values) < 2:
        raise ValueError("a fit needs ensembles at two values or more")
    fewest = fewest_runs(published_ms.size)
    if min(len(rows) for rows in ensembles_ms.values()) < fewest:
        raise ValueError(
            f"a fit to {published_ms.size} quantiles needs {fewest} runs at each value"
        )
    fine = _between(values, steps_between)
    base_rtts = np.linspace(0.0, 0.98 * float(published_ms.min()), base_rtt_steps)
    surface = np.empty((len(fine), len(base_rtts)))
    distances = np.empty_like(surface)
    for column, base in enumerate(base_rtts):
        moments = [_moments(ensembles_ms[value] + base, published_ms) for value in values]
        for row, value in enumerate(fine):
            mean, covariance = _interpolated(value, values, moments)
            surface[row, column], distances[row, column] = _misfit(mean, covariance, published_ms)
    row, column = (int(each) for each in np.unravel_index(int(np.argmin(surface)), surface.shape))
    distance = float(distances[row, column])
    freedom = published_ms.size - FREE_PARAMETERS
    best_base = base_rtts[column]
    moments = [_moments(ensembles_ms[value] + best_base, published_ms) for value in values]
    return QuartileFit(
        of_sender=_profile(np.asarray(fine), surface.min(axis=1)),
        base_rtt_ms=_profile(base_rtts, surface.min(axis=0)),
        distance=distance,
        freedom=freedom,
        p_value=_upper_tail(distance, freedom),
        predicted_ms=np.exp(_interpolated(fine[row], values, moments)[0]),
    )


def _between(values: list[float], steps: int) -> list[float]:
    pairs = pairwise(values)
    fine = [low + (high - low) * k / steps for low, high in pairs for k in range(steps)]
    return [*fine, values[-1]]


def _moments(quantiles: Floats, target: Floats) -> tuple[Floats, Floats]:
    """Return mean and covariance of the quantiles' logarithms over the runs, jitter included."""
    logs = np.log(quantiles)
    jitter = np.diag((HOST_JITTER_MS / target) ** 2)
    return logs.mean(axis=0), np.cov(logs, rowvar=False) + jitter


def _interpolated(
    value: float, values: list[float], moments: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Interpolate the moments between two simulated values.

    Moments are interpolated instead of runs: the average of two partly correlated runs would have a
    smaller variance than either.
    """
    above = min(max(int(np.searchsorted(values, value)), 1), len(values) - 1)
    low, high = values[above - 1], values[above]
    share = (value - low) / (high - low)
    (mean_low, covariance_low), (mean_high, covariance_high) = moments[above - 1 : above + 1]
    mean = (1 - share) * mean_low + share * mean_high
    return mean, (1 - share) * covariance_low + share * covariance_high


def _misfit(mean: Floats, covariance: Floats, target: Floats) -> tuple[float, float]:
    """Return -2 times the synthetic log-likelihood (up to a constant), and squared distance."""
    away = np.log(target) - mean
    distance = float(away @ np.linalg.solve(covariance, away))
    _, log_determinant = np.linalg.slogdet(covariance)
    return distance + float(log_determinant), distance


def _profile(values: Floats, misfit: Floats) -> Fitted:
    best = int(np.argmin(misfit))
    inside = np.flatnonzero(misfit <= misfit[best] + LIKELIHOOD_DROP)
    low, high = int(inside[0]), int(inside[-1])
    return Fitted(
        value=float(values[best]),
        low=float(values[low]),
        high=float(values[high]),
        at_edge=low == 0 or high == len(values) - 1,
    )


def _upper_tail(distance: float, freedom: int) -> float:
    from scipy.stats import chi2

    return float(chi2.sf(distance, freedom))
