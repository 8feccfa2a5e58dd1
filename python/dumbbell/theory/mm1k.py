"""M/M/1/K: the M/M/1 queue with room for K packets; packets that find it full are lost."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dumbbell.theory.errors import Floats, TheoryError, not_negative, positive
from dumbbell.theory.law import QueueLaw


@dataclass(frozen=True)
class MM1K(QueueLaw):
    """The M/M/1/K queue: K counts the packet in transmission. Any load is allowed.

    Gross & Harris, Fundamentals of Queueing Theory (4th ed.), section 2.5; Kleinrock, Queueing
    Systems Vol. 1, section 3.6. T, W and their laws are those of *accepted* packets.

    For a buffer: ``pfifo limit L`` before a transmitter is K = L + 1; netem's limit includes the
    packet in transmission, K = limit. A limit in bytes is not M/M/1/K, because it drops large
    packets first.

    Attributes:
        lam: Arrival rate offered, packets/s, at least 0.
        mu: Service rate, packets/s, positive.
        K: Most packets in the system, at least 1.

    Raises:
        TheoryError: A rate or K out of range.
    """

    lam: float
    mu: float
    K: int

    def __post_init__(self) -> None:
        """Check the parameters."""
        not_negative(self.lam, "lam", "packets/s")
        positive(self.mu, "mu", "packets/s")
        if self.K < 1 or int(self.K) != self.K:
            raise TheoryError(f"K is {self.K}; a whole number of packets, at least 1")

    @property
    def rho(self) -> float:
        """Offered load lam/mu; may be 1 or more."""
        return self.lam / self.mu

    @cached_property
    def _p(self) -> Floats:
        """P(N = 0), .., P(N = K): proportional to rho^n, scaled to avoid overflow."""
        n = np.arange(self.K + 1, dtype=np.float64)
        if self.rho == 0.0:
            weight = np.where(n == 0, 1.0, 0.0)
        else:
            weight = np.exp(np.log(self.rho) * (n if self.rho <= 1.0 else n - self.K))
        return np.asarray(weight / weight.sum())

    @cached_property
    def _seen(self) -> Floats:
        """P(an accepted packet finds n in the system), n = 0, .., K - 1."""
        return np.asarray(self._p[:-1] / self._p[:-1].sum())

    @property
    def loss(self) -> float:
        """Share of packets lost, p_K: Poisson arrivals see time averages (Wolff, 1982)."""
        return float(self._p[-1])

    @property
    def throughput(self) -> float:
        """Rate of accepted packets lam (1 - loss), packets/s."""
        # mu (1 - p_0) is the same without cancellation when nearly everything is lost.
        return self.mu * float(self._p[1:].sum())

    @property
    def busy(self) -> float:
        """Share of time the transmitter is busy, 1 - p_0."""
        return float(self._p[1:].sum())

    @property
    def L(self) -> float:
        """Mean number in the system, packets."""
        return float(np.arange(self.K + 1) @ self._p)

    @property
    def Lq(self) -> float:
        """Mean number waiting, packets."""
        return float(np.arange(self.K) @ self._p[1:])

    @property
    def T(self) -> float:
        """Mean time of accepted packets in the system, s (Little's law: L / throughput)."""
        return float(np.arange(1, self.K + 1) @ self._seen) / self.mu

    @property
    def W(self) -> float:
        """Mean wait of accepted packets, s."""
        return float(np.arange(self.K) @ self._seen) / self.mu

    # An accepted packet that finds n waits for n exponential services, Erlang(n, mu), and is
    # served by one more. The regularised incomplete gamma function is Erlang's distribution.

    def _sojourn_cdf(self, t: Floats) -> Floats:
        from scipy.special import gammainc

        stages = np.arange(1, self.K + 1, dtype=np.float64)
        return np.asarray(gammainc(stages, self.mu * t[:, None]) @ self._seen)

    def _wait_cdf(self, t: Floats) -> Floats:
        from scipy.special import gammainc

        stages = np.arange(1, self.K, dtype=np.float64)
        return np.asarray(self._seen[0] + gammainc(stages, self.mu * t[:, None]) @ self._seen[1:])

    def _probabilities(self, n_max: int) -> Floats:
        table = np.zeros(n_max + 1)
        filled = min(n_max, self.K) + 1
        table[:filled] = self._p[:filled]
        return table
