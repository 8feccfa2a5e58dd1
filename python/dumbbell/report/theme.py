"""The common look of every figure: colours, sizes, grid, and how one zooms.

Colours are Okabe and Ito's, told apart by people with any common colour vision deficiency
(Okabe and Ito, "Color Universal Design", 2008), in an order that keeps neighbours apart in
lightness as well; their yellow is left out because it cannot be seen on white.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import altair as alt

BLACK = "#1b1b1b"
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Blue, vermillion, bluish green, reddish purple, orange, sky blue."""

DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (10, 4), (4, 4))
"""Line styles, the solid one first."""

FIGURE_WIDTH = 640
"""Width of an exported figure's plot area, in CSS pixels."""
FIGURE_HEIGHT = 360

FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
_GREY = "#595959"
_GRID = "#e3e3e3"

_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "padding": 6,
    "view": {"continuousWidth": FIGURE_WIDTH, "continuousHeight": FIGURE_HEIGHT, "stroke": None},
    "axis": {
        "domainColor": _GREY,
        "gridColor": _GRID,
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
        # Room for a font wider than the one that the chart was laid out with.
        "columnPadding": 28,
        "columns": 4,
        "labelColor": BLACK,
        "labelFontSize": 12,
        "labelLimit": 320,
        "layout": {"bottom": {"anchor": "start", "direction": "horizontal", "margin": 28}},
        "orient": "bottom",
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
    "range": {"category": list(OKABE_ITO), "ordinal": list(OKABE_ITO)},
}


@alt.theme.register("dumbbell", enable=False)
def dumbbell_theme() -> alt.theme.ThemeConfig:
    """The theme, as Altair registers it under the name ``dumbbell``."""
    return alt.theme.ThemeConfig(config=_CONFIG)  # type: ignore[typeddict-item]


@contextmanager
def themed() -> Iterator[None]:
    """Context in which charts are turned into Vega-Lite with the theme."""
    with alt.theme.enable("dumbbell"):
        yield


def look() -> alt.Config:
    """The theme as a chart's own configuration, for charts that leave these pages."""
    # Altair's schema has no words for the layout of legends, which Vega-Lite has.
    legend = {key: value for key, value in _CONFIG["legend"].items() if key != "layout"}
    config: alt.Config = alt.Config.from_dict({**_CONFIG, "legend": legend})
    return config


def zoom(*encodings: str) -> alt.Parameter:
    """Pan by dragging, zoom by Shift and the wheel, reset by double click.

    The bare wheel and a finger keep scrolling the page: a figure must not be a trap for readers
    on their way down.

    Args:
        *encodings: Axes that move: ``"x"``, ``"y"`` or both (default).
    """
    return alt.selection_interval(
        # Altair numbers nameless parameters over the life of the process; a page's bytes must
        # not depend on that.
        name="zoom",
        bind="scales",
        encodings=list(encodings) or ["x", "y"],  # type: ignore[arg-type]
        zoom="wheel![event.shiftKey]",
        translate="[mousedown, window:mouseup] > window:mousemove!",
    )
