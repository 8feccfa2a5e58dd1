"""Equality of a measurement and a theoretical value: equivalence with a margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Stated, around_margin
from dumbbell.claims.p_values import contradiction_p_value
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_margin,
    check_number,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import ANYTHING, cut, equivalent, interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals(RuleByOrigin[Parameter]):
    """The mean (ratio, difference) equals a value within a margin.

    Attributes:
        value: The expected value.
        margin: Half-width of the equivalence range, positive, in ``unit``.
        unit: Unit of all numbers.
        origin: Who states the value; only theory can be contradicted (exit status 1).
        possible: Smallest and largest possible value; the interval shown is clipped to them.
        level: Level of the interval.
    """

    name: ClassVar[RuleName] = RuleName.EQUALS

    value: float
    margin: float
    unit: str
    origin: Origin = Origin.THEORY
    possible: tuple[float, float] = ANYTHING
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_number(self.value, "value")
        check_margin(self.margin)
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The expected value."""
        return (Stated(self.value, self.origin),)

    @property
    def words(self) -> str:
        """The rule in words: equivalence."""
        return (
            f"Equivalence: reproduced when the {percent(self.level)} interval lies inside "
            f"{quantity(self.value, self.unit)} ±{quantity(self.margin, self.unit)}, not "
            "reproduced when it lies wholly outside, else inconclusive."
        )

    def decide(self, evidence: Parameter) -> Decision:
        """Inside the margin, outside, or neither."""
        found = interval(evidence, self.level)
        return Decision(
            verdict=equivalent(found, self.value, self.margin),
            found=MeasuredInterval.of(cut(found, *self.possible)),
            margin=self.margin,
            p_value=contradiction_p_value(found, self.value, self.margin),
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the margin shaded around the value."""
        found = decision.found
        return (
            Glyph(
                centre=self.value,
                reach=around_margin(self.margin),
                measured=found.value,
                low=found.low,
                high=found.high,
                marks=self.stated,
                shaded=(self.value - self.margin, self.value + self.margin),
            ),
        )
