"""A number that was used to choose a parameter: shown, never counted as reproduced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Fitted
from dumbbell.claims.glyphs import Glyph, Origin, Stated, span_of
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName, check_level, percent
from dumbbell.claims.verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration(Rule[Fitted]):
    """A parameter that was fitted or picked to match printed numbers.

    Attributes:
        parameter: The parameter's name.
        unit: The parameter's unit.
        used: The printed numbers used for the choice, in words; they do not count as reproduced.
        nominal: The value that the source asks for, if it gives one, in ``unit``.
        level: Level of the parameter's interval.
    """

    name: ClassVar[RuleName] = RuleName.CALIBRATION
    least_replications: ClassVar[int] = 1

    parameter: str
    unit: str
    used: str
    nominal: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the level."""
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The value that the source asks for."""
        return () if self.nominal is None else (Stated(self.nominal, Origin.PUBLISHED),)

    @property
    def standing(self) -> CountedAs:
        """Never counted."""
        return CountedAs.UNCOUNTED

    @property
    def words(self) -> str:
        """The rule in words: which numbers chose the parameter."""
        return (
            f"Calibration: {self.parameter} is chosen by {self.used}; shown with its "
            f"{percent(self.level)} interval where it was fitted, and counted nowhere."
        )

    def decide(self, evidence: Fitted) -> Decision:
        """Return the parameter and its interval."""
        kind = None if evidence.low is None else evidence.kind
        return Decision(
            verdict=Verdict.CALIBRATION,
            found=MeasuredInterval(
                evidence.value, evidence.low, evidence.high, kind, self.level, evidence.n
            ),
            p_value=evidence.p_value,
            remark="the interval ends where the search ended" if evidence.is_at_edge else "",
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the parameter and the value that the source asks for."""
        found = decision.found
        if self.nominal is None:
            return ()
        return (
            Glyph(
                centre=self.nominal,
                reach=span_of(self.nominal, found.value, found.low, found.high),
                measured=found.value,
                low=found.low,
                high=found.high,
                marks=self.stated,
            ),
        )
