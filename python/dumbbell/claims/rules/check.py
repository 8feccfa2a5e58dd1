"""A check of ours on an identity that holds by construction; not a claim from a source."""

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
    """Every run must satisfy an identity, such as a token bucket that never falls below empty.

    Attributes:
        value: The value that each run must give.
        because: Why it holds by construction, in words.
        unit: Unit of all numbers.
        side: Whether each run's number must equal the value or lie on one side of it.
        tolerance: Allowed rounding error, zero or more.
    """

    name: ClassVar[RuleName] = RuleName.CHECK
    least_replications: ClassVar[int] = 1

    value: float
    because: str
    unit: str
    side: Side = Side.EQUALS
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_number(self.value, "value")
        check_width(self.tolerance, "tolerance")

    @property
    def level(self) -> float:
        """Has no interval: every run is checked by itself."""
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
        """The rule in words, and why the identity holds."""
        give = f", give or take {quantity(self.tolerance, self.unit)}" if self.tolerance else ""
        return (
            f"Check of ours: every run lies {side_words(self.side, self.value, self.unit)}{give}. "
            f"It holds by construction: {self.because}."
        )

    def decide(self, evidence: Runs) -> Decision:
        """Check every run; one failure decides."""
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
        """No drawing: the result is yes or no."""
        return ()
