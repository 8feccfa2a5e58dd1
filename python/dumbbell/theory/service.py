"""Distributions of the service time of a packet at the transmitter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.theory.errors import (
    Complexes,
    Floats,
    TheoryError,
    not_negative,
    positive,
)
from dumbbell.theory.inversion import Transform

_CHUNK = 2_000_000
"""Number of complex exponentials computed at a time for a discrete distribution: 32 MB."""
_MOST_EXACT_ATOMS = 64
"""Distributions with at most this number of values are conditioned on each value, because of their
jumps."""


@dataclass(frozen=True, eq=False)
class Service:
    """A service-time distribution: moments, and its transform if known.

    Build one with :func:`constant_service`, :func:`exponential_service`, :func:`gamma_service`,
    :func:`discrete_service`, :func:`service_from_moments`, :func:`mixture` or :meth:`plus`.

    Attributes:
        mean_s: Mean E S, s, positive.
        second_moment_s2: E S^2, s^2, at least mean_s squared.
        third_moment_s3: E S^3, s^3, or None when unknown (needed for variances of delays).
        lst: Laplace-Stieltjes transform E exp(-s S), or None (needed for quantiles).
        atoms: Values (s) and probabilities of a distribution with few values, else None.
    """

    mean_s: float
    second_moment_s2: float
    third_moment_s3: float | None = None
    lst: Transform | None = field(default=None, repr=False)
    atoms: tuple[Floats, Floats] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse impossible moments.

        Raises:
            TheoryError: They are not positive, or violate E S^2 >= (E S)^2 or
                E S^3 E S >= (E S^2)^2.
        """
        mean = positive(self.mean_s, "mean service time", "s")
        second = positive(self.second_moment_s2, "second moment of the service time", "s^2")
        # A relative tolerance of 1e-9 allows for rounding of the moments of constant distributions.
        if second < mean**2 * (1.0 - 1e-9):
            raise TheoryError(
                f"second moment {second} s^2 is below the mean's square {mean**2} s^2; "
                "no service time has these (is the variance meant, or other units?)"
            )
        third = self.third_moment_s3
        if third is not None and third * mean < second**2 * (1.0 - 1e-9):
            raise TheoryError(
                f"third moment {third} s^3 is below {second**2 / mean} s^3, the least that goes "
                "with this mean and second moment"
            )

    @property
    def variance_s2(self) -> float:
        """Variance, s^2."""
        return max(0.0, self.second_moment_s2 - self.mean_s**2)

    @property
    def scv(self) -> float:
        """Squared coefficient of variation: 0 constant, 1 exponential."""
        return self.variance_s2 / self.mean_s**2

    def plus(self, constant_s: float) -> Service:
        """The same service after a constant time, such as that of the headers.

        Args:
            constant_s: Time added to each service, s, at least 0.

        Raises:
            TheoryError: The time is negative or not finite.
        """
        c = not_negative(constant_s, "constant part of the service", "s")
        m, m2, m3, lst = self.mean_s, self.second_moment_s2, self.third_moment_s3, self.lst

        def shifted(s: Complexes) -> Complexes:
            assert lst is not None
            return np.asarray(np.exp(-s * c) * lst(s))

        return Service(
            m + c,
            m2 + 2 * c * m + c * c,
            None if m3 is None else m3 + 3 * c * m2 + 3 * c * c * m + c**3,
            None if lst is None else shifted,
            None if self.atoms is None else (self.atoms[0] + c, self.atoms[1]),
        )


def constant_service(mean_s: float) -> Service:
    """Every packet takes the same time, s: constant sizes on a constant link."""
    d = positive(mean_s, "service time", "s")
    return Service(d, d**2, d**3, lambda s: np.exp(-s * d), (np.array([d]), np.array([1.0])))


def exponential_service(mean_s: float) -> Service:
    """Exponential service of the given mean, s."""
    m = positive(mean_s, "mean service time", "s")
    return Service(m, 2 * m**2, 6 * m**3, lambda s: 1.0 / (1.0 + s * m))


def gamma_service(mean_s: float, scv: float) -> Service:
    """Gamma-distributed service: any mean (s) and any squared coefficient of variation > 0."""
    m = positive(mean_s, "mean service time", "s")
    c = positive(scv, "scv", "")
    return Service(
        m,
        m**2 * (1 + c),
        m**3 * (1 + c) * (1 + 2 * c),
        lambda s: np.power(1.0 + s * (m * c), -1.0 / c),
    )


