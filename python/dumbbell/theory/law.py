"""The interface of all queue models: means, distribution functions and quantiles.

Notation is Kleinrock's (Queueing Systems, Volume 1) and the field's: arrivals at rate lam
(packets/s); a packet waits W, is served, and so spends T in the system (s); N is the number in
the system, L its mean, Lq the mean number waiting. In the tables of a run, T is the queue's
``sojourn``, W its ``wait``, L ``system_mean_pkts`` and Lq ``backlog_mean_pkts``.
"""
# ruff: noqa: N802 - L, Lq, T, W and N are the field's names

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from dumbbell.theory.errors import Floats, TheoryError, counts, probabilities

Numbers: TypeAlias = Sequence[float] | NDArray[np.float64] | NDArray[np.int64]

_WIDEST_BRACKET = 200
"""Maximum number of doublings to bracket a quantile; 2^200 mean delays are never reached."""


class DelayLaw(ABC):
    """Mean and law of the time a packet waits and of the time it spends in the system."""

    @property
    @abstractmethod
    def rho(self) -> float:
        """Offered load: arrival rate times mean service time."""

    @property
    @abstractmethod
    def W(self) -> float:
        """Mean time a packet waits before its transmission begins, s."""

    @property
    @abstractmethod
    def T(self) -> float:
        """Mean time a packet spends in the system, waiting and transmission, s."""

    @abstractmethod
    def _wait_cdf(self, t: Floats) -> Floats:
        """P(W <= t) for t >= 0, shape (n,)."""

    @abstractmethod
    def _sojourn_cdf(self, t: Floats) -> Floats:
        """P(T <= t) for t >= 0, shape (n,)."""

    def _wait_quantile(self, q: Floats) -> Floats:
        return _invert(self._wait_cdf, q, self.T)

    def _sojourn_quantile(self, q: Floats) -> Floats:
        return _invert(self._sojourn_cdf, q, self.T)

    @overload
    def W_cdf(self, t: float) -> float: ...
    @overload
    def W_cdf(self, t: Numbers) -> Floats: ...
    def W_cdf(self, t: float | Numbers) -> float | Floats:
        """CDF of the waiting time, P(W <= t).

        Args:
            t: Time or times, any shape, s; 0 below 0.
        """
        return _over(_from_zero(self._wait_cdf), _times(t))

    @overload
    def T_cdf(self, t: float) -> float: ...
    @overload
    def T_cdf(self, t: Numbers) -> Floats: ...
    def T_cdf(self, t: float | Numbers) -> float | Floats:
        """CDF of the sojourn time, P(T <= t).

        Args:
            t: Time or times, any shape, s; 0 below 0.
        """
        return _over(_from_zero(self._sojourn_cdf), _times(t))

    # Quantiles from inverted transforms have an error of about 1e-8 in probability, which is
    # negligible below the level 1 - 1e-6.

    @overload
    def W_quantile(self, q: float) -> float: ...
    @overload
    def W_quantile(self, q: Numbers) -> Floats: ...
    def W_quantile(self, q: float | Numbers) -> float | Floats:
        """Quantile of the waiting time, s; 0 for q <= P(W = 0).

        Args:
            q: Level or levels in [0, 1), any shape.

        Raises:
            TheoryError: A level is out of range.
        """
        return _over(self._wait_quantile, probabilities(q))

    @overload
    def T_quantile(self, q: float) -> float: ...
    @overload
    def T_quantile(self, q: Numbers) -> Floats: ...
    def T_quantile(self, q: float | Numbers) -> float | Floats:
        """Quantile of the sojourn time, s.

        Args:
            q: Level or levels in [0, 1), any shape.

        Raises:
            TheoryError: A level is out of range.
        """
        return _over(self._sojourn_quantile, probabilities(q))


class QueueLaw(DelayLaw):
    """A delay law together with the law of the number in the system."""

    @property
    @abstractmethod
    def L(self) -> float:
        """Mean number in the system, packets."""

    @property
    @abstractmethod
    def Lq(self) -> float:
        """Mean number waiting, packets."""

    @abstractmethod
    def _probabilities(self, n_max: int) -> Floats:
        """P(N = 0), .., P(N = n_max), shape (n_max + 1,)."""

    @overload
    def p_n(self, n: int) -> float: ...
    @overload
    def p_n(self, n: Numbers) -> Floats: ...
    def p_n(self, n: int | Numbers) -> float | Floats:
        """P(N = n), the share of time with n packets in the system.

        Args:
            n: Number or numbers of packets, whole, at least 0, any shape.

        Raises:
            TheoryError: A number is negative or not whole.
        """
        wanted = counts(n)
        table = self._probabilities(int(wanted.max(initial=0)))
        found = table[wanted]
        return float(found) if found.ndim == 0 else found

    @overload
    def N_cdf(self, n: int) -> float: ...
    @overload
    def N_cdf(self, n: Numbers) -> Floats: ...
    def N_cdf(self, n: int | Numbers) -> float | Floats:
        """P(N <= n), the share of time with at most n packets in the system.

        Args:
            n: Number or numbers of packets, whole, at least 0, any shape.

        Raises:
            TheoryError: A number is negative or not whole.
        """
        wanted = counts(n)
        table = np.minimum(np.cumsum(self._probabilities(int(wanted.max(initial=0)))), 1.0)
        found = table[wanted]
        return float(found) if found.ndim == 0 else found


def _times(t: float | Numbers) -> Floats:
    times = np.asarray(t, dtype=np.float64)
    if np.isnan(times).any():
        raise TheoryError("t: a time is NaN")
    return times


def _over(function: Callable[[Floats], Floats], x: Floats) -> float | Floats:
    """Apply a function of one-dimensional arrays to any shape; a scalar gives a scalar."""
    result = function(x.ravel()).reshape(x.shape)
    return float(result) if x.ndim == 0 else result


def _from_zero(cdf: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """The distribution function of a delay: 0 below 0, 1 at infinity."""

    def everywhere(t: Floats) -> Floats:
        result = np.where(t == np.inf, 1.0, 0.0)
        inner = (t >= 0.0) & np.isfinite(t)
        if inner.any():
            result[inner] = cdf(t[inner])
        return result

    return everywhere


def _invert(cdf: Callable[[Floats], Floats], q: Floats, scale: float) -> Floats:
    """Smallest t with cdf(t) >= q, by a bracket and Brent's method (relative error 1e-9)."""
    from scipy.optimize import brentq

    at_zero = float(cdf(np.zeros(1))[0])

    def excess(t: float, level: float) -> float:
        return float(cdf(np.array([t]))[0]) - level

    def quantile(level: float) -> float:
        if level <= at_zero:
            return 0.0
        high = scale
        for _ in range(_WIDEST_BRACKET):
            if excess(high, level) >= 0.0:
                break
            high *= 2.0
        else:
            raise TheoryError(f"no finite time reaches level {level}; it is too close to 1")
        return float(brentq(excess, 0.0, high, args=(level,), xtol=1e-12 * scale, rtol=1e-9))

    return np.array([quantile(float(level)) for level in q])
