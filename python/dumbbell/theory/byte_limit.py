"""A byte-limited queue with a token bucket: Poisson arrivals of exponential size."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.theory.errors import Floats, TheoryError, not_negative, positive

_STEPS_PER_PACKET = 32
_MOST_STEPS = 2_000_000
_ROUNDING = 1e-9


@dataclass(frozen=True)
class ByteLimited:
    """M/M/1 with a limit in bytes, as in ``tbf rate R burst B limit L``. Any load is allowed.

    A limit in bytes is not M/M/1/K, because it drops large packets first. The state is the
    unfinished work V, queued bytes less tokens in the bucket, from -B to L. A packet of S bytes is
    taken when the bytes in the queue and its own are at most L; the bytes in the queue are V plus
    the tokens A that the head packet has accumulated so far, which for exponential sizes are
    exponential too (age and residual life of a Poisson process). Writing G(y) = P(S + A <= y), the
    rate of crossings of a level v upwards and downwards must be equal (level crossings; Brill and
    Posner, "Level crossings in point processes applied to queues", Operations Research 25, 1977):

        mu f(v) = lam G(L - v) [p e^(-(v + B)/s) + integral of f(u) e^(-(v - u)/s) du],

    because an exponential size is memoryless at v. The bracket obeys a differential equation of
    first order, so that for v > 0

        f(v) ~ G(L - v) exp((rho - 1) v / s - rho/s integral over y > L - v of (1 - G(y)) dy).

    Two approximations are made: A does not depend on V, and the sizes of packets in the queue are
    exponential although the largest were dropped. Both matter only within a packet or two of the
    limit: with room for twenty packets or more the delay is accurate to a fraction of a packet
    transmission time and the loss to a tenth.

    Attributes:
        lam: Arrival rate, packets/s, positive.
        mean_bytes: Mean size s on the wire, positive.
        rate_bps: Rate R, bit/s, positive.
        limit_bytes: L, positive.
        burst_bytes: B, at least 0.

    Raises:
        TheoryError: A number out of range, or a limit of millions of packets.
    """

    lam: float
    mean_bytes: float
    rate_bps: float
    limit_bytes: float
    burst_bytes: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        positive(self.lam, "lam", "packets/s")
        positive(self.mean_bytes, "mean size", "bytes")
        positive(self.rate_bps, "rate", "bit/s")
        positive(self.limit_bytes, "limit", "bytes")
        not_negative(self.burst_bytes, "burst", "bytes")
        if self._steps > _MOST_STEPS:
            raise TheoryError(
                f"limit and burst are {self._span / self.mean_bytes:.3g} mean packets; at most "
                f"{_MOST_STEPS // _STEPS_PER_PACKET}"
            )

    @property
    def mu_bytes(self) -> float:
        """Service rate, bytes/s."""
        return self.rate_bps / 8.0

    @property
    def rho(self) -> float:
        """Offered load; may be 1 or more."""
        return self.lam * self.mean_bytes / self.mu_bytes

    @property
    def T_max(self) -> float:
        """Least upper bound of the delay, L over the rate, s: ``m/mu``."""
        return self.limit_bytes / self.mu_bytes

    @property
    def time_to_fill(self) -> float:
        """Time in which a fluid of this load empties the bucket and fills the queue, s.

        Infinite for loads of 1 and less.
        """
        growth = self.mu_bytes * (self.rho - 1.0)
        return self._span / growth if growth > 0 else math.inf

    @property
    def _span(self) -> float:
        return self.limit_bytes + self.burst_bytes

    @property
    def _steps(self) -> int:
        return max(2, math.ceil(self._span / self.mean_bytes * _STEPS_PER_PACKET))

    @cached_property
    def _law(self) -> tuple[Floats, Floats]:
        """Work v (bytes) and the weight of each point: probabilities that sum to 1."""
        s, rho = self.mean_bytes, self.rho
        v = np.linspace(-self.burst_bytes, self.limit_bytes, self._steps + 1)
        room = np.where(v > 0, self.limit_bytes - v, np.inf)
        # The integral of 1 - G from the remaining room upwards; far from the limit it is 0.
        turned_away = np.zeros_like(v)
        near = np.isfinite(room)
        turned_away[near] = s * np.exp(-room[near] / s) * (2.0 + room[near] / s)
        with np.errstate(divide="ignore"):
            log_density = (
                np.log(self._taken(room))
                + (rho - 1.0) * (v + self.burst_bytes) / s
                - rho / s * turned_away
            )
        top = float(log_density.max())
        density = rho / s * np.exp(log_density - top)
        step = v[1] - v[0]
        weight = density * step
        weight[[0, -1]] /= 2.0
        # The bucket is full, and nothing waits, with probability p.
        weight[0] += math.exp(-top)
        return v, weight / weight.sum()

    def _taken(self, room: Floats) -> Floats:
        """G: the probability that a packet is accepted if ``room`` bytes are free."""
        with np.errstate(invalid="ignore"):
            y = room / self.mean_bytes
            return np.where(np.isinf(y), 1.0, -np.expm1(-y) - y * np.exp(-y))

    def _room(self, v: Floats) -> Floats:
        return np.where(v > 0, self.limit_bytes - v, np.inf)

    @property
    def loss(self) -> float:
        """Share of packets dropped."""
        v, weight = self._law
        return 1.0 - float(weight @ self._taken(self._room(v)))

    def delay_tail(self, x: float) -> float:
        """Share of accepted packets whose delay (own transmission included) exceeds x seconds.

        Args:
            x: At least 0 and at most `T_max`, s.

        Raises:
            TheoryError: ``x`` is outside this range.
        """
        level = not_negative(x, "delay", "s") * self.mu_bytes
        if level > self.limit_bytes * (1 + _ROUNDING):
            raise TheoryError(f"delay is {x} s; at most {self.T_max} s here")
        v, weight = self._law
        taken = self._taken(self._room(v))
        level = min(level, self.limit_bytes)
        passes = np.exp(-np.maximum(level - v, 0.0) / self.mean_bytes)
        at_level = float(self._taken(np.array([self.limit_bytes - level]))[0])
        late = np.where(v >= level, taken, passes * at_level)
        return float(weight @ late) / float(weight @ taken)

    def probe_cdf(self, x: ArrayLike, probe_bytes: float) -> Floats:
        """CDF of the delay of an accepted probe that adds no load.

        Args:
            x: Delays, any shape, s.
            probe_bytes: Size of the probe on the wire, below the limit.

        Raises:
            TheoryError: The probe does not fit.
        """
        size = positive(probe_bytes, "probe", "bytes")
        if size >= self.limit_bytes:
            raise TheoryError(f"a probe of {size} bytes does not fit in {self.limit_bytes}")
        v, weight = self._law
        left = np.maximum(self._room(v) - size, 0.0) / self.mean_bytes
        cumulative = np.cumsum(weight * -np.expm1(-left))
        delay = np.maximum(v + size, 0.0) / self.mu_bytes
        place = np.searchsorted(delay, np.asarray(x, dtype=np.float64), side="right")
        return np.asarray(np.r_[0.0, cumulative][place] / cumulative[-1])

    def mean_peak_of_probes(self, n: float, probe_bytes: float) -> float:
        """Mean of the maximum delay of n probes, far enough apart to be independent, s.

        Args:
            n: Number of probes, at least 1; a fraction interpolates between whole numbers.
            probe_bytes: Size of each probe on the wire.

        Raises:
            TheoryError: ``n`` is below 1, or the probe does not fit.
        """
        if not n >= 1:
            raise TheoryError(f"n is {n} probes; at least 1")
        x = np.linspace(0.0, self.T_max, 20_001)
        below = self.probe_cdf(x, probe_bytes) ** n
        return float(np.trapezoid(1.0 - below, x))
