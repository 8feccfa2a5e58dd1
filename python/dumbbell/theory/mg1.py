"""M/G/1: Poisson arrivals, any distribution of packet sizes, one transmitter, unlimited buffer."""
# ruff: noqa: N802 - the field's names

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from dumbbell.theory.errors import Complexes, Floats, TheoryError, not_negative, stable
from dumbbell.theory.inversion import Transform, probabilities_from_pgf, tail_from_lst
from dumbbell.theory.law import QueueLaw
from dumbbell.theory.service import Service, service_from_moments


@dataclass(frozen=True, init=False)
class MG1(QueueLaw):
    """The M/G/1 queue: means by Pollaczek and Khinchine, quantiles by transform inversion.

    Kleinrock, Queueing Systems Vol. 1, sections 5.6 (means) and 5.7 (transforms); Takagi,
    Queueing Analysis Vol. 1, chapter 1. W = lam E S^2 / (2 (1 - rho)).

    Means need two moments of the service, variances three, quantiles and probabilities the full
    distribution: use :meth:`of` with a distribution from :mod:`dumbbell.theory.service`.

    Attributes:
        lam: Arrival rate, packets/s, at least 0.
        service: Distribution (or moments) of the service time.
    """

    lam: float
    service: Service

    def __init__(
        self,
        lam: float,
        mean_s: float,
        *,
        scv: float | None = None,
        second_moment_s2: float | None = None,
        third_moment_s3: float | None = None,
    ) -> None:
        """From moments of the service time.

        Args:
            lam: Arrival rate, packets/s, at least 0.
            mean_s: Mean service time, s.
            scv: Squared coefficient of variation of the service time; this or the next.
            second_moment_s2: E S^2, s^2.
            third_moment_s3: E S^3, s^3, for variances.

        Raises:
            UnstableError: lam * mean_s >= 1.
            TheoryError: A number out of range.
        """
        moments = service_from_moments(
            mean_s, scv=scv, second_moment_s2=second_moment_s2, third_moment_s3=third_moment_s3
        )
        self._set(lam, moments)

    @classmethod
    def of(cls, lam: float, service: Service) -> Self:
        """Build the queue from a service-time distribution.

        Args:
            lam: Arrival rate, packets/s, at least 0.
            service: Distribution of the service time.

        Raises:
            UnstableError: The load is 1 or more.
            TheoryError: The rate is negative or not finite.
        """
        queue = cls.__new__(cls)
        queue._set(lam, service)
        return queue

    def _set(self, lam: float, service: Service) -> None:
        not_negative(lam, "lam", "packets/s")
        stable("M/G/1", lam * service.mean_s)
        object.__setattr__(self, "lam", float(lam))
        object.__setattr__(self, "service", service)

    @property
    def rho(self) -> float:
        """Load lam E S, also the share of time the transmitter is busy."""
        return self.lam * self.service.mean_s

    @property
    def W(self) -> float:
        """Mean wait lam E S^2 / (2 (1 - rho)), s."""
        return self.lam * self.service.second_moment_s2 / (2.0 * (1.0 - self.rho))

    @property
    def T(self) -> float:
        """Mean time in the system W + E S, s."""
        return self.W + self.service.mean_s

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
        """Variance of the wait W^2 + lam E S^3 / (3 (1 - rho)), s^2.

        Raises:
            TheoryError: The third moment of the service is not known.
        """
        third = self.service.third_moment_s3
        if third is None:
            raise TheoryError("M/G/1: the variance of delays needs the service's third moment")
        return self.W**2 + self.lam * third / (3.0 * (1.0 - self.rho))

    @property
    def T_variance(self) -> float:
        """Variance of the time in the system, s^2: wait and own service are independent.

        Raises:
            TheoryError: The third moment of the service is not known.
        """
        return self.W_variance + self.service.variance_s2

    def wait_lst(self, s: Complexes) -> Complexes:
        """Transform of the wait, (1 - rho) s / (s - lam + lam B*(s)) (Kleinrock 5.105).

        Args:
            s: Complex points, 1/s, real part positive.

        Raises:
            TheoryError: The law of the service is not known.
        """
        return workload_lst(s, self.lam, self.rho, self._law("the law of the wait"))

    def _law(self, wanted: str) -> Transform:
        if self.service.lst is None:
            raise TheoryError(
                f"M/G/1: {wanted} needs the law of the service, not only moments; use "
                "MG1.of(lam, gamma_service(mean_s, scv)) or another law"
            )
        return self.service.lst

    def _wait_cdf(self, t: Floats) -> Floats:
        self._law("the law of the wait")
        return wait_cdf(self.wait_lst, 1.0 - self.rho, t)

    def _sojourn_cdf(self, t: Floats) -> Floats:
        service_lst = self._law("the law of the time in the system")
        if self.service.atoms is None:
            return _cdf(lambda s: self.wait_lst(s) * service_lst(s), t)
        # With few service times the distribution of T jumps at each of them, where inversion
        # oscillates: condition on the packet's own service time and use the distribution of the
        # wait, which has no jumps.
        total = np.zeros_like(t)
        for own, share in zip(*self.service.atoms, strict=True):
            reached = t >= own
            total[reached] += share * self._wait_cdf(t[reached] - own)
        return total

    def _probabilities(self, n_max: int) -> Floats:
        """By the generating function (1 - rho)(1 - z) B / (B - z), B = B*(lam (1 - z))."""
        lst = self._law("the law of the number in the system")

        def pgf(z: Complexes) -> Complexes:
            arrivals = lst(self.lam * (1.0 - z))
            return (1.0 - self.rho) * (1.0 - z) * arrivals / (arrivals - z)

        return probabilities_from_pgf(pgf, n_max)


def workload_lst(s: Complexes, lam: float, rho: float, work_lst: Transform) -> Complexes:
    """Transform of the work found by a Poisson arrival: (1 - rho) s / (s - lam (1 - B*(s)))."""
    return (1.0 - rho) * s / (s - lam * (1.0 - work_lst(s)))


def wait_cdf(lst: Transform, at_zero: float, t: Floats) -> Floats:
    """P(X <= t) for a delay with an atom ``at_zero`` at 0 and a density elsewhere."""
    return np.maximum(_cdf(lst, t, at_zero), at_zero)


def _cdf(lst: Transform, t: Floats, at_zero: float = 0.0) -> Floats:
    result = np.full_like(t, at_zero)
    after = t > 0.0
    if after.any():
        result[after] = 1.0 - tail_from_lst(lst, t[after])
    return result
