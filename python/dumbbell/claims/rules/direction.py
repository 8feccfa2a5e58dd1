"""Does a claimed direction hold over a grid of unpublished parameters?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar, Generic, TypeVar

from dumbbell.claims.decision import Decision, MeasuredInterval, VerdictRegion
from dumbbell.claims.evidence import Grid, Setting, is_complete
from dumbbell.claims.glyphs import Glyph, Stated
from dumbbell.claims.rules.base import CountedAs, Rule, RuleName, percent
from dumbbell.claims.verdicts import Verdict
from dumbbell.stats import IntervalKind

E = TypeVar("E")
HOLDS, FAILS = Verdict.REPRODUCED, Verdict.NOT_REPRODUCED


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction(Rule[Grid[E]], Generic[E]):
    """A rule that is applied at every point of a grid fixed in advance.

    *Reproduced* requires that the claim holds at every point at the inner rule's level, so a wrong
    *reproduced* is no likelier than at one point. For *fails*, the level is divided among the
    points (Bonferroni), so that a large grid does not produce failures by chance.

    Attributes:
        at_each: The rule applied at each point: an ordering, a share, a spread, an equivalence.
        grid: What varies, in words.
    """

    name: ClassVar[RuleName] = RuleName.DIRECTION

    at_each: Rule[E]
    grid: str

    @property
    def unit(self) -> str:
        """The inner rule's unit."""
        return self.at_each.unit

    @property
    def level(self) -> float:
        """The inner rule's level."""
        return self.at_each.level

    @property
    def stated(self) -> tuple[Stated, ...]:
        """The inner rule's reference numbers."""
        return self.at_each.stated

    @property
    def standing(self) -> CountedAs:
        """The inner rule's standing."""
        return self.at_each.standing

    @property
    def words(self) -> str:
        """The rule in words: the grid, and the inner rule."""
        return (
            f"On a grid fixed beforehand ({self.grid}): reproduced when it holds at every point, "
            f"not reproduced when at none, else it depends on what decides. A point fails only at "
            f"a level shared among all points ({percent(1 - self.level)} together). At each "
            f"point: {self.at_each.words}"
        )

    def decide(self, evidence: Grid[E]) -> Decision:
        """Combine the decisions of all points."""
        each = [self._at(point.evidence, len(evidence.points)) for point in evidence.points]
        settings = [point.setting for point in evidence.points]
        verdicts = {decision.verdict for decision in each}
        depends_on: tuple[str, ...] = ()
        turns: tuple[VerdictRegion, ...] = ()
        if len(verdicts) == 1:
            verdict = next(iter(verdicts))
        elif {HOLDS, FAILS} <= verdicts:
            verdict = Verdict.DEPENDS_ON
            decided = [
                (setting, decision.verdict is HOLDS)
                for setting, decision in zip(settings, each, strict=True)
                if decision.verdict in (HOLDS, FAILS)
            ]
            depends_on = deciding_parameters(decided, evidence.names)
            turns = _turns(settings, each, depends_on)
        else:
            # No point contradicts the others, but some are undecided.
            verdict = Verdict.INCONCLUSIVE
            turns = _turns(settings, each, evidence.names)
        return Decision(
            verdict=verdict,
            found=_over(each),
            margin=each[0].margin,
            depends_on=depends_on,
            turns=turns,
        )

    def _at(self, evidence: E, points: int) -> Decision:
        if not is_complete(evidence):
            return Decision(verdict=Verdict.NOT_TESTABLE, found=MeasuredInterval(None))
        at_level = self.at_each.decide(evidence)
        if at_level.verdict is not FAILS or points == 1:
            return at_level
        shared = 1.0 - (1.0 - self.level) / points
        if self.at_each.at_level(shared).decide(evidence).verdict is FAILS:
            return at_level
        return replace(at_level, verdict=Verdict.INCONCLUSIVE)

    def at_level(self, level: float) -> Direction[E]:
        """The same rule with the inner rule at that level."""
        return replace(self, at_each=self.at_each.at_level(level))

    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Draw the nominal point's value with the hull of all the grid's intervals."""
        return self.at_each.glyphs(decision)


def deciding_parameters(
    decided: Sequence[tuple[Setting, bool]], names: Sequence[str]
) -> tuple[str, ...]:
    """The smallest set of parameters that determines the verdict, in the grid's order.

    Args:
        decided: Settings with a decision, and whether the claim holds there.
        names: Names of all parameters.
    """
    for size in range(1, len(names)):
        for subset in combinations(names, size):
            found: dict[tuple[float | str, ...], set[bool]] = {}
            for setting, holds in decided:
                found.setdefault(tuple(setting[name] for name in subset), set()).add(holds)
            if all(len(verdicts) == 1 for verdicts in found.values()):
                return subset
    return tuple(names)


def _turns(
    settings: Sequence[Setting], each: Sequence[Decision], names: Sequence[str]
) -> tuple[VerdictRegion, ...]:
    """The settings at which each verdict was given, agreement first.

    They are named by the deciding parameters, or by all parameters if nothing was decided.
    """
    at: dict[Verdict, list[Setting]] = {HOLDS: [], FAILS: []}
    for setting, decision in zip(settings, each, strict=True):
        told = names if decision.verdict in (HOLDS, FAILS) else tuple(setting)
        short = {name: setting[name] for name in told}
        known = at.setdefault(decision.verdict, [])
        if short not in known:
            known.append(short)
    return tuple(VerdictRegion(verdict, tuple(found)) for verdict, found in at.items() if found)


def _over(each: Sequence[Decision]) -> MeasuredInterval:
    """The nominal point's value, with an interval that covers those of the whole grid."""
    if len(each) == 1:
        return each[0].found
    found = [decision.found for decision in each]
    lows = [one.low for one in found if one.low is not None]
    highs = [one.high for one in found if one.high is not None]
    return MeasuredInterval(
        value=found[0].value,
        low=min(lows, default=None),
        high=max(highs, default=None),
        kind=IntervalKind.WHOLE_GRID,
        level=found[0].level,
        n=min(one.n for one in found),
    )
