"""A lies below B everywhere: a simultaneous band over a named range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval, finite
from dumbbell.claims.evidence import Curves
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated, span_of
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_width,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import LEAST_FOR_A_BAND, inconclusive
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind, simultaneous_band


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordering(RuleByOrigin[Curves]):
    """A difference that is positive at all points of a range simultaneously.

    The curves are the difference in the claimed direction: for "A's CDF is left of B's" they are
    F_A - F_B. A single difference is a curve of one point.

    Attributes:
        over: The range, in words, such as ``above the base RTT``.
        unit: Unit of the difference.
        slack: Largest difference in the wrong direction that still counts as none, zero or more.
        origin: Who claims it.
        level: Simultaneous level of the whole band.
    """

    name: ClassVar[RuleName] = RuleName.ORDERING
    least_replications: ClassVar[int] = LEAST_FOR_A_BAND

    over: str
    unit: str
    slack: float = 0.0
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_width(self.slack, "slack")
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """None: the claim is about a sign."""
        return ()

    @property
    def words(self) -> str:
        """The rule in words: the band."""
        slack = f" (give or take {quantity(self.slack, self.unit)})" if self.slack else ""
        return (
            f"A simultaneous {percent(self.level)} band of the difference {self.over}, from "
            f"{LEAST_FOR_A_BAND} or more replications: reproduced when all of it lies on the "
            f"claimed side{slack}, not reproduced when some of it lies wholly on the other, else "
            "inconclusive."
        )

    def decide(self, evidence: Curves) -> Decision:
        """Is the whole band on one side of zero?"""
        if evidence.n < LEAST_FOR_A_BAND:
            value = float(evidence.rows.mean(axis=0).min())
            return inconclusive(
                MeasuredInterval(value, kind=IntervalKind.BAND, level=self.level, n=evidence.n),
                evidence.n,
                LEAST_FOR_A_BAND,
            )
        band = simultaneous_band(evidence.rows, level=self.level)
        # The smallest difference lies between the smallest edges: a simultaneous band also covers
        # the minimum.
        least = MeasuredInterval(
            float(band.value.min()),
            finite(float(band.low.min())),
            finite(float(band.high.min())),
            IntervalKind.BAND,
            self.level,
            evidence.n,
        )
        if band.above(-self.slack):
            verdict = Verdict.REPRODUCED
        elif float(band.high.min()) < -self.slack:
            verdict = Verdict.NOT_REPRODUCED
        else:
            verdict = Verdict.INCONCLUSIVE
        return Decision(verdict=verdict, found=least, margin=self.slack or None)

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the smallest difference, with an arrow to the claimed side of zero."""
        found = decision.found
        return (
            Glyph(
                centre=0.0,
                reach=span_of(0.0, found.value, found.low, found.high),
                measured=found.value,
                low=found.low,
                high=found.high,
                shaded=(-self.slack, math.inf),
                side=Side.AT_LEAST,
            ),
        )
