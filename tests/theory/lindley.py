"""Reference simulations in a few lines of numpy, to hold formulas against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def waits(gaps: Floats, services: Floats) -> Floats:
    """Lindley's recursion W' = max(0, W + S - A), each row a run that starts empty.

    The recursion is a random walk minus its running minimum, so no loop is needed.
    """
    steps = services[:, :-1] - gaps[:, 1:]
    walk = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps, axis=1)], axis=1)
    return walk - np.minimum.accumulate(walk, axis=1)


def score(per_run: Floats, theory: float) -> float:
    """Distance of the mean over runs from theory, in standard errors."""
    return float((per_run.mean() - theory) / (per_run.std(ddof=1) / np.sqrt(per_run.size)))


def finite_buffer(
    rng: np.random.Generator, lam: float, mu: float, K: int, packets: int
) -> tuple[float, Floats]:
    """M/M/1/K packet by packet: share lost, and the times in the system of the accepted."""
    gaps = rng.exponential(1.0 / lam, packets).tolist()
    services = rng.exponential(1.0 / mu, packets).tolist()
    leaves: list[float] = []  # departure times of accepted packets, in order
    gone = 0
    now, lost = 0.0, 0
    sojourns = []
    for gap, service in zip(gaps, services, strict=True):
        now += gap
        while gone < len(leaves) and leaves[gone] <= now:
            gone += 1
        if len(leaves) - gone >= K:
            lost += 1
            continue
        begin = leaves[-1] if gone < len(leaves) else now
        leaves.append(begin + service)
        sojourns.append(begin + service - now)
    return lost / packets, np.array(sojourns)
