"""Base of `Share` and `Spread`: one number that equals a value or lies on one side of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated, around_margin, span_of
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    check_level,
    check_margin,
    check_number,
    percent,
    quantity,
    side_words,
)
from dumbbell.claims.rules.intervals import cut, held_against


@dataclass(frozen=True, slots=True, kw_only=True)
class OneNumber(RuleByOrigin[Parameter]):
    """A pure number that is compared with the interval of a mean.

    Attributes:
        value: The stated value.
        of: What the number measures, in words.
        side: ``EQUALS`` with a margin, or one-sided without.
        margin: Margin of equivalence, or the range that "around" covers.
        origin: Who states it.
        level: Level of the interval.
    """

    possible: ClassVar[tuple[float, float]]
    """Range to which the interval is clipped."""

    value: float
    of: str
    side: Side = Side.EQUALS
    margin: float | None = None
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields: equality needs a margin, a one-sided claim has none."""
        check_number(self.value, "stated_value")
        if self.side is not Side.EQUALS:
            if self.margin is not None:
                raise ValueError(f"{self.side.value!r} takes no margin")
        elif self.margin is None:
            raise ValueError("equality needs a margin, written before the run")
        else:
            check_margin(self.margin)
        check_level(self.level)

    @property
    def unit(self) -> str:
        """A pure number."""
        return "1"

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The stated value."""
        return (Stated(self.value, self.origin),)

    @property
    def end_of_words(self) -> str:
        """The end of the rule's wording."""
        interval = f"the {percent(self.level)} interval lies"
        if self.margin is not None:
            return (
                f"reproduced when {interval} inside {quantity(self.value, '1')} "
                f"±{quantity(self.margin, '1')}, not reproduced when wholly outside, else "
                "inconclusive."
            )
        return (
            f"reproduced when {interval} wholly {side_words(self.side, self.value, '1')}, not "
            "reproduced when wholly on the other side, else inconclusive."
        )

    def decide(self, evidence: Parameter) -> Decision:
        """Compare the interval of the mean, clipped to the possible range, with the value."""
        found, verdict = held_against(
            evidence, stated=self.value, side=self.side, margin=self.margin, level=self.level
        )
        shown = MeasuredInterval.of(cut(found, *self.possible))
        return Decision(verdict=verdict, found=shown, margin=self.margin)

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the value in the middle, with the margin or the claimed side shaded."""
        found, value = decision.found, self.value
        if self.margin is not None:
            reach, shaded = around_margin(self.margin), (value - self.margin, value + self.margin)
        else:
            reach = span_of(value, found.value, found.low, found.high)
            infinite = float("inf")
            shaded = (value, infinite) if self.side is Side.AT_LEAST else (-infinite, value)
        return (
            Glyph(
                centre=value,
                reach=reach,
                measured=found.value,
                low=found.low,
                high=found.high,
                marks=self.stated,
                shaded=shaded,
                side=self.side,
            ),
        )
