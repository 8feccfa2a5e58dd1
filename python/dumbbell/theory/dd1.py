"""D/D/1 (constant gaps and sizes), and the fluid model of an overloaded queue."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.theory.errors import Floats, TheoryError, counts, not_negative, positive


@dataclass(frozen=True)
class DD1:
    """A deterministic queue, without waiting below rho = 1; any load is allowed.

    Exact per packet (:meth:`W_of_packet`) and as a fluid that fills at lam - mu (Kleinrock,
    Queueing Systems Vol. 2, section 2.7; Bertsekas & Gallager, Data Networks, section 3.1). A
    queue with room for m bits behind a link of mu bit/s delays by at most m/mu.

    Attributes:
        lam: Arrival rate, packets/s, positive.
        mu: Service rate, packets/s, positive.
        limit: Most packets in the system, at least 1, or None for no limit.

    Raises:
        TheoryError: A number out of range.
    """

    lam: float
    mu: float
    limit: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.lam, "lam", "packets/s")
        positive(self.mu, "mu", "packets/s")
        if self.limit is not None and positive(self.limit, "limit", "packets") < 1.0:
            raise TheoryError(f"limit is {self.limit} packets; the one in transmission needs room")

    @property
    def rho(self) -> float:
        """Offered load lam/mu; may be 1 or more."""
        return self.lam / self.mu

    @property
    def growth(self) -> float:
        """Rate at which the queue grows, packets/s; 0 for rho <= 1."""
        return max(0.0, self.lam - self.mu)

    @property
    def T_max(self) -> float:
        """Least upper bound of the delay, s: limit/mu, 1/mu for rho <= 1, inf without a limit."""
        if self.growth == 0.0:
            return 1.0 / self.mu
        return math.inf if self.limit is None else self.limit / self.mu

    @property
    def time_to_fill(self) -> float:
        """Time from empty until the fluid reaches the limit, s; inf when it never does."""
        if self.growth == 0.0 or self.limit is None:
            return math.inf
        return self.limit / self.growth

    @property
    def loss(self) -> float:
        """Share of packets lost once the queue is full, 1 - mu/lam; 0 for rho <= 1 or no limit."""
        if self.growth == 0.0 or self.limit is None:
            return 0.0
        return 1.0 - self.mu / self.lam

    def loss_over(self, duration_s: float) -> float:
        """Share of packets lost in a run of this length that starts with an empty queue (fluid).

        Args:
            duration_s: Length of the run, s, positive.

        Raises:
            TheoryError: The duration is not positive.
        """
        duration = positive(duration_s, "duration", "s")
        return self.loss * max(0.0, 1.0 - self.time_to_fill / duration)

    def N_at(self, t: ArrayLike) -> Floats:
        """Packets in the system at time ``t`` after an empty start, as a fluid.

        Args:
            t: Times, any shape, s, at least 0.

        Raises:
            TheoryError: A negative time.
        """
        times = np.asarray(t, dtype=np.float64)
        if not (times >= 0.0).all():
            raise TheoryError("t: times must be at least 0")
        if self.growth == 0.0:
            return np.full_like(times, min(self.rho, 1.0))
        return np.minimum(self.growth * times, math.inf if self.limit is None else self.limit)

    def T_at(self, t: ArrayLike) -> Floats:
        """Delay of fluid that arrives at time ``t`` after an empty start: N/mu, at least 1/mu, s.

        Args:
            t: Times, any shape, s, at least 0.

        Raises:
            TheoryError: A negative time.
        """
        return np.maximum(self.N_at(t), 1.0) / self.mu

    def W_of_packet(self, n: ArrayLike) -> Floats:
        """Exact wait of the n-th packet (0 the first) while none is lost: n (1/mu - 1/lam)+, s.

        Args:
            n: Packet numbers, whole, at least 0, any shape.

        Raises:
            TheoryError: A number is negative or not whole.
        """
        step = not_negative(max(0.0, 1.0 / self.mu - 1.0 / self.lam), "step", "s")
        return np.asarray(counts(n) * step)
