"""The share of flows that do better: where two CDFs cross."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName, check_level, standing_of
from dumbbell.claims.rules.one_number import check_fields, decide_one, glyph_of, words_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(Rule[Parameter]):
    """A share in [0, 1]; of flows that do better, the quantile at which the CDFs cross.

    Flows are not paired across settings: use `share_better` per replication.
    "Most" is at least one half.

    Attributes:
        value: The share stated.
        of: What it is a share of, in words.
        side: ``EQUALS`` with a margin, or one-sided without.
        margin: What "around" leaves, as a share.
        origin: Who says so.
        level: Of the interval.
    """

    name: ClassVar[RuleName] = RuleName.SHARE

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
        if not 0.0 <= self.value <= 1.0:
            raise ValueError(f"value is {self.value}; a share from 0 to 1")

    @classmethod
    def most(cls, of: str) -> Share:
        """At least half."""
        return cls(value=0.5, of=of, side=Side.AT_LEAST)

    @property
    def unit(self) -> str:
        """A pure number."""
        return "1"

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The share."""
        return (Stated(self.value, self.origin),)

    @property
    def standing(self) -> CountedAs:
        """By who says so."""
        return standing_of(self.origin)

    @property
    def words(self) -> str:
        """What it is a share of, and the interval."""
        rule = words_of(self.value, self.side, self.margin, "1", self.level)
        return f"Share of {self.of}, one a replication: {rule}"

    def decide(self, evidence: Parameter) -> Decision:
        """The interval of the mean share."""
        return decide_one(
            evidence,
            value=self.value,
            side=self.side,
            margin=self.margin,
            level=self.level,
            possible=(0.0, 1.0),
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """The share in the middle."""
        return (
            glyph_of(
                decision, value=self.value, side=self.side, margin=self.margin, origin=self.origin
            ),
        )
