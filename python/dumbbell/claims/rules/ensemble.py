"""A printed number against the range of a declared ensemble, for scenarios without randomness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dumbbell.claims.decision import Decision, Identified, MeasuredInterval
from dumbbell.claims.evidence import Ensemble
from dumbbell.claims.glyphs import Glyph, Origin, Stated
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_number,
    check_width,
    percent,
    quantity,
)
from dumbbell.claims.rules.intervals import inconclusive
from dumbbell.claims.rules.prediction import INFORMATIVE_HALF_WIDTH, Law, least_runs, predict
from dumbbell.claims.rules.published import predicted, printed_glyph


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedInEnsemble(RuleByOrigin[Ensemble]):
    """The printed value must lie inside the spread of the ensemble.

    A scenario without random input (one greedy flow) has no replications. Its ensemble varies the
    unpublished parameters over plausible values and adds small jitter: a start up to one packet
    time later, RTT +-1 %, burst +-1 packet.

    Attributes:
        printed: The printed number.
        rounding: Half a unit of its last digit.
        declared: What varies over the ensemble, in words, fixed in advance.
        unit: Unit of all numbers.
        origin: Where the number was printed.
        level: Share of the members inside the band.
    """

    name: ClassVar[RuleName] = RuleName.ENSEMBLE

    printed: float
    rounding: float
    declared: tuple[str, ...]
    unit: str
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Validate the fields; something must vary."""
        check_number(self.printed, "printed")
        check_width(self.rounding, "rounding")
        check_level(self.level)
        if not self.declared:
            raise ValueError("declared is empty; an ensemble varies something")

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The printed number."""
        return (Stated(self.printed, self.origin),)

    @property
    def chance_of_a_miss(self) -> float:
        """One minus the level."""
        return 1.0 - self.level

    @property
    def words(self) -> str:
        """The rule in words: the band and the parameters that vary."""
        widened = (
            f", widened by print's ±{quantity(self.rounding, self.unit)}" if self.rounding else ""
        )
        return (
            f"The central {percent(self.level)} of an ensemble declared beforehand "
            f"({', '.join(self.declared)}){widened}. Not reproduced when the printed number lies "
            "outside, however wide it is; reproduced when inside and the band is within "
            f"±{percent(INFORMATIVE_HALF_WIDTH)} of its centre; uninformative when inside a wider "
            f"one; inconclusive with fewer than {least_runs(Law.ANY, self.level)} members."
        )

    def decide(self, evidence: Ensemble) -> Decision:
        """Decide as for a published number, with members in place of runs."""
        band = predict(evidence.values, Law.ANY, self.level, rounding=self.rounding)
        least = least_runs(Law.ANY, self.level)
        if evidence.n < least:
            return inconclusive(MeasuredInterval.of(band), evidence.n, least)
        return Decision(
            verdict=predicted(band, self.printed),
            found=MeasuredInterval.of(band),
            identified=identified(evidence, self.printed, self.rounding),
        )

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the printed number in the middle of -50 % to +50 %."""
        return (printed_glyph(self.printed, self.rounding, self.origin, decision.found),)


def identified(ensemble: Ensemble, printed: float, rounding: float) -> tuple[Identified, ...]:
    """Which values of each unpublished parameter agree with a printed number.

    A value of a parameter agrees when the printed number lies within the range of the members
    that have it, from the smallest to the largest.

    Args:
        ensemble: The ensemble, with its members' settings.
        printed: The printed number.
        rounding: Rounding error of the printed number.
    """
    if not ensemble.settings:
        return ()
    told = []
    for name in ensemble.settings[0]:
        agree: list[float | str] = []
        disagree: list[float | str] = []
        own = [setting[name] for setting in ensemble.settings]
        for value in dict.fromkeys(own):
            chosen = np.fromiter((each == value for each in own), dtype=bool)
            members = ensemble.values[chosen]
            low, high = float(members.min()) - rounding, float(members.max()) + rounding
            (agree if low <= printed <= high else disagree).append(value)
        told.append(Identified(name, tuple(agree), tuple(disagree)))
    return tuple(told)
