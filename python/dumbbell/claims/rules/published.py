"""A number published once, against the prediction for one run as published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dumbbell.claims.decision import Decision, MeasuredInterval
from dumbbell.claims.evidence import Runs
from dumbbell.claims.glyphs import Glyph, Origin, Stated, around_print
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_number,
    check_width,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import ANYTHING, cut, inconclusive
from dumbbell.claims.rules.prediction import (
    INFORMATIVE_HALF_WIDTH,
    LEAST_AGAINST,
    LEVEL_AGAINST,
    Law,
    is_informative,
    least_runs,
    predict,
    prediction_p_value,
)
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Published(RuleByOrigin[Runs]):
    """A printed number against the prediction interval of one run of the published length.

    The runs must have the published length, sampling and start; else wrap it in
    `Preview`.

    Agreement, and disagreement with a number that is near, needs ten runs: from fewer, a Student
    interval is so wide that it contains distant numbers. Three runs suffice against a number
    outside the 99.9 % interval; more runs would hardly change that. Order statistics decide nothing
    with fewer than 39 runs.

    Attributes:
        printed: The printed number.
        rounding: Half a unit of its last digit, or the range that a word such as "around" covers.
        law: Distribution of the number over runs.
        jitter: Additional standard deviation of the published instrument, such as a host's.
        unit: Unit of all numbers.
        origin: ``ELSEWHERE`` for numbers that were measured but not published.
        possible: Smallest and largest possible value; the interval shown is clipped to them.
        level: Level of the prediction.
    """

    name: ClassVar[RuleName] = RuleName.PUBLISHED

    printed: float
    rounding: float
    unit: str
    law: Law = Law.NORMAL
    jitter: float = 0.0
    origin: Origin = Origin.PUBLISHED
    possible: tuple[float, float] = ANYTHING
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_number(self.printed, "printed")
        check_width(self.rounding, "rounding")
        check_width(self.jitter, "jitter")
        check_level(self.level)

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The printed number."""
        return (Stated(self.printed, self.origin),)

    @property
    def chance_of_a_miss(self) -> float:
        """One minus the level: how often a true number falls outside."""
        return 1.0 - self.level

    @property
    def words(self) -> str:
        """The rule in words: a prediction, never a mean."""
        return prediction_words(self.level, self.law, self.rounding, self.jitter, self.unit)

    def decide(self, evidence: Runs) -> Decision:
        """Outside the interval, inside it, or inside an interval too wide to test anything."""
        found = predict(
            evidence.values, self.law, self.level, rounding=self.rounding, jitter=self.jitter
        )
        least = least_runs(self.law, self.level)
        if evidence.n < least:
            against = self._against(evidence, least)
            return against or inconclusive(self._shown(found), evidence.n, least)
        p_value = None
        if not self.jitter:
            p_value = prediction_p_value(
                evidence.values, self.printed, self.law, rounding=self.rounding
            )
        return Decision(
            verdict=predicted(found, self.printed), found=self._shown(found), p_value=p_value
        )

    def _against(self, evidence: Runs, least: int) -> Decision | None:
        """A contradiction found with fewer runs than agreement needs; None if there is none."""
        # Identical runs show no spread, for example of a count that is mostly zero.
        is_spread = float(np.ptp(evidence.values)) > 0.0
        if self.law is Law.ANY or evidence.n < LEAST_AGAINST or not is_spread:
            return None
        level = max(self.level, LEVEL_AGAINST)
        found = predict(
            evidence.values, self.law, level, rounding=self.rounding, jitter=self.jitter
        )
        if found.contains(self.printed):
            return None
        return Decision(
            verdict=Verdict.NOT_REPRODUCED,
            found=self._shown(found),
            remark=f"{evidence.n} runs are enough against it, as it lies outside their "
            f"{percent(level)} interval; for it this rule needs {least}",
        )

    def _shown(self, found: Estimate) -> MeasuredInterval:
        return MeasuredInterval.of(cut(found, *self.possible))

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the printed number in the middle of -50 % to +50 %."""
        return (printed_glyph(self.printed, self.rounding, self.origin, decision.found),)


def predicted(found: Estimate, printed: float) -> Verdict:
    """The verdict on a printed number, given a prediction from enough runs."""
    if not found.contains(printed):
        return Verdict.NOT_REPRODUCED
    return Verdict.REPRODUCED if is_informative(found) else Verdict.UNINFORMATIVE


def prediction_words(
    level: float, law: Law, rounding: float, jitter: float, unit: str, *, whose: str = "run"
) -> str:
    """The rule in words."""
    made = {
        Law.NORMAL: "Student's",
        Law.LOG_NORMAL: "Student's, of the logarithms",
        Law.ANY: "by order statistics",
    }[law]
    widened = (
        f", widened by what print leaves open, ±{quantity(rounding, unit)}" if rounding else ""
    )
    early = (
        ""
        if law is Law.ANY
        else f" With {LEAST_AGAINST} to {least_runs(law, level) - 1} it is not reproduced outside "
        "their "
        f"{percent(max(level, LEVEL_AGAINST))} interval, else inconclusive."
    )
    shaken = f", with a host's jitter of {quantity(jitter, unit)}" if jitter else ""
    return (
        f"Central {percent(level)} prediction interval of one {whose} as published ({made}, from "
        f"{least_runs(law, level)} or more{shaken}{widened}). Not reproduced when the number lies "
        "outside, however wide it is; reproduced when inside and the interval is within "
        f"±{percent(INFORMATIVE_HALF_WIDTH)} of its centre; uninformative when inside a wider "
        f"one.{early}"
    )


def printed_glyph(
    printed: float, rounding: float, origin: Origin, found: MeasuredInterval, label: str = ""
) -> Glyph:
    """Draw a printed number in the middle of -50 % to +50 % of itself."""
    return Glyph(
        label=label,
        centre=printed,
        reach=around_print(printed, found.low, found.high),
        measured=found.value,
        low=found.low,
        high=found.high,
        marks=(Stated(printed, origin),),
        shaded=(printed - rounding, printed + rounding) if rounding else None,
    )
