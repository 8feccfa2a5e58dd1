"""The content of a claim's small drawing (glyph), in the claim's unit; the report draws it.

Every glyph is centred on the reference value, and the range that counts as agreement is shaded. All
glyphs of a rule have the same scale: a margin always has the same width, and a printed number is
always in the middle of -50 % to +50 %.
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
    """Where a number comes from. Only ``PUBLISHED`` numbers count as published."""

    PUBLISHED = "published"
    THEORY = "theory"
    ELSEWHERE = "measured elsewhere"
    """Measured by us or by others on other hardware or software, and not printed in the source."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A reference number and its origin."""

    value: float
    origin: Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class Glyph:
    """A drawing of one comparison.

    Attributes:
        label: The part of a family that is drawn, such as ``m = 4``; empty for a claim with one
            glyph.
        centre: Value in the middle of the axis.
        reach: Distance from the centre to either end of the axis, positive, same unit.
        measured: Position of the dot.
        low: Lower end of the interval's bar, or None without an interval.
        high: Upper end.
        marks: Reference values.
        shaded: Range that counts as agreement; either end may be infinite. None if there is none.
        side: One-sided claims get an arrow in this direction.
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
        """Position of a value, from -1 (left end) to 1; values beyond the axis are clamped to its
        ends.
        """
        if math.isnan(value):
            return 0.0
        return max(-1.0, min(1.0, (value - self.centre) / self.reach))

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies outside the axis, so that it is drawn at its end."""
        return abs(value - self.centre) > self.reach * (1 + 1e-9)


def around_margin(margin: float) -> float:
    """Half-length of an axis on which the margin takes two fifths of each half."""
    return 2.5 * margin if margin > 0 else 1.0


def around_print(printed: float, low: float | None, high: float | None) -> float:
    """Half-length of the axis of a printed number: half of the number. // If the printed number is
    zero, the axis is made long enough for the interval.

    Of a printed zero nothing is a half; the axis then holds the interval.
    """
    if printed:
        return 0.5 * abs(printed)
    return span_of(0.0, low, high)


def span_of(centre: float, *values: float | None) -> float:
    """Half-length of an axis that holds all the given values."""
    finite = [abs(v - centre) for v in values if v is not None and math.isfinite(v)]
    return 1.1 * max(finite, default=0.0) or 1.0
