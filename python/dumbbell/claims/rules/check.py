"""What holds by construction: a check of ours, not a claim of anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Runs
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated
from dumbbell.claims.rules.base import (
    CountedAs,
    Rule,
    RuleName,
    check_number,
    check_width,
    quantity,
    side_words,
)
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Rule[Runs]):
    """Every run keeps an identity, such as a bucket that never gives more than it holds.

    Attributes:
        value: What each run must give.
        because: Why it holds by construction, in words.
        unit: Of all numbers.
        side: Whether each run's number must equal it or lie on one side.
        tolerance: What rounding allows, zero or more.
    """

    name: ClassVar[RuleName] = RuleName.CHECK
    least_replications: ClassVar[int] = 1

    value: float
    because: str
    unit: str
    side: Side = Side.EQUALS
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number(self.value, "value")
        check_width(self.tolerance, "tolerance")

    @property
    def level(self) -> float:
        """No interval: every single run is looked at."""
        return 1.0

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The identity's value."""
        return (Stated(self.value, Origin.THEORY),)

    @property
    def standing(self) -> CountedAs:
        """Never counted."""
        return CountedAs.UNCOUNTED

    @property
    def words(self) -> str:
        """Every run, and why."""
        give = f", give or take {quantity(self.tolerance, self.unit)}" if self.tolerance else ""
        return (
            f"Check of ours: every run lies {side_words(self.side, self.value, self.unit)}{give}. "
            f"It holds by construction: {self.because}."
        )

    def decide(self, evidence: Runs) -> Decision:
        """Every run or none."""
        away = evidence.values - self.value
        wrong = {
            Side.EQUALS: np.abs(away) > self.tolerance,
            Side.AT_LEAST: away < -self.tolerance,
            Side.AT_MOST: away > self.tolerance,
        }[self.side]
        values, fails = evidence.values, int(np.count_nonzero(wrong))
        return Decision(
            verdict=Verdict.CHECK_FAILS if fails else Verdict.CHECK_HOLDS,
            found=MeasuredInterval(
                float(np.median(values)),
                float(values.min()),
                float(values.max()),
                IntervalKind.EXTREMES,
                None,
                evidence.n,
            ),
            margin=self.tolerance or None,
            remark=f"{fails} of {evidence.n} runs fail it" if fails else "",
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """None: it is a yes or a no."""
        return ()
