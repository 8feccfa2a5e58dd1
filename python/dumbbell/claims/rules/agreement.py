"""Agreement of two instruments: one rule for backends, probing tools and readings everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Sides
from dumbbell.claims.glyphs import Glyph, Stated, around_margin
from dumbbell.claims.rules.base import (
    CountedAs,
    Rule,
    RuleName,
    check_level,
    check_margin,
    check_width,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import equivalent, inconclusive, interval

LEAST_RUNS = 5
"""Fewest replications per side for a mean."""
LEAST_RUNS_OF_A_TAIL = 10
"""Fewest replications per side for a high quantile or a maximum."""
LEAST_DELAY_MARGIN_MS = 0.5
"""Smallest margin for delays, unless one packet's transmission time is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Rule[Sides]):
    """Equivalence of the means of two sides.

    The interval of the difference is paired where the sides share their random streams, else
    Welch's. Lying inside the other side's prediction interval does not count as agreement.

    Attributes:
        relative: Margin as a share of the other side's mean, zero or more.
        floor: Smallest margin, positive, in ``unit``: one packet's time or 0.5 ms for delays, one
            packet for counts.
        unit: Unit of all numbers.
        is_tail: Whether the numbers are high quantiles or maxima, which need ten runs per side.
        level: Confidence level of the interval of the difference.
    """

    name: ClassVar[RuleName] = RuleName.AGREEMENT
    least_replications: ClassVar[int] = LEAST_RUNS

    relative: float
    floor: float
    unit: str
    is_tail: bool = False
    level: float = 0.95

    @classmethod
    def of_delays_ms(
        cls, relative: float, packet_ms: float = 0.0, *, is_tail: bool = False
    ) -> Agreement:
        """Rule for delays in milliseconds: the floor is one packet's time or 0.5 ms, whichever is
        larger.

        Args:
            relative: Share of the other side's mean.
            packet_ms: Transmission time of one packet at the bottleneck.
            is_tail: Whether the delays are high quantiles or maxima.
        """
        floor = max(packet_ms, LEAST_DELAY_MARGIN_MS)
        return cls(relative=relative, floor=floor, unit="ms", is_tail=is_tail)

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_width(self.relative, "relative")
        check_margin(self.floor, "floor")
        check_level(self.level)

    @property
    def least(self) -> int:
        """Fewest replications per side for a conclusion."""
        return LEAST_RUNS_OF_A_TAIL if self.is_tail else LEAST_RUNS

    @property
    def stated(self) -> tuple[Stated, ...]:
        """None: both sides are measured."""
        return ()

    @property
    def standing(self) -> CountedAs:
        """Counted separately: the claim is about our instruments."""
        return CountedAs.BACKENDS

    @property
    def words(self) -> str:
        """The rule in words: equivalence of means."""
        return (
            f"Equivalence of means: reproduced when the {percent(self.level)} interval of the "
            "difference (replication by replication where the random streams are shared, else "
            f"Welch's) lies within the margin, the larger of {percent(self.relative)} of the "
            f"other's mean and {quantity(self.floor, self.unit)}; not reproduced when wholly "
            f"outside; inconclusive else, and with fewer than {self.least} runs a side."
        )

    def margin(self, evidence: Sides) -> float:
        """The larger of the relative margin and the floor, in ``unit``."""
        return max(self.relative * abs(float(evidence.other.mean())), self.floor)

    def decide(self, evidence: Sides) -> Decision:
        """Test the difference of the means for equivalence with zero."""
        difference, margin = interval(evidence, self.level), self.margin(evidence)
        found = MeasuredInterval.of(difference)
        if evidence.n < self.least:
            return inconclusive(found, evidence.n, self.least, margin)
        return Decision(
            verdict=equivalent(difference, 0.0, margin),
            found=found,
            margin=margin,
            remark=(
                f"difference of means {quantity(float(evidence.ours.mean()), self.unit)} and "
                f"{quantity(float(evidence.other.mean()), self.unit)}, {evidence.pairing.value}"
            ),
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the difference, with the margin shaded around zero."""
        margin, found = decision.margin or self.floor, decision.found
        return (
            Glyph(
                centre=0.0,
                reach=around_margin(margin),
                measured=found.value,
                low=found.low,
                high=found.high,
                shaded=(-margin, margin),
            ),
        )
