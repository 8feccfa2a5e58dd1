"""A number that chose a parameter: shown with the parameter, reproduced by nothing."""

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
    """A parameter fitted or picked so that printed numbers come out.

    Attributes:
        parameter: Its name.
        unit: Of the parameter.
        used: The printed numbers that chose it, in words; none of them is reproduced thereby.
        nominal: What the source asks for, if it says, in ``unit``.
        level: Of the parameter's interval.
    """

    name: ClassVar[RuleName] = RuleName.CALIBRATION
    least_replications: ClassVar[int] = 1

    parameter: str
    unit: str
    used: str
    nominal: float | None = None
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check the level."""
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """What the source asks for."""
        return () if self.nominal is None else (Stated(self.nominal, Origin.PUBLISHED),)

    @property
    def standing(self) -> CountedAs:
        """Never counted."""
        return CountedAs.UNCOUNTED

    @property
    def words(self) -> str:
        """What chose the parameter."""
        return (
            f"Calibration: {self.parameter} is chosen by {self.used}; shown with its "
            f"{percent(self.level)} interval where it was fitted, and counted nowhere."
        )

    def decide(self, evidence: Fitted) -> Decision:
        """The parameter and its interval."""
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
        """The parameter beside what was asked for."""
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
