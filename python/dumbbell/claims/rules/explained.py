"""Does one setting of the unpublished parameters reproduce all printed levels at once?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from dumbbell.claims.decision import Decision, MeasuredInterval, MissedLevel
from dumbbell.claims.evidence import Grid, GridPoint, Levels, Runs, is_complete
from dumbbell.claims.glyphs import Glyph, Origin, Stated
from dumbbell.claims.rules.base import (
    RuleByOrigin,
    RuleName,
    check_level,
    check_number,
    check_width,
    percent,
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
from dumbbell.stats import Estimate, Together, prediction_fit


class Joint(StrEnum):
    """How several levels of one run are tested jointly."""

    BONFERRONI = "each level on its own"
    """Smallest p-value times the number of levels: valid for any correlation."""
    HOTELLING = "all levels at once"
    """Hotelling's T-squared prediction for one more run. Sharper where levels are correlated, as
    the quantiles of one run are. Needs two replications more than there are levels.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One of the printed numbers (levels) of an experiment.

    Attributes:
        printed: The printed number.
        reading: Rounding error: half of the last digit, or five percentage points for "around 40
            %".
        law: Distribution of the number over runs: normal or log-normal.
        jitter: Additional standard deviation of the published instrument.
    """

    printed: float
    reading: float
    law: Law = Law.NORMAL
    jitter: float = 0.0

    def __post_init__(self) -> None:
        """Validate the fields."""
        check_number(self.printed, "printed")
        check_width(self.reading, "reading")
        check_width(self.jitter, "jitter")
        if self.law is Law.LOG_NORMAL and self.printed <= 0:
            raise ValueError(f"printed is {self.printed:g}; positive where logarithms are normal")
        if self.law is Law.ANY:
            raise ValueError("levels are tested jointly by Student's prediction; normal or of logs")


def together(levels: Mapping[str, Level], runs: Mapping[str, Runs]) -> Together:
    """Printed numbers of one run with the replications of them, for a joint test.

    Args:
        levels: The printed numbers by name.
        runs: The replications of each, as many of each; positive where logarithms are normal.
    """
    columns, printed, spread = [], [], []
    for name, level in levels.items():
        in_logs = level.law is Law.LOG_NORMAL
        columns.append(np.log(runs[name].values) if in_logs else runs[name].values)
        printed.append(math.log(level.printed) if in_logs else level.printed)
        # The reading error is uniform within its width; this is the variance of that distribution.
        own = math.hypot(level.jitter, level.reading / math.sqrt(3.0))
        spread.append(own / level.printed if in_logs else own)
    return Together(np.column_stack(columns), np.array(printed), np.array(spread))


@dataclass(frozen=True, slots=True)
class _AtPoint:
    point: GridPoint[Levels]
    p_value: float
    predictions: Mapping[str, Estimate]
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained(RuleByOrigin[Grid[Levels]]):
    """Is there a point of the grid at which all printed levels of an experiment are reproduced?

    The source used one unknown setting. At each grid point the levels are compared with the
    prediction for one run as published, each by itself or jointly (`Joint`). The true point is
    rejected with probability at most one minus the level, whatever the size of the grid.

    Attributes:
        levels: Name to printed number.
        grid: What varies, in words.
        unit: Unit of all levels.
        origin: Where they were printed.
        level: Level of the joint test.
        joint: Which joint test.
    """

    name: ClassVar[RuleName] = RuleName.EXPLAINED
    least_replications: ClassVar[int] = LEAST_FOR_STUDENT

    levels: Mapping[str, Level]
    grid: str
    unit: str
    origin: Origin = Origin.PUBLISHED
    level: float = 0.95
    joint: Joint = Joint.BONFERRONI

    def __post_init__(self) -> None:
        """Validate the fields; there must be a level to explain."""
        check_level(self.level)
        if not self.levels:
            raise ValueError("levels is empty")

    @property
    def stated(self) -> tuple[Stated, ...]:
        """All printed numbers."""
        return tuple(Stated(each.printed, self.origin) for each in self.levels.values())

    @property
    def chance_of_a_miss(self) -> float:
        """One minus the level, for all levels together."""
        return 1.0 - self.level

    @property
    def fewest(self) -> int:
        """Fewest replications for judging a point."""
        if self.joint is Joint.HOTELLING:
            return max(LEAST_FOR_STUDENT, len(self.levels) + 2)
        return LEAST_FOR_STUDENT

    @property
    def words(self) -> str:
        """The rule in words: the joint test."""
        within = {
            Joint.BONFERRONI: "all lie in a prediction interval whose joint level is",
            Joint.HOTELLING: "all at once lie where one more run would (Hotelling's T-squared) at",
        }[self.joint]
        return (
            f"{len(self.levels)} printed levels, held jointly against one run as published at "
            f"each point of a grid fixed beforehand ({self.grid}; {self.fewest} or more "
            f"replications a point): explained at the points where {within} "
            f"{percent(self.level)}, else not explained anywhere. A level whose interval is wider "
            f"than ±{percent(INFORMATIVE_HALF_WIDTH)} of its centre tests nothing; where that is "
            "so of all of them, it is uninformative."
        )

    def decide(self, evidence: Grid[Levels]) -> Decision:
        """Find the points that explain all levels, or else the nearest point."""
        complete = [point for point in evidence.points if is_complete(self._of(point))]
        if not complete:
            return Decision(verdict=Verdict.NOT_TESTABLE, found=MeasuredInterval(None))
        known = [self._at(point) for point in complete]
        judged = [at for at in known if at.n >= self.fewest]
        explaining = [at for at in judged if at.p_value >= 1.0 - self.level]
        sharp = [at for at in explaining if any(map(is_informative, at.predictions.values()))]
        best = max(sharp or explaining or known, key=lambda at: at.p_value)
        n = min(at.n for at in known)
        if sharp:
            return Decision(
                verdict=Verdict.EXPLAINED_AT,
                at=tuple(at.point.setting for at in sorted(sharp, key=lambda at: -at.p_value)),
                p_value=best.p_value,
                found=MeasuredInterval(None, n=n),
                levels=self._shown(best),
                remark=self._too_wide(best),
            )
        if explaining:
            verdict, remark = Verdict.UNINFORMATIVE, "every level's interval is too wide to test it"
        elif len(judged) < len(evidence.points):
            verdict = Verdict.INCONCLUSIVE
            remark = f"points with fewer than {self.fewest} replications may explain it"
        else:
            verdict, remark = Verdict.NOT_EXPLAINED, ""
        return Decision(
            verdict=verdict,
            nearest=best.point.setting,
            missed=self._missed(best) if verdict is Verdict.NOT_EXPLAINED else (),
            p_value=best.p_value,
            found=MeasuredInterval(None, n=n),
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
        predictions = {
            name: predict(
                runs[name].values, level.law, shared, rounding=level.reading, jitter=level.jitter
            )
            for name, level in self.levels.items()
        }
        n = min(each.n for each in runs.values())
        at_once = self.joint is Joint.HOTELLING and n >= self.fewest
        p_value = (self._p_value_at_once if at_once else self._least_p_value)(runs)
        return _AtPoint(point, p_value, predictions, n)

    def _least_p_value(self, runs: Mapping[str, Runs]) -> float:
        p_values = [
            prediction_p_value(
                runs[name].values,
                level.printed,
                level.law,
                rounding=level.reading,
                jitter=level.jitter,
            )
            for name, level in self.levels.items()
        ]
        return min(1.0, len(p_values) * min(1.0 if each is None else each for each in p_values))

    def _p_value_at_once(self, runs: Mapping[str, Runs]) -> float:
        return prediction_fit(together(self.levels, runs)).p_value

    def _shown(self, at: _AtPoint) -> tuple[tuple[str, float, MeasuredInterval], ...]:
        return tuple(
            (name, self.levels[name].printed, MeasuredInterval.of(found))
            for name, found in at.predictions.items()
        )

    def _missed(self, at: _AtPoint) -> tuple[MissedLevel, ...]:
        return tuple(
            MissedLevel(name, self.levels[name].printed, found.low, found.high)
            for name, found in at.predictions.items()
            if not found.contains(self.levels[name].printed)
        )

    def _too_wide(self, at: _AtPoint) -> str:
        wide = [name for name, found in at.predictions.items() if not is_informative(found)]
        return f"too wide to test: {', '.join(wide)}" if wide else ""

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """One glyph per level, at the best point."""
        return tuple(
            printed_glyph(printed, self.levels[name].reading, self.origin, found, label=name)
            for name, printed, found in decision.levels
        )
