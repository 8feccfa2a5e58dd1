"""Statistics of paired measurements."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb


def some_pairs(text: str) -> int:
    """A number of pairs on a command line: without one there is no median."""
    return _at_least(1, text)


def pairs_or_none(text: str) -> int:
    """The same of rows that may be left out, with 0."""
    return _at_least(0, text)


def _at_least(least: int, text: str) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
    return int(text)


@dataclass(frozen=True)
class MedianInterval:
    """A median between two of the values it was taken from."""

    median: float
    low: float
    high: float
    level: float

    def __str__(self) -> str:
        return f"{self.median:.3g} [{self.low:.3g}, {self.high:.3g}]"


def coverage(n: int, rank: int) -> float:
    """Probability that a median lies between the rank-th smallest and rank-th largest of n.

    Values are independent and of one continuous law, whichever: each is below the median with
    probability 1/2, and the interval misses when fewer than ``rank`` fall on one side.
    """
    return 1 - 2 * sum(comb(n, k) for k in range(rank)) * 0.5**n


def median_interval(values: Sequence[float], level: float = 0.95) -> MedianInterval:
    """The median with the narrowest order-statistic interval that covers it at ``level``.

    With fewer than six values no such interval reaches 95 %; then the extremes are given, with
    the level they have.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n == 0:
        raise ValueError("a median needs at least one value")
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    ranks = [rank for rank in range(1, n // 2 + 1) if coverage(n, rank) >= level]
    rank = max(ranks, default=1)
    return MedianInterval(middle, ordered[rank - 1], ordered[n - rank], coverage(n, rank))
