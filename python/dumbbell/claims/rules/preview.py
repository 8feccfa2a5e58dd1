"""A run that is shorter, coarser or smaller than the published one: shown, never judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Generic, TypeVar

from dumbbell.claims.decision import Decision
from dumbbell.claims.glyphs import Glyph, Stated
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName, quantity
from dumbbell.claims.verdicts import Verdict

E = TypeVar("E")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """One respect in which the run falls short of the published one.

    Attributes:
        what: Such as ``run length`` or ``sampling interval``.
        ours: Our value, in ``unit``.
        published: The source's value.
        unit: Unit of both.
    """

    what: str
    ours: float
    published: float
    unit: str

    @property
    def words(self) -> str:
        """Such as ``run length 20 s, published 150 s``."""
        ours, theirs = quantity(self.ours, self.unit), quantity(self.published, self.unit)
        return f"{self.what} {ours}, published {theirs}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Rule[E], Generic[E]):
    """The rule of the full-length claim, applied to a shorter, coarser or smaller run.

    Attributes:
        of: The rule by which the full run is judged.
        shortfalls: Where this run falls short; at least one.
    """

    name: ClassVar[RuleName] = RuleName.PREVIEW

    of: Rule[E]
    shortfalls: tuple[Shortfall, ...]

    def __post_init__(self) -> None:
        """Refuse a preview without a shortfall."""
        if not self.shortfalls or any(each.ours == each.published for each in self.shortfalls):
            raise ValueError("a preview lacks something of the published run; else judge it")

    @property
    def unit(self) -> str:
        """The full run's unit."""
        return self.of.unit

    @property
    def level(self) -> float:
        """The full run's level."""
        return self.of.level

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The full run's reference numbers."""
        return self.of.stated

    @property
    def standing(self) -> CountedAs:
        """Never counted."""
        return CountedAs.UNCOUNTED

    @property
    def words(self) -> str:
        """Never counted."""
        lacks = "; ".join(each.words for each in self.shortfalls)
        return f"Preview only, not judged ({lacks}). At full length: {self.of.words}"

    def decide(self, evidence: E) -> Decision:
        """The same numbers, and no verdict on them."""
        lacks = "; ".join(each.words for each in self.shortfalls)
        return self.of.decide(evidence).shown_as(Verdict.PREVIEW, lacks)

    def at_level(self, level: float) -> Preview[E]:
        """With the full run's rule at that level."""
        return replace(self, of=self.of.at_level(level))

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """The glyphs of the full run's rule."""
        return self.of.glyphs(decision)
