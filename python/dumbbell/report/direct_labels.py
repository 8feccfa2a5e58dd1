"""Labels placed beside their curves, instead of a legend.

Label positions are computed in pixels of the exported figure. The same positions also fit on a
phone, where only the width differs.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.printable import printable
from dumbbell.report import theme

MOST = 8
"""Maximum number of labels beside the lines of a figure; with more, a legend is drawn."""
LINE_LENGTH = 18
"""Characters after which a label is broken into a second line: a phone is too narrow for more."""
_FONT_PX, _LINE_PX, _CHARACTER_PX = 12, 14, 6.7
_GAP_PX = 6
_HALO_PX = 4
_BUNDLE_PX = 6
"""Curves closer than this look like one."""
_STEEP_PX = 14
"""Maximum horizontal extent of a curve over the height of a label beside it."""
_LEVELS = np.linspace(0.12, 0.92, 33)
"""Levels of a distribution at which a label may be placed."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LineEnd:
    """A line to be labelled at its right end.

    Attributes:
        label: Its name.
        ink: Colour of the text.
        y_px: Height of its right end, from the top of the plot.
    """

    label: str
    ink: str
    y_px: float

    @property
    def lines(self) -> list[str]:
        """Return the label in lines that fit beside a plot."""
        return textwrap.wrap(printable(self.label), LINE_LENGTH) or [""]

    @property
    def height_px(self) -> float:
        """Return the height of all its lines."""
        return _LINE_PX * len(self.lines) + 2


@dataclass(frozen=True, slots=True)
class AxisScale:
    """An axis as a figure draws it.

    Attributes:
        low: Value at one end.
        high: Value at the other.
        length_px: Length between the ends.
        padding_px: Padding beyond either end, inside the plot.
        log: Whether it is logarithmic.
    """

    low: float
    high: float
    length_px: float
    padding_px: float = 0.0
    log: bool = False

    def px(self, values: Floats) -> Floats:
        """Return the distance from the lower end."""
        low, high, at = self.low, self.high, np.asarray(values, float)
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                low, high, at = np.log(low), np.log(high), np.log(at)
        span = (high - low) or 1.0
        return self.padding_px + (at - low) / span * (self.length_px - 2 * self.padding_px)


def at_line_ends(ends: Sequence[LineEnd], height_px: float) -> list[alt.Chart]:
    """Return layers with the labels in the right margin, each near its line, without overlap."""
    ordered = sorted(ends, key=lambda end: end.y_px)
    middles = _apart([end.y_px for end in ordered], [end.height_px for end in ordered], height_px)
    return [
        alt.Chart(pl.DataFrame({"label": ["\n".join(end.lines)]}))
        .mark_text(
            align="left",
            baseline="middle",
            clip=False,
            color=end.ink,
            dx=_GAP_PX,
            fontSize=_FONT_PX,
            lineBreak="\n",
            lineHeight=_LINE_PX,
            # The anchor is that of the first line.
            dy=-_LINE_PX * (len(end.lines) - 1) / 2,
        )
        .encode(
            x=alt.value("width"), y=alt.value(round(y, 1)), text=alt.value("\n".join(end.lines))
        )
        for end, y in zip(ordered, middles, strict=True)
    ]


