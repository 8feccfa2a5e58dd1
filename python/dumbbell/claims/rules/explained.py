"""Printed levels, where the source leaves parameters open: does one point give them all?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dumbbell.claims.decision import Decision, Found, Missed
from dumbbell.claims.evidence import Grid, GridPoint, Levels, Runs, is_complete
from dumbbell.claims.glyphs import Glyph, Origin, Stated
from dumbbell.claims.rules.base import (
    Rule,
    RuleName,
    Standing,
    check_level,
    check_number,
    check_width,
    percent,
    standing_of,
)
from dumbbell.claims.rules.prediction import (
    INFORMATIVE_HALF_WIDTH,
    LEAST_FOR_STUDENT,
    Law,
    is_informative,
    predict,
    prediction_p_value,
)
from dumbbell.claims.rules.published import printed_glyph
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One of the printed numbers of an experiment.

    Attributes:
        printed: The number.
        reading: What print leaves open: half of the last digit, or of "around 40 %" five points.
        law: Of what one run prints; normal or log-normal.
    """

    printed: float
    reading: float
    law: Law = Law.NORMAL

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_number(self.printed, "printed")
        check_width(self.reading, "reading")
        if self.law is Law.ANY:
            raise ValueError("levels are tested jointly by Student's prediction; normal or of logs")


@dataclass(frozen=True, slots=True)
class _AtPoint:
    point: GridPoint[Levels]
    p_value: float
    predictions: Mapping[str, Estimate]
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained(Rule[Grid[Levels]]):
    """Is there one point of the grid at which all printed levels of an experiment come out?

    One unknown point gave them all. At each point every level is held against the prediction of
    one run as published; the joint p-value is the least of theirs times their number (Bonferroni,
    valid whatever their correlation). The true point is rejected with a probability of one less
    the level at most, however large the grid is.

    Attributes:
        levels: Name to printed number.
        grid: What varies, in words.
        unit: Of all of them.
        origin: Where they were printed.
        level: Of the joint test.
    """

    name: ClassVar[RuleName] = RuleName.EXPLAINED
    least_replications: ClassVar[int] = LEAST_FOR_STUDENT

    levels: Mapping[str, Level]
    grid: str
    unit: str
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95

    def __post_init__(self) -> None:
        """Check that there is something to explain."""
        check_level(self.level)
        if not self.levels:
            raise ValueError("levels is empty")

    @property
    def stated(self) -> tuple[Stated, ...]:
        """All printed numbers."""
        return tuple(Stated(each.printed, self.origin) for each in self.levels.values())

    @property
    def standing(self) -> Standing:
        """By where they were printed."""
        return standing_of(self.origin)

    @property
    def chance_of_a_miss(self) -> float:
        """One less the level, for all of them together."""
        return 1.0 - self.level

    @property
    def words(self) -> str:
        """The joint test."""
        return (
            f"{len(self.levels)} printed levels, held jointly against one run as published at "
            f"each point of a grid fixed beforehand ({self.grid}; {LEAST_FOR_STUDENT} or more "
            "replications a point): explained at the points where all lie in a prediction "
            f"interval whose joint level is {percent(self.level)}, else not explained anywhere. A "
            f"level whose interval is wider than ±{percent(INFORMATIVE_HALF_WIDTH)} of its centre "
            "tests nothing; where that is so of all of them, it is uninformative."
        )

    def decide(self, evidence: Grid[Levels]) -> Decision:
        """Which points explain all levels, or which comes nearest."""
        complete = [point for point in evidence.points if is_complete(self._of(point))]
        if not complete:
            return Decision(verdict=Verdict.NOT_TESTABLE, found=Found(None))
        known = [self._at(point) for point in complete]
        judged = [at for at in known if at.n >= LEAST_FOR_STUDENT]
        explaining = [at for at in judged if at.p_value >= 1.0 - self.level]
        sharp = [at for at in explaining if any(map(is_informative, at.predictions.values()))]
        best = max(sharp or explaining or known, key=lambda at: at.p_value)
        n = min(at.n for at in known)
        if sharp:
            return Decision(
                verdict=Verdict.EXPLAINED_AT,
                at=tuple(at.point.setting for at in sorted(sharp, key=lambda at: -at.p_value)),
                p_value=best.p_value,
                found=Found(None, n=n),
                levels=self._shown(best),
                remark=self._too_wide(best),
            )
        if explaining:
            verdict, remark = Verdict.UNINFORMATIVE, "every level's interval is too wide to test it"
        elif len(judged) < len(evidence.points):
            verdict = Verdict.INCONCLUSIVE
            remark = f"points with fewer than {LEAST_FOR_STUDENT} replications may explain it"
        else:
            verdict, remark = Verdict.NOT_EXPLAINED, ""
        return Decision(
            verdict=verdict,
            nearest=best.point.setting,
            missed=self._missed(best) if verdict is Verdict.NOT_EXPLAINED else (),
            p_value=best.p_value,
            found=Found(None, n=n),
            levels=self._shown(best),
            remark=remark,
        )

    def _of(self, point: GridPoint[Levels]) -> dict[str, Runs]:
        missing = self.levels.keys() - point.evidence.keys()
        if missing:
            raise ValueError(f"a grid point has no runs of {', '.join(sorted(missing))}")
        return {name: point.evidence[name] for name in self.levels}

    def _at(self, point: GridPoint[Levels]) -> _AtPoint:
        runs = self._of(point)
        shared = 1.0 - (1.0 - self.level) / len(runs)
        predictions, p_values = {}, []
        for name, level in self.levels.items():
            values = runs[name].values
            predictions[name] = predict(values, level.law, shared, rounding=level.reading)
            p_value = prediction_p_value(values, level.printed, level.law, rounding=level.reading)
            p_values.append(1.0 if p_value is None else p_value)
        joint = min(1.0, len(p_values) * min(p_values))
        return _AtPoint(point, joint, predictions, min(each.n for each in runs.values()))

    def _shown(self, at: _AtPoint) -> tuple[tuple[str, float, Found], ...]:
        return tuple(
            (name, self.levels[name].printed, Found.of(found))
            for name, found in at.predictions.items()
        )

    def _missed(self, at: _AtPoint) -> tuple[Missed, ...]:
        return tuple(
            Missed(name, self.levels[name].printed, found.low, found.high)
            for name, found in at.predictions.items()
            if not found.contains(self.levels[name].printed)
        )

    def _too_wide(self, at: _AtPoint) -> str:
        wide = [name for name, found in at.predictions.items() if not is_informative(found)]
        return f"too wide to test: {', '.join(wide)}" if wide else ""

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """One a level, at the best point."""
        return tuple(
            printed_glyph(printed, self.levels[name].reading, self.origin, found, label=name)
            for name, printed, found in decision.levels
        )
