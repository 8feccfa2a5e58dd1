"""How a verdict looks: a word, a symbol and a colour, so that none has to be told by colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dumbbell.claims import Judged, Verdict


@dataclass(frozen=True, slots=True)
class Badge:
    """Symbol, CSS class and terminal style of a verdict."""

    symbol: str
    css: str
    terminal: str


BADGES = MappingProxyType(
    {
        Verdict.NOT_REPRODUCED: Badge("✗", "not-reproduced", "bold red"),
        Verdict.DEPENDS_ON: Badge("◐", "depends-on", "magenta"),
        Verdict.INCONCLUSIVE: Badge("?", "inconclusive", "yellow"),
        Verdict.UNINFORMATIVE: Badge("○", "uninformative", "cyan"),
        Verdict.NOT_TESTABLE: Badge("–", "not-testable", "dim"),
        Verdict.REPRODUCED: Badge("✓", "reproduced", "green"),
    }
)
"""In the order claims are listed: what disagrees comes first, because it needs reading."""


SCORE_ORDER = (Verdict.REPRODUCED, *(v for v in BADGES if v is not Verdict.REPRODUCED))
"""In the order counts are read out: what agrees, then what does not, then what cannot be told."""


def count_words(verdict: Verdict, count: int) -> str:
    """Such as ``4 reproduced``; the verdict that names a parameter says so without it."""
    words = "depends on parameters" if verdict is Verdict.DEPENDS_ON else verdict.value
    return f"{count} {words}"


def sorted_claims(judged: Sequence[Judged]) -> list[Judged]:
    """Disagreements first; within a verdict in the study's own order."""
    order = list(BADGES)
    return sorted(judged, key=lambda one: order.index(one.verdict))
