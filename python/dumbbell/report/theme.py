"""The common style of all figures: colours, sizes, grid and zoom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import altair as alt

from dumbbell.report import palette

BLACK = palette.INK.light
SERIES = tuple(colour.light for colour in palette.SERIES)
WRITTEN = tuple(colour.light for colour in palette.WRITTEN)
"""Colours of labels beside lines: the same hues, dark enough to be legible."""
PAPER = palette.PAPER.light
INTERVAL = palette.INTERVAL.light

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (10, 4), (4, 4))
"""Line styles, the solid one first."""

FIGURE_WIDTH = 640
"""Width of an exported figure's plot area, in CSS pixels."""
FIGURE_HEIGHT = 360

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_GREY = palette.AXIS.light
_GRID = palette.RULE.light

_CONFIG: dict[str, Any] = {
    "background": palette.PAPER.light,
    "font": FONT,
    # Room for labels in a font wider than the one used for layout.
    "padding": {"left": 16, "top": 6, "right": 20, "bottom": 6},
    "view": {"continuousWidth": FIGURE_WIDTH, "continuousHeight": FIGURE_HEIGHT, "stroke": None},
    "axis": {
        "domainColor": _GREY,
        "gridColor": _GRID,
        # As visible as any other line, but drawn behind measured data.
        "gridDash": [1, 5],
        "labelColor": BLACK,
        "labelFontSize": 12,
        "labelOverlap": True,
        "tickColor": _GREY,
        "tickCount": 6,
        "titleColor": BLACK,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "axisBand": {"grid": False},
    "legend": {
        # Room for a font wider than the one used for layout.
        "columnPadding": 28,
        "columns": 4,
        "labelColor": BLACK,
        "labelFontSize": 12,
        "labelLimit": 320,
        # Above the plot, where reading begins.
        "layout": {"top": {"anchor": "start", "direction": "horizontal", "margin": 28}},
        "offset": 10,
        "orient": "top",
        "symbolOpacity": 1,
        "symbolSize": 110,
        "symbolStrokeWidth": 2.5,
        "titleColor": BLACK,
        "titleFontSize": 12,
        "titleFontWeight": "bold",
    },
    "title": {"anchor": "start", "color": BLACK, "fontSize": 15, "fontWeight": "bold"},
    "line": {"strokeWidth": 2},
    "area": {"opacity": 0.2},
    "point": {"filled": True, "size": 70},
    "range": {"category": list(SERIES), "ordinal": list(SERIES)},
}


@alt.theme.register("dumbbell", enable=False)
def dumbbell_theme() -> alt.theme.ThemeConfig:
    """The theme, as Altair registers it under the name ``dumbbell``."""
    return alt.theme.ThemeConfig(config=_CONFIG)  # type: ignore[typeddict-item]


@contextmanager
def themed() -> Iterator[None]:
    """Return a context in which charts are turned into Vega-Lite with the theme."""
    with alt.theme.enable("dumbbell"):
        yield


def look() -> alt.Config:
    """Return the theme as a chart's configuration, for charts used outside these pages."""
    # Altair's schema does not cover the layout of legends, which Vega-Lite supports.
    legend = {key: value for key, value in _CONFIG["legend"].items() if key != "layout"}
    config: alt.Config = alt.Config.from_dict({**_CONFIG, "legend": legend})
    return config


def zoom(*encodings: str) -> alt.Parameter:
    """Pan by dragging, zoom by Shift and the wheel, reset by double click.

    The wheel without Shift and touch gestures still scroll the page.

    Args:
        *encodings: Axes to zoom: ``"x"``, ``"y"`` or both (default).
    """
    return alt.selection_interval(
        # Altair numbers unnamed parameters over the life of the process; the bytes of a page must
        # not depend on that.
        name="zoom",
        bind="scales",
        encodings=list(encodings) or ["x", "y"],  # type: ignore[arg-type]
        zoom="wheel![event.shiftKey]",
        translate="[mousedown, window:mouseup] > window:mousemove!",
    )