def _apart(wanted: Sequence[float], heights: Sequence[float], length_px: float) -> list[float]:
    """Return centres near the wanted ones, in the same order, that do not overlap."""
    middles = [min(max(y, h / 2), length_px - h / 2) for y, h in zip(wanted, heights, strict=True)]
    for place, (above, below) in enumerate(pairwise(heights)):
        middles[place + 1] = max(middles[place + 1], middles[place] + (above + below) / 2)
    limit = length_px
    for place in reversed(range(len(middles))):
        middles[place] = min(middles[place], limit - heights[place] / 2)
        limit = middles[place] - heights[place] / 2
    return middles


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution function to be labelled beside its curve.

    Attributes:
        label: Its name; a curve with an empty label is only an obstacle for other labels.
        ink: Colour of the text.
        x: Values, ascending, shape (k,).
        share: F(x), shape (k,).
    """

    label: str
    ink: str
    x: Floats
    share: Floats

    def at(self, level: float) -> float:
        """Return the value at which the function reaches a level."""
        place = min(int(np.searchsorted(self.share, level)), self.x.size - 1)
        return float(self.x[place])


@dataclass(frozen=True, slots=True)
class LabelPlace:
    """Position of a label of a distribution.

    Attributes:
        label: The label.
        ink: Its colour.
        free_px: Space up to the next curve, capped slightly above the label's width.
        x: Value of the curve there.
        level: F(x).
        is_right: Whether it is to the right of its curve.
    """

    label: str
    ink: str
    free_px: float
    x: float
    level: float
    is_right: bool


def places_beside(
    curves: Sequence[Distribution],
    x_scale: AxisScale,
    height_px: float,
    taken: Sequence[float] = (),
) -> list[LabelPlace] | None:
    """Return each label's position, left or right of its curve; None where there is no room.

    Args:
        curves: Curves with a label, and curves that are only obstacles.
        x_scale: The x axis as drawn.
        height_px: Height of the plot.
        taken: Levels occupied by other text.
    """
    places: list[LabelPlace] = []
    for curve in curves:
        if not curve.label:
            continue
        beside = [*taken, *(each.level for each in places)]
        place = _roomiest(curve, curves, x_scale, beside, height_px)
        if place.free_px < _width_px(curve.label):
            return None
        places.append(place)
    return places


def beside_distributions(
    places: Sequence[LabelPlace], x_channel: alt.X, y_channel: alt.Y
) -> list[alt.Chart]:
    """Return layers with the labels, each with a halo that separates it from curves it crosses."""
    layers: list[alt.Chart] = []
    for place in places:
        words = printable(place.label)
        frame = pl.DataFrame({"x": [place.x], "share": [place.level], "label": [words]})
        for halo in (True, False):
            look: dict[str, Any] = {"stroke": theme.PAPER, "strokeWidth": _HALO_PX} if halo else {}
            layers.append(
                alt.Chart(frame)
                .mark_text(
                    align="left" if place.is_right else "right",
                    baseline="middle",
                    clip=False,
                    color=place.ink,
                    dx=_GAP_PX if place.is_right else -_GAP_PX,
                    fontSize=_FONT_PX,
                    **look,
                )
                .encode(x=x_channel, y=y_channel, text="label:N")
            )
    return layers


def _width_px(label: str) -> float:
    return len(label) * _CHARACTER_PX + 2 * _GAP_PX


def _roomiest(
    curve: Distribution,
    curves: Sequence[Distribution],
    x_scale: AxisScale,
    taken: Sequence[float],
    height_px: float,
) -> LabelPlace:
    """Return the position farthest from other curves and not beside another label."""
    half_line = 0.5 * _LINE_PX / height_px
    wanted = _width_px(curve.label)
    best = None
    for level in _LEVELS:
        if any(abs(level - other) < 2.4 * half_line for other in taken):
            continue
        beside = [level - half_line, level, level + half_line]
        own = x_scale.px(np.array([curve.at(each) for each in beside]))
        others = x_scale.px(
            np.array([each.at(at) for each in curves if each is not curve for at in beside])
        )
        if not 0 <= own[1] <= x_scale.length_px or np.ptp(own) > _STEEP_PX:
            continue
        # A label of one curve of a bundle is placed beside the whole bundle.
        others = others[(others < own.min() - _BUNDLE_PX) | (others > own.max() + _BUNDLE_PX)]
        right = np.min(others[others > own.min()], initial=x_scale.length_px) - own.max()
        left = own.min() - np.max(others[others < own.max()], initial=0.0)
        for free, is_right in ((right, True), (left, False)):
            # Space beyond the label's width is no advantage.
            room = min(float(free), 1.3 * wanted)
            place = LabelPlace(
                curve.label, curve.ink, room, curve.at(level), float(level), is_right
            )
            if best is None or place.free_px > best.free_px:
                best = place
    return best or LabelPlace(curve.label, curve.ink, 0.0, curve.at(0.5), 0.5, True)
