"""Range and variability: 5th to 95th percentile, relative to the median."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.glyphs import Side
from dumbbell.claims.rules.base import RuleName
from dumbbell.claims.rules.one_number import OneNumber


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread(OneNumber):
    """A relative spread, or the ratio of two ("varies more" is at least 1).

    An absolute range grows with the mean, a full one with the number of flows: use
    `relative_spread` per replication.
    """

    name: ClassVar[RuleName] = RuleName.SPREAD
    possible: ClassVar[tuple[float, float]] = (0.0, math.inf)

    @classmethod
    def more(cls, of: str) -> Spread:
        """Rule for "varies more": the ratio of two spreads is at least 1."""
        return cls(value=1.0, of=of, side=Side.AT_LEAST)

    @property
    def words(self) -> str:
        """The rule in words: what varies, and the interval."""
        end = self.end_of_words
        return f"5th to 95th percentile relative to the median, of {self.of}: {end}"
