"""The content of a claim's glyph, in the claim's unit; the report draws it.

Every glyph is centred on the value that the claim is compared with, so equal values stand at equal
places in every row, and what counts as equal is shaded. One rule has one scale: a margin is always
equally wide, and a printed number is always in the middle of -50 % to +50 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Side(StrEnum):
    """Which side of a stated value a claim is about."""

    EQUALS = "equals"
    AT_LEAST = "at least"
    AT_MOST = "at most"


class Origin(StrEnum):
    """Where a number comes from. Only the first is published."""

    PUBLISHED = "published"
    THEORY = "theory"
    ELSEWHERE = "measured elsewhere"
    """By us or by others, on other hardware or software, and not in the source."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A number and who states it."""

    value: float
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """A drawing of one comparison.

    Attributes:
        label: Of a part of a family, such as ``m = 4``; empty for a claim with one glyph.
        centre: Value in the middle of the axis.
        reach: From the middle to either end of the axis, positive, same unit.
        measured: Dot.
        low: Lower end of the bar, or None without an interval.
        high: Upper end.
        marks: Values compared with it.
        shaded: What counts as agreement; either end may be infinite. None where nothing does.
        side: One-sided claims have an arrow that way.
    """

    label: str = ""
    centre: float
    reach: float
    measured: float | None
    low: float | None = None
    high: float | None = None
    marks: tuple[Stated, ...] = ()
    shaded: tuple[float, float] | None = None
    side: Side = Side.EQUALS

    def place(self, value: float) -> float:
        """Where a value stands, from -1 (left end) to 1; values beyond stand at the end."""
        if math.isnan(value):
            return 0.0
        return max(-1.0, min(1.0, (value - self.centre) / self.reach))

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies outside the axis, so that its place is an end and not its own."""
        return abs(value - self.centre) > self.reach * (1 + 1e-9)


def around_margin(margin: float) -> float:
    """Reach of an axis on which the margin is two fifths of either half."""
    return 2.5 * margin if margin > 0 else 1.0


def around_print(printed: float, low: float | None, high: float | None) -> float:
    """Reach of a printed number's axis: half of the number itself.

    Of a printed zero nothing is a half; the axis then holds the interval.
    """
    if printed:
        return 0.5 * abs(printed)
    return span_of(0.0, low, high)


def span_of(centre: float, *values: float | None) -> float:
    """Reach of an axis that holds all the values that are there."""
    finite = [abs(v - centre) for v in values if v is not None and math.isfinite(v)]
    return 1.1 * max(finite, default=0.0) or 1.0
