"""M/D/1: Poisson arrivals, packets of one size, one transmitter, unlimited buffer."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dumbbell.theory.errors import Floats, not_negative, positive, stable
from dumbbell.theory.law import QueueLaw


@dataclass(frozen=True)
class MD1(QueueLaw):
    """The M/D/1 queue: means in closed form, distributions by sums of positive terms only.

    Means: Kleinrock Vol. 1 section 5.6 with a constant service. Wait: Franx, "A simple solution
    for the M/D/c waiting time distribution", Operations Research Letters 29, 2001; Erlang's
    formula of 1909 alternates in sign and loses all digits at high load.

    Attributes:
        lam: Arrival rate, packets/s, at least 0.
        mu: Service rate, packets/s; each packet takes 1/mu. Positive.

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
        stable("M/D/1", self.rho)

    @property
    def rho(self) -> float:
        """Load lam/mu, also the share of time the transmitter is busy."""
        return self.lam / self.mu

    @property
    def W(self) -> float:
        """Mean wait rho / (2 mu (1 - rho)), s: half of M/M/1's."""
        return self.rho / (2.0 * self.mu * (1.0 - self.rho))

    @property
    def T(self) -> float:
        """Mean time in the system W + 1/mu, s."""
        return self.W + 1.0 / self.mu

    @property
    def L(self) -> float:
        """Mean number in the system lam T, packets."""
        return self.lam * self.T

    @property
    def Lq(self) -> float:
        """Mean number waiting lam W, packets."""
        return self.lam * self.W

    @property
    def W_variance(self) -> float:
        """Variance of the wait W^2 + rho / (3 mu^2 (1 - rho)), s^2."""
        return self.W**2 + self.rho / (3.0 * self.mu**2 * (1.0 - self.rho))

    @property
    def T_variance(self) -> float:
        """Variance of the time in the system, s^2: the service adds none."""
        return self.W_variance

    def _probabilities(self, n_max: int) -> Floats:
        return _number_in_system(self.rho, _rounded_up(n_max))[: n_max + 1]

    def _wait_cdf(self, t: Floats) -> Floats:
        """Franx: sum over j < k of Q_(k-1-j) Poisson(j; lam (k/mu - t)), (k-1)/mu <= t < k/mu.

        Q_j is the probability of at most j packets waiting, that is j + 1 in the system.
        """
        services = self.mu * t
        k = np.floor(services).astype(np.int64) + 1
        waiting = np.cumsum(_number_in_system(self.rho, _rounded_up(int(k.max()))))[1:]
        remaining = self.rho * (k - services)
        return np.minimum(
            1.0,
            [_franx(waiting[:steps], rate) for steps, rate in zip(k, remaining, strict=True)],
        )

    def _sojourn_cdf(self, t: Floats) -> Floats:
        own = 1.0 / self.mu
        result = np.zeros_like(t)
        served = t >= own
        if served.any():
            result[served] = self._wait_cdf(t[served] - own)
        return result


def _franx(waiting: Floats, rate: float) -> float:
    """Sum over j of waiting[k - 1 - j] exp(-rate) rate^j / j!, k = len(waiting)."""
    # rate is below 1: the Poisson terms vanish long before the factorial overflows.
    terms = min(waiting.size, 40)
    poisson = np.exp(-rate) * np.cumprod(np.concatenate(([1.0], rate / np.arange(1, terms))))
    return float(waiting[::-1][:terms] @ poisson)


def _rounded_up(n: int) -> int:
    """The next power of two, so that few different tables are cached."""
    return 1 << max(6, n.bit_length())


@lru_cache(maxsize=32)
def _number_in_system(rho: float, n_max: int) -> Floats:
    """P(N = 0), .., P(N = n_max) by balance across each level.

    The rate from n + 1 down equals the rate from n or below up: with A ~ Poisson(rho) arrivals
    in a service, p_(n+1) P(A = 0) = p_0 P(A > n) + sum over i = 1..n of p_i P(A > n + 1 - i).
    Every term is positive, so there is no cancellation (Tijms, A First Course in Stochastic Models,
    section 9.2).
    """
    from scipy.special import gammainc

    # P(A > n) is the regularised incomplete gamma function at (n + 1, rho).
    above = gammainc(np.arange(1, n_max + 2, dtype=np.float64), rho)
    p = np.zeros(n_max + 1)
    p[0] = 1.0 - rho
    for n in range(n_max):
        # Beyond 64 arrivals in one service the chance is below 1e-88.
        first = max(1, n + 1 - 64)
        inner = p[first : n + 1] @ above[n + 1 - np.arange(first, n + 1)]
        p[n + 1] = (p[0] * above[n] + inner) * np.exp(rho)
    p.flags.writeable = False
    return p
