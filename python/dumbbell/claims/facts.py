"""Claims grouped into facts: what a headline counts, and how many misses chance alone explains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dumbbell.claims.rules.base import CountedAs
from dumbbell.claims.verdicts import Verdict
from dumbbell.claims.view import ClaimView

_STRONGEST = (
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_EXPLAINED,
    Verdict.DEPENDS_ON,
    Verdict.REPRODUCED,
    Verdict.EXPLAINED_AT,
    Verdict.INCONCLUSIVE,
    Verdict.UNINFORMATIVE,
    Verdict.NOT_TESTABLE,
)
"""The verdict on a fact is the first of these among its rows: disagreement in any row decides, and
an undecided row does not weaken a decided one.
"""


@dataclass(frozen=True, slots=True)
class Fact:
    """Claims that follow from one another and therefore count once.

    Attributes:
        name: The fact's name.
        standing: In which count it appears.
        verdict: The verdict over all rows.
        rows: In the study's order.
    """

    name: str
    standing: CountedAs
    verdict: Verdict
    rows: tuple[ClaimView, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """Facts of one standing, counted.

    Attributes:
        standing: The standing counted.
        verdicts: Number of facts per verdict, in the order of the score; no zeros.
        rows: Number of rows of those facts.
        tested: Number of facts that were tested at a known probability of a false miss.
        misses: Expected number of those misses if all facts were true.
    """

    standing: CountedAs
    verdicts: dict[Verdict, int]
    rows: int
    tested: int
    misses: float

    @property
    def facts(self) -> int:
        """Number of facts."""
        return sum(self.verdicts.values())

    @property
    def chance_words(self) -> str:
        """Such as ``72 numbers at 95 %: chance alone would miss 3 to 4``; empty where nothing was
        tested.
        """
        if not self.tested:
            return ""
        low, high = math.floor(self.misses), math.ceil(self.misses)
        expected = f"{low}" if low == high else f"{low} to {high}"
        level = 100 * (1 - self.misses / self.tested)
        numbers = "number" if self.tested == 1 else "numbers"
        return f"{self.tested} {numbers} at {level:.3g} %: chance alone would miss {expected}"


def facts_of(views: Sequence[ClaimView]) -> list[Fact]:
    """The facts that count, in the order of their first rows.

    A fact measured on two backends counts on each: the same sentence was tested twice. Rows that
    count nowhere (previews, calibrations, checks) belong to no fact.
    """
    rows: dict[tuple[str, str, CountedAs], list[ClaimView]] = {}
    for view in views:
        if view.counts:
            rows.setdefault((view.fact, view.backend, view.standing), []).append(view)
    return [
        Fact(name, standing, strongest([row.verdict for row in of]), tuple(of))
        for (name, _, standing), of in rows.items()
    ]


def strongest(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict on a fact whose rows have these verdicts."""
    return min(verdicts, key=_STRONGEST.index)


def counts_of(views: Sequence[ClaimView]) -> list[Count]:
    """Facts counted by standing; standings without facts are left out."""
    facts = facts_of(views)
    counts = []
    for standing in CountedAs:
        own = [fact for fact in facts if fact.standing is standing]
        if not own:
            continue
        found = dict.fromkeys(Verdict, 0)
        for fact in own:
            found[fact.verdict] += 1
        # A fact is missed if any of its rows is; the rows of a fact are not independent.
        chances = [max(row.chance_of_a_miss for row in fact.rows) for fact in own if _tested(fact)]
        tested = [chance for chance in chances if chance > 0]
        counts.append(
            Count(
                standing,
                {verdict: count for verdict, count in found.items() if count},
                sum(len(fact.rows) for fact in own),
                len(tested),
                sum(tested),
            )
        )
    return counts


def _tested(fact: Fact) -> bool:
    return fact.verdict not in (Verdict.INCONCLUSIVE, Verdict.NOT_TESTABLE)
