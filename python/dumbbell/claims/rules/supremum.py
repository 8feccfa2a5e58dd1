"""A least upper bound, such as a full queue's delay: typically reached, never exceeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Runs
from dumbbell.claims.glyphs import Glyph, Origin, Stated, around_margin
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_margin,
    check_number,
    check_width,
    percent,
    quantity,
)
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Supremum(RuleByOrigin[Runs]):
    """The exact maximum of a run is within one packet below the bound and never above it.

    "Every run reaches it" becomes less likely with more runs, "some run reaches it" more likely.
    The claim is therefore about the typical run: more than half of all possible runs reach the
    bound, by the sign test. More runs sharpen the test without changing the claim. One run above
    the bound contradicts it.

    Sampled peaks (the largest of ten pings) are not exact maxima: compare their mean with the mean
    of their distribution by `Equals`.

    Attributes:
        bound: The supremum.
        packet: One packet (its transmission time or its size) in ``unit``, positive.
        resolution: Tolerance above the bound for the resolution of the maxima (1 ns, in ``unit``).
        unit: Unit of all numbers.
        origin: Who states the bound.
        level: One minus the probability of either error of the sign test.
    """

    name: ClassVar[RuleName] = RuleName.SUPREMUM
    least_replications: ClassVar[int] = 5

    bound: float
    packet: float
    unit: str
    resolution: float = 0.0
    origin: Origin = Origin.THEORY
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_number(self.bound, "bound")
        check_margin(self.packet, "packet")
        check_width(self.resolution, "resolution")
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The bound."""
        return (Stated(self.bound, self.origin),)

    @property
    def words(self) -> str:
        """The rule in words: both conditions."""
        return (
            f"Exact maximum of each run: not reproduced when one is above "
            f"{quantity(self.bound, self.unit)}; reproduced when more than half of all runs come "
            f"within one packet ({quantity(self.packet, self.unit)}) below it, by a sign test at "
            f"{percent(1 - self.level)}, not reproduced when less than half do, else inconclusive. "
            "So it does not depend on how many runs there were."
        )

    def decide(self, evidence: Runs) -> Decision:
        """Exceeded, reached by the typical run, or not reached."""
        from scipy.special import bdtr, bdtrc  # imported when used: half a second

        peaks = evidence.values
        n = evidence.n
        lowest, highest = float(peaks.min()), float(peaks.max())
        reached = int(np.count_nonzero(peaks >= self.bound - self.packet - self.resolution))
        passed = highest > self.bound + self.resolution
        error = 1.0 - self.level
        if passed:
            verdict = Verdict.NOT_REPRODUCED
            remark = f"a run passes the bound by {quantity(highest - self.bound, self.unit)}"
        else:
            remark = f"{reached} of {n} runs come within one packet of the bound"
            # Binomial tails: at least (at most) this many runs reach it, if half of all runs do.
            if float(bdtrc(reached - 1, n, 0.5)) <= error:
                verdict = Verdict.REPRODUCED
            elif float(bdtr(reached, n, 0.5)) <= error:
                verdict = Verdict.NOT_REPRODUCED
            else:
                verdict = Verdict.INCONCLUSIVE
        return Decision(
            verdict=verdict,
            found=MeasuredInterval(
                float(np.median(peaks)), lowest, highest, IntervalKind.EXTREMES, None, n
            ),
            margin=self.packet,
            remark=remark,
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw one packet shaded below the bound."""
        found = decision.found
        return (
            Glyph(
                centre=self.bound,
                reach=around_margin(self.packet),
                measured=found.value,
                low=found.low,
                high=found.high,
                marks=self.stated,
                shaded=(self.bound - self.packet, self.bound),
            ),
        )
