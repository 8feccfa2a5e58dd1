"""What a share and a spread have in common: one number, on one side of it or equal to it."""

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
    """A pure number that is stated, and held against the interval of a mean.

    Attributes:
        value: Stated.
        of: Of what, in words.
        side: ``EQUALS`` with a margin, or one-sided without.
        margin: What counts as equal, or what "around" leaves.
        origin: Who says so.
        level: Of the interval.
    """

    possible: ClassVar[tuple[float, float]]
    """To which ends of the interval are cut."""

    value: float
    of: str
    side: Side = Side.EQUALS
    margin: float | None = None
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check the numbers: equality has a margin, a side has none."""
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
        """The value."""
        return (Stated(self.value, self.origin),)

    @property
    def end_of_words(self) -> str:
        """The end of the rule's words."""
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
        """The interval of the mean against the value; its ends are cut to what is possible."""
        found, verdict = held_against(
            evidence, stated=self.value, side=self.side, margin=self.margin, level=self.level
        )
        shown = MeasuredInterval.of(cut(found, *self.possible))
        return Decision(verdict=verdict, found=shown, margin=self.margin)

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """The value in the middle; the margin, or the side claimed, shaded."""
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
