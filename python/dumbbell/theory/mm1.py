"""M/M/1: Poisson arrivals, exponential sizes, one transmitter, unlimited buffer."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dumbbell.theory.errors import Floats, not_negative, positive, stable
from dumbbell.theory.law import QueueLaw


@dataclass(frozen=True)
class MM1(QueueLaw):
    """The M/M/1 queue in closed form.

    Kleinrock, Queueing Systems Vol. 1, sections 3.2 and 5.7; Gross & Harris, Fundamentals of
    Queueing Theory, section 2.2.

    Attributes:
        lam: Arrival rate, packets/s, at least 0.
        mu: Service rate, packets/s (link rate over mean packet size on the wire), positive.

    Raises:
        UnstableError: lam >= mu.
        TheoryError: A rate is negative, zero (mu) or not finite.
    """

    lam: float
    mu: float

    def __post_init__(self) -> None:
        """Check the rates."""
        not_negative(self.lam, "lam", "packets/s")
        positive(self.mu, "mu", "packets/s")
        stable("M/M/1", self.rho)

    @property
    def rho(self) -> float:
        """Load lam/mu, also the share of time the transmitter is busy."""
        return self.lam / self.mu

    @property
    def L(self) -> float:
        """Mean number in the system rho/(1 - rho), packets."""
        return self.rho / (1.0 - self.rho)

    @property
    def Lq(self) -> float:
        """Mean number waiting rho^2/(1 - rho), packets."""
        return self.rho**2 / (1.0 - self.rho)

    @property
    def T(self) -> float:
        """Mean time in the system 1/(mu - lam), s."""
        return 1.0 / (self.mu - self.lam)

    @property
    def W(self) -> float:
        """Mean wait rho/(mu - lam), s."""
        return self.rho / (self.mu - self.lam)

    @property
    def T_variance(self) -> float:
        """Variance of the time in the system, s^2: it is exponential."""
        return self.T**2

    @property
    def W_variance(self) -> float:
        """Variance of the wait rho (2 - rho)/(mu - lam)^2, s^2."""
        return self.rho * (2.0 - self.rho) * self.T**2

    def _sojourn_cdf(self, t: Floats) -> Floats:
        return np.asarray(-np.expm1(-(self.mu - self.lam) * t))

    def _wait_cdf(self, t: Floats) -> Floats:
        return np.asarray(1.0 - self.rho * np.exp(-(self.mu - self.lam) * t))

    def _sojourn_quantile(self, q: Floats) -> Floats:
        return np.asarray(-np.log1p(-q) * self.T)

    def _wait_quantile(self, q: Floats) -> Floats:
        # Without arrivals there is no waiting; avoid the logarithm of 0.
        if self.rho == 0.0:
            return np.zeros_like(q)
        return np.asarray(np.maximum(0.0, (np.log(self.rho) - np.log1p(-q)) * self.T))

    def _probabilities(self, n_max: int) -> Floats:
        return np.asarray((1.0 - self.rho) * self.rho ** np.arange(n_max + 1, dtype=np.float64))
