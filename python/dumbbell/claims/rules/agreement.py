"""Do two instruments agree? One rule for backends, probers and readings, in every study."""

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
"""A side, for a mean."""
LEAST_RUNS_OF_A_TAIL = 10
"""A side, for a high quantile or a maximum."""
LEAST_DELAY_MARGIN_MS = 0.5
"""Floor of a margin for delays, where a packet's time is less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement(Rule[Sides]):
    """Equivalence of the means of two sides.

    The interval of the difference is paired where the sides share their random streams, else
    Welch's. That one side lies inside the other's prediction interval is no agreement.

    Attributes:
        relative: Margin as a share of the other side's mean, zero or more.
        floor: The margin is at least this: one packet's time or 0.5 ms for delays, one packet for
            counts; in ``unit``, positive.
        unit: Of all numbers.
        is_tail: Whether the numbers are high quantiles or maxima, which need ten runs a side.
        level: Of the interval of the difference.
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
        """For delays in milliseconds: the floor is one packet's time or 0.5 ms, if that is more.

        Args:
            relative: Share of the other side's mean.
            packet_ms: Transmission time of one packet at the bottleneck.
            is_tail: Whether they are high quantiles or maxima.
        """
        floor = max(packet_ms, LEAST_DELAY_MARGIN_MS)
        return cls(relative=relative, floor=floor, unit="ms", is_tail=is_tail)

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_width(self.relative, "relative")
        check_margin(self.floor, "floor")
        check_level(self.level)

    @property
    def least(self) -> int:
        """Runs a side below which nothing is concluded."""
        return LEAST_RUNS_OF_A_TAIL if self.is_tail else LEAST_RUNS

    @property
    def stated(self) -> tuple[Stated, ...]:
        """None: both sides are measured."""
        return ()

    @property
    def standing(self) -> CountedAs:
        """Counted apart: it says something about the laboratory."""
        return CountedAs.BACKENDS

    @property
    def words(self) -> str:
        """Equivalence of means."""
        return (
            f"Equivalence of means: reproduced when the {percent(self.level)} interval of the "
            "difference (replication by replication where the random streams are shared, else "
            f"Welch's) lies within the margin, the larger of {percent(self.relative)} of the "
            f"other's mean and {quantity(self.floor, self.unit)}; not reproduced when wholly "
            f"outside; inconclusive else, and with fewer than {self.least} runs a side."
        )

    def margin(self, evidence: Sides) -> float:
        """The larger of the relative one and the floor, in ``unit``."""
        return max(self.relative * abs(float(evidence.other.mean())), self.floor)

    def decide(self, evidence: Sides) -> Decision:
        """The difference of the means against zero."""
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
        """The margin shaded around no difference."""
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
