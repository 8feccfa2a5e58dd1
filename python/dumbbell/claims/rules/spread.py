"""Range and variability: 5th to 95th percentile, relative to the median."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName, check_level, standing_of
from dumbbell.claims.rules.one_number import check_fields, decide_one, glyph_of, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread(Rule[Parameter]):
    """A relative spread, or the ratio of two ("varies more" is at least 1).

    An absolute range grows with the mean, a full one with the number of flows: use
    `relative_spread` per replication.

    Attributes:
        value: Stated.
        of: What varies, in words.
        side: ``EQUALS`` with a margin, or one-sided without.
        margin: What counts as equal.
        origin: Who says so.
        level: Of the interval.
    """

    name: ClassVar[RuleName] = RuleName.SPREAD

    value: float
    of: str
    side: Side = Side.EQUALS
    margin: float | None = None
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_fields(self.value, self.side, self.margin)
        check_level(self.level)

    @classmethod
    def more(cls, of: str) -> Spread:
        """A ratio of two spreads that is at least 1."""
        return cls(value=1.0, of=of, side=Side.AT_LEAST)

    @property
    def unit(self) -> str:
        """A pure number."""
        return "1"

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The spread."""
        return (Stated(self.value, self.origin),)

    @property
    def standing(self) -> CountedAs:
        """By who says so."""
        return standing_of(self.origin)

    @property
    def words(self) -> str:
        """What varies, and the interval."""
        rule = words_of(self.value, self.side, self.margin, "1", self.level)
        return f"5th to 95th percentile relative to the median, of {self.of}: {rule}"

    def decide(self, evidence: Parameter) -> Decision:
        """The interval of the mean spread, or of the ratio of two."""
        return decide_one(
            evidence,
            value=self.value,
            side=self.side,
            margin=self.margin,
            level=self.level,
            possible=(0.0, math.inf),
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """The stated spread in the middle."""
        return (
            glyph_of(
                decision, value=self.value, side=self.side, margin=self.margin, origin=self.origin
            ),
        )
