"""Base of every rule: fields, wording, drawing, and decision from typed evidence."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar, cast

from dumbbell.claims.decision import Decision
from dumbbell.claims.glyphs import Glyph, Origin, Side, Stated

E_contra = TypeVar("E_contra", contravariant=True)


class RuleName(StrEnum):
    """Name of a rule; the value is written to ``claims.json`` and heads its section of
    docs/rules.md.
    """

    EQUALS = "equals"
    PUBLISHED = "published number"
    ENSEMBLE = "published number in an ensemble"
    AGREEMENT = "agreement"
    ORDERING = "ordering"
    EQUIVALENT = "equivalent"
    SHARE = "share"
    SPREAD = "spread"
    SUPREMUM = "supremum"
    DIRECTION = "direction over a grid"
    EXPLAINED = "joint levels over a grid"
    PREVIEW = "preview"
    CALIBRATION = "calibration"
    CHECK = "check"


class CountedAs(StrEnum):
    """The count in which a claim is included."""

    SOURCE = "the source"
    THEORY = "theory"
    ELSEWHERE = "measured elsewhere"
    BACKENDS = "two instruments of ours"
    UNCOUNTED = "shown, not counted"


_STANDING = {
    Origin.PUBLISHED: CountedAs.SOURCE,
    Origin.THEORY: CountedAs.THEORY,
    Origin.ELSEWHERE: CountedAs.ELSEWHERE,
}


class Rule(ABC, Generic[E_contra]):
    """How a claim is judged, fixed before anything is run.

    Rules are frozen dataclasses. ``unit`` is the unit of every number of the claim (``1`` for a
    pure number), and ``level`` is the level of the rule's interval.
    """

    __slots__ = ()
    name: ClassVar[RuleName]
    least_replications: ClassVar[int] = 2
    """With fewer replications the verdict is *inconclusive*."""

    @property
    @abstractmethod
    def unit(self) -> str:
        """Unit of every number of the claim."""

    @property
    @abstractmethod
    def level(self) -> float:
        """Level of the interval, strictly between 0 and 1."""

    @property
    @abstractmethod
    def stated(self) -> tuple[Stated, ...]:
        """The reference numbers that the measurement is compared with."""

    @property
    @abstractmethod
    def standing(self) -> CountedAs:
        """The count in which the claim is included."""

    @property
    def chance_of_a_miss(self) -> float:
        """Probability of *not reproduced* if the claim is exactly true, where it is known.

        Zero where it is far below one minus the level (an equivalence whose true value lies well
        inside).
        """
        return 0.0

    @property
    @abstractmethod
    def words(self) -> str:
        """The rule in words, with its margin and level, as printed on the page."""

    @abstractmethod
    def decide(self, evidence: E_contra) -> Decision:
        """Apply the rule to complete evidence (`judge` checks completeness)."""

    def at_level(self, level: float) -> Rule[E_contra]:
        """The same rule with its interval at another level."""
        # Every rule is a dataclass; this base has no fields of its own.
        same: Rule[E_contra] = replace(cast(Any, self), level=level)
        return same

    @abstractmethod
    def glyphs(self, decision: Decision) -> tuple[Glyph, ...]:
        """Glyphs of the claim; several if it has several numbers."""


class RuleByOrigin(Rule[E_contra]):
    """A rule with a field `origin`; the origin decides in which count the claim is included."""

    __slots__ = ()
    origin: Origin

    @property
    def standing(self) -> CountedAs:
        """The count that belongs to the origin."""
        return _STANDING[self.origin]


def check_number(value: float, what: str) -> None:
    """Refuse a number that is not finite.

    Raises:
        ValueError: The number is not allowed.
    """
    if not math.isfinite(value):
        raise ValueError(f"{what} is {value}; a finite number")


def check_margin(value: float, what: str = "margin") -> None:
    """Refuse a margin that is not positive and finite.

    Raises:
        ValueError: The number is not allowed.
    """
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{what} is {value}; a positive number, written before the run")


def check_width(value: float, what: str) -> None:
    """Refuse a number that is negative or not finite.

    Raises:
        ValueError: The number is not allowed.
    """
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"{what} is {value}; zero or a positive number")


def check_level(level: float) -> None:
    """Refuse a level outside (0, 1).

    Raises:
        ValueError: The number is not allowed.
    """
    if not 0 < level < 1:
        raise ValueError(f"level is {level}; between 0 and 1, as 0.95")


def quantity(value: float, unit: str) -> str:
    """A number with its unit, as in a rule's wording."""
    digits = 4 if abs(value) < 1e4 else 8
    text = f"{value:.{digits}g}".replace("-", "−")
    return text if unit in ("", "1") else f"{text} {unit}"


def percent(level: float) -> str:
    """Such as ``95 %``."""
    return f"{100 * level:.4g} %"


def side_words(side: Side, value: float, unit: str) -> str:
    """Such as ``at 0.5 or above``."""
    where = {Side.EQUALS: "", Side.AT_LEAST: " or above", Side.AT_MOST: " or below"}[side]
    return f"at {quantity(value, unit)}{where}"
