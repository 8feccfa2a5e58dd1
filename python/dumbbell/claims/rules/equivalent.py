"""Equivalence of a difference with zero, for claims such as "hardly matters" or "the same as"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Curves, Parameter
from dumbbell.claims.glyphs import Glyph, Origin, Stated, around_margin
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_margin,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import (
    LEAST_FOR_A_BAND,
    equivalent,
    inconclusive,
    interval,
)
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Estimate, IntervalKind, simultaneous_band

DELAY_MARGIN_MS = 2.0
RATE_MARGIN_MBPS = 3.0
RATE_MARGIN_SHARE = 0.03
"""Share of the possible rate; a rate's margin is the smaller of this and 3 Mbit/s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalent(RuleByOrigin[Parameter | Curves]):
    """A difference too small to matter. A difference that is not significant need not be small.

    Given curves (differences of any two settings, or over a range), the whole simultaneous band
    must lie within the margin.

    Attributes:
        margin: Largest difference that does not matter, positive, in ``unit``.
        unit: Unit of the difference.
        origin: Who claims it.
        level: Level of the interval or band.
    """

    name: ClassVar[RuleName] = RuleName.EQUIVALENT

    margin: float
    unit: str
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    @classmethod
    def of_delays(cls) -> Equivalent:
        """Rule for delays: 2 ms."""
        return cls(margin=DELAY_MARGIN_MS, unit="ms")

    @classmethod
    def of_rates(cls, possible_mbps: float) -> Equivalent:
        """Rule for rates: 3 Mbit/s or 3 % of the possible rate, whichever is less.

        Args:
            possible_mbps: Capacity of the line, Mbit/s.
        """
        margin = min(RATE_MARGIN_MBPS, RATE_MARGIN_SHARE * possible_mbps)
        return cls(margin=margin, unit="Mbit/s")

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_margin(self.margin)
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """None: the reference is a difference of zero."""
        return ()

    @property
    def words(self) -> str:
        """The rule in words: equivalence."""
        return (
            f"Equivalence: reproduced when the {percent(self.level)} interval of the difference "
            "(a simultaneous band where there are several) lies inside "
            f"±{quantity(self.margin, self.unit)}, not reproduced when it lies wholly outside, "
            "else inconclusive."
        )

    def decide(self, evidence: Parameter | Curves) -> Decision:
        """Inside the margin, outside, or neither."""
        if not isinstance(evidence, Curves):
            difference = interval(evidence, self.level)
            return Decision(
                verdict=equivalent(difference, 0.0, self.margin),
                found=MeasuredInterval.of(difference),
                margin=self.margin,
            )
        return self._decide_all(evidence)

    def _decide_all(self, curves: Curves) -> Decision:
        if curves.n < LEAST_FOR_A_BAND:
            furthest = float(curves.rows.flat[abs(curves.rows).argmax()])
            return inconclusive(
                MeasuredInterval(furthest, kind=IntervalKind.BAND, level=self.level, n=curves.n),
                curves.n,
                LEAST_FOR_A_BAND,
                self.margin,
            )
        band = simultaneous_band(curves.rows, level=self.level)
        low, high = float(band.low.min()), float(band.high.max())
        outside = (band.low > self.margin) | (band.high < -self.margin)
        if -self.margin <= low and high <= self.margin:
            verdict = Verdict.REPRODUCED
        else:
            verdict = Verdict.NOT_REPRODUCED if outside.any() else Verdict.INCONCLUSIVE
        # Shown is the largest difference, or the largest of those that exceed the margin.
        sizes = abs(band.value) * (outside if verdict is Verdict.NOT_REPRODUCED else 1.0)
        place = int(sizes.argmax())
        if verdict is Verdict.NOT_REPRODUCED:
            low, high = float(band.low[place]), float(band.high[place])
        value = float(band.value[place])
        largest = Estimate(
            value, min(low, value), max(high, value), self.level, band.n, IntervalKind.BAND
        )
        return Decision(
            verdict=verdict,
            found=MeasuredInterval.of(largest),
            margin=self.margin,
            remark="the largest of several differences",
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the margin shaded around zero."""
        found = decision.found
        return (
            Glyph(
                centre=0.0,
                reach=around_margin(self.margin),
                measured=found.value,
                low=found.low,
                high=found.high,
                shaded=(-self.margin, self.margin),
            ),
        )
