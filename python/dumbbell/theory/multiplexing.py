"""The statistical multiplexing gain: one fast queue compared with m slow ones."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

from dataclasses import dataclass

from dumbbell.theory.errors import TheoryError, not_negative, positive
from dumbbell.theory.mm1 import MM1


@dataclass(frozen=True)
class Multiplexing:
    """m Poisson streams through one M/M/1 queue, or through m queues of 1/m the rate.

    Bertsekas & Gallager, Data Networks (2nd ed.), example 3.9; Fund, "Reproducing: one fast queue
    or many slow ones" statistical multiplexing experiment (witestlab blog, 2016), which prints a
    ratio of mean round-trip times of 0.546 as "0.546 %". By Little's law T = N/lam: N is the same
    in every queue, so m queues hold m times as many packets in total.

    Attributes:
        sm: Statistical multiplexing: lam into mu.
        tdm: One of the m separate queues: lam/m into mu/m.
        m: Number of streams.
    """

    sm: MM1
    tdm: MM1
    m: int

    @property
    def rho(self) -> float:
        """Load of every queue, the same in both cases."""
        return self.sm.rho

    @property
    def T_sm(self) -> float:
        """Mean time in the system with multiplexing, 1/(mu - lam), s."""
        return self.sm.T

    @property
    def T_tdm(self) -> float:
        """Mean time in the system with separate queues, m/(mu - lam), s."""
        return self.tdm.T

    @property
    def factor(self) -> float:
        """T_tdm / T_sm = m."""
        return float(self.m)

    def rtt_ratio(self, base_rtt_s: float) -> float:
        """Mean round-trip time of SM over that of TDM; see :func:`rtt_ratio`."""
        return rtt_ratio(base_rtt_s, self.T_sm, self.m)


def tdm(lam: float, mu: float, m: int) -> Multiplexing:
    """Compare one queue of rate mu with m queues of rate mu/m and arrival rate lam/m.

    Args:
        lam: Arrival rate of all streams together, packets/s.
        mu: Service rate of the one fast queue, packets/s.
        m: Number of streams, whole, at least 1.

    Raises:
        UnstableError: lam >= mu.
        TheoryError: A rate or m out of range.
    """
    if m < 1 or m != int(m):
        raise TheoryError(f"m is {m}; a whole number of streams, at least 1")
    return Multiplexing(sm=MM1(lam, mu), tdm=MM1(lam / m, mu / m), m=int(m))


def rtt_ratio(base_rtt_s: float, T_sm_s: float, m: float) -> float:
    """Mean round-trip time with one fast queue over that with m slow ones: (b + T)/(b + m T).

    1/m for queueing delay alone; the base round-trip time, the same in both, moves it towards 1.

    Args:
        base_rtt_s: Round-trip time b without queueing, s, at least 0.
        T_sm_s: Mean time T in the fast queue, s, positive.
        m: Factor between the two queues' delays, positive.

    Raises:
        TheoryError: A number out of range.
    """
    b = not_negative(base_rtt_s, "base round-trip time", "s")
    T = positive(T_sm_s, "time in the queue", "s")
    return (b + T) / (b + positive(m, "m", "") * T)