def discrete_service(times_s: ArrayLike, weights: ArrayLike | None = None) -> Service:
    """A law of finitely many service times; also the empirical law of measured ones.

    Args:
        times_s: Service times, s, at least 0, shape (n,); they may repeat.
        weights: Relative frequency of each time, at least 0, any sum; equal by default.

    Raises:
        TheoryError: No times, shapes that differ, or a number out of range.
    """
    times = np.asarray(times_s, dtype=np.float64).ravel()
    mass = np.ones_like(times) if weights is None else np.asarray(weights, np.float64).ravel()
    if times.size == 0 or times.size != mass.size:
        raise TheoryError(f"{times.size} service times and {mass.size} weights; one weight each")
    if not (np.isfinite(times) & (times >= 0) & np.isfinite(mass) & (mass >= 0)).all():
        raise TheoryError("service times and weights must be finite and at least 0")
    if not mass.sum() > 0:
        raise TheoryError("weights: all are 0")
    values, which = np.unique(times, return_inverse=True)
    share = np.bincount(which, weights=mass) / mass.sum()
    values, share = values[share > 0], share[share > 0]

    def lst(s: Complexes) -> Complexes:
        total = np.zeros(s.shape, dtype=np.complex128)
        step = max(1, _CHUNK // max(1, s.size))
        for i in range(0, values.size, step):
            part = slice(i, i + step)
            total += np.exp(-s[..., None] * values[part]) @ share[part]
        return total

    return Service(
        float(values @ share),
        float(values**2 @ share),
        float(values**3 @ share),
        lst,
        (values, share) if values.size <= _MOST_EXACT_ATOMS else None,
    )


def service_from_moments(
    mean_s: float,
    *,
    scv: float | None = None,
    second_moment_s2: float | None = None,
    third_moment_s3: float | None = None,
) -> Service:
    """A service known by its moments only: enough for means, not for quantiles.

    Args:
        mean_s: Mean, s.
        scv: Squared coefficient of variation; this or the second moment.
        second_moment_s2: E S^2, s^2; this or ``scv``.
        third_moment_s3: E S^3, s^3, when known.

    Raises:
        TheoryError: Neither or both of scv and second moment, or impossible moments.
    """
    mean = positive(mean_s, "mean service time", "s")
    if (scv is None) == (second_moment_s2 is None):
        raise TheoryError("give either scv or second_moment_s2, one of them")
    if scv is not None:
        second = mean**2 * (1.0 + not_negative(scv, "scv", ""))
    else:
        assert second_moment_s2 is not None
        second = second_moment_s2
    return Service(mean, second, third_moment_s3)


def mixture(laws: Sequence[Service], weights: ArrayLike) -> Service:
    """The service time of a mixture of packet kinds with given probabilities.

    Args:
        laws: Service law of each kind.
        weights: Relative frequency of each kind (for example rates in packets/s), at least 0, any
            sum.

    Raises:
        TheoryError: Numbers of laws and weights differ, or weights out of range.
    """
    mass = np.asarray(weights, dtype=np.float64).ravel()
    if len(laws) == 0 or len(laws) != mass.size:
        raise TheoryError(f"{len(laws)} laws and {mass.size} weights; one weight each")
    if not (np.isfinite(mass) & (mass >= 0)).all() or not mass.sum() > 0:
        raise TheoryError(f"weights {mass.tolist()}: finite, at least 0, and not all 0")
    kinds = [(law, float(w)) for law, w in zip(laws, mass / mass.sum(), strict=True) if w > 0]
    thirds = [law.third_moment_s3 for law, _ in kinds]
    lsts = [law.lst for law, _ in kinds]
    known = [lst for lst in lsts if lst is not None]

    def lst(s: Complexes) -> Complexes:
        total = np.zeros(s.shape, dtype=np.complex128)
        for each, (_, w) in zip(known, kinds, strict=True):
            total += w * each(s)
        return total

    return Service(
        math.fsum(w * law.mean_s for law, w in kinds),
        math.fsum(w * law.second_moment_s2 for law, w in kinds),
        None if None in thirds else math.fsum(w * (law.third_moment_s3 or 0.0) for law, w in kinds),
        lst if len(known) == len(kinds) else None,
        _mixed_atoms(kinds),
    )


def _mixed_atoms(kinds: Sequence[tuple[Service, float]]) -> tuple[Floats, Floats] | None:
    atoms = [(law.atoms, w) for law, w in kinds]
    if any(each is None for each, _ in atoms):
        return None
    values = np.concatenate([each[0] for each, _ in atoms if each is not None])
    share = np.concatenate([w * each[1] for each, w in atoms if each is not None])
    return (values, share) if values.size <= _MOST_EXACT_ATOMS else None
