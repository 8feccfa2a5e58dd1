"""How a verdict is shown: a word, a symbol and a colour; the colour is never the only cue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dumbbell.claims import ClaimView, Count, Verdict
from dumbbell.claims.rules import CountedAs


@dataclass(frozen=True, slots=True)
class Badge:
    """Symbol, CSS class and terminal style of a verdict."""

    symbol: str
    css: str
    terminal: str


BADGES = MappingProxyType(
    {
        Verdict.CHECK_FAILS: Badge("‼", "check-fails", "bold red"),
        Verdict.NOT_REPRODUCED: Badge("✗", "not-reproduced", "bold red"),
        Verdict.NOT_EXPLAINED: Badge("⊘", "not-explained", "bold red"),
        Verdict.DEPENDS_ON: Badge("◐", "depends-on", "magenta"),
        Verdict.INCONCLUSIVE: Badge("?", "inconclusive", "yellow"),
        Verdict.UNINFORMATIVE: Badge("○", "uninformative", "cyan"),
        Verdict.NOT_TESTABLE: Badge("–", "not-testable", "dim"),
        Verdict.EXPLAINED_AT: Badge("◉", "explained", "green"),
        Verdict.REPRODUCED: Badge("✓", "reproduced", "green"),
        Verdict.PREVIEW: Badge("◌", "preview", "dim"),
        Verdict.CALIBRATION: Badge("⚙", "calibration", "dim"),
        Verdict.CHECK_HOLDS: Badge("☑", "check", "dim"),
    }
)
"""The order in which claims are listed: disagreements first, because they need reading."""


_AGREE = (Verdict.REPRODUCED, Verdict.EXPLAINED_AT)
SCORE_ORDER = (*_AGREE, *(verdict for verdict in BADGES if verdict not in _AGREE))
"""The order in which counts are listed: agreement, disagreement, inconclusive."""


def count_words(verdict: Verdict, count: int) -> str:
    """Return text such as ``4 reproduced``; the verdict that names a parameter is worded without
    it.
    """
    words = _WITHOUT_A_NAME.get(verdict, verdict.value)
    return f"{count} {words}"


_WITHOUT_A_NAME = {
    Verdict.DEPENDS_ON: "depends on parameters",
    Verdict.EXPLAINED_AT: "explained",
}


SCORES = MappingProxyType(
    {
        CountedAs.SOURCE: "What the source says",
        CountedAs.THEORY: "Theory",
        CountedAs.ELSEWHERE: "Measured elsewhere",
        CountedAs.BACKENDS: "Our instruments agree",
    }
)
"""Headings of the counts."""


def facts_words(count: Count) -> str:
    """Return text such as ``12 facts in 40 rows``."""
    facts = f"{count.facts} {'fact' if count.facts == 1 else 'facts'}"
    return facts if count.rows == count.facts else f"{facts} in {count.rows} rows"


def sorted_claims(views: Sequence[ClaimView]) -> list[ClaimView]:
    """Sort disagreements first; within a verdict, keep the study's order."""
    order = list(BADGES)
    return sorted(views, key=lambda one: order.index(one.verdict))
