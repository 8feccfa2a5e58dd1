"""Probability distributions from scipy.special, imported when first used.

scipy.special loads several times faster than scipy.stats; ``import dumbbell`` does not load it.
"""

from __future__ import annotations

from dumbbell.stats import _student_table

_TABULATED = range(1, len(_student_table.QUANTILES) + 1)


def student_quantile(p: float, freedom: float) -> float:
    """Quantile at level ``p`` of Student's t with ``freedom`` degrees of freedom."""
    if p == _student_table.LEVEL and freedom in _TABULATED:
        return _student_table.QUANTILES[int(freedom) - 1]
    from scipy.special import stdtrit

    return float(stdtrit(freedom, p))


def student_upper_tail(t: float, freedom: float) -> float:
    """P(T > t) for Student's t; computed as P(T < -t), which is accurate for small tails."""
    from scipy.special import stdtr

    return float(stdtr(freedom, -t))


def normal_quantile(p: float) -> float:
    """Quantile of the standard normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(p))


def normal_upper_tail(z: float) -> float:
    """P(Z > z) for the standard normal distribution."""
    from scipy.special import ndtr

    return float(ndtr(-z))


def chi_square_upper_tail(statistic: float, freedom: float) -> float:
    """P(X > statistic) for chi-square with ``freedom`` degrees of freedom."""
    from scipy.special import chdtrc

    return float(chdtrc(freedom, statistic))


def chi_square_lower_tail(statistic: float, freedom: float) -> float:
    """P(X <= statistic) for chi-square with ``freedom`` degrees of freedom."""
    from scipy.special import chdtr

    return float(chdtr(freedom, statistic))


def beta_quantile(p: float, a: float, b: float) -> float:
    """Quantile at level ``p`` of Beta(a, b)."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, p))


def binomial_at_most(k: int, n: int, p: float) -> float:
    """P(X <= k) for Binomial(n, p); 0 below zero, 1 from n on."""
    from scipy.special import bdtr

    if k < 0:
        return 0.0
    return 1.0 if k >= n else float(bdtr(k, n, p))
