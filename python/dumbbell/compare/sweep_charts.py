"""Charts for sweeps: curves with bands, heat maps and fronts, in one or more panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import altair as alt
import polars as pl

from dumbbell.compare.axes import Axis
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.words import digits
from dumbbell.report.theme import BLACK, FIGURE_HEIGHT, FIGURE_WIDTH, SERIES, zoom

FAR_APART = 30.0
"""Values that span a larger factor get a logarithmic axis."""
MOST_LABELS = 12
"""Most points of a front, or columns of a heat map, that are labelled."""
_LOG = alt.Scale(type="log", padding=10, nice=False)
_MARKS = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_GAP = 24
NUMBERS: Final = ",.6~g"
"""Number format of labels (d3). Without explicit digits, d3 derives them from the scale's step and
prints 20 as "2e+1".
"""
_SEQUENTIAL: Final = "viridis"
"""Uniform in lightness, and distinguishable with any colour vision (Smith and van der Walt)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A quantity on an axis.

    Attributes:
        title: Title with the unit.
        is_log: Whether the axis is logarithmic.
    """

    title: str
    is_log: bool

    @classmethod
    def of(cls, quantity: Quantity, values: pl.Series) -> Measure:
        """The axis of a quantity with these values."""
        unit = quantity.measure.shown_unit[0]
        numbers = values.to_list()
        is_log = min(numbers) > 0 and max(numbers) > FAR_APART * min(numbers)
        return cls(f"{quantity.words} ({unit})" if unit else quantity.words, is_log)

    @property
    def scale(self) -> alt.Scale:
        """A scale from zero where possible, so that equal values look equal."""
        return _LOG if self.is_log else alt.Scale(zero=True)

    @property
    def close_scale(self) -> alt.Scale:
        """A scale close to the values, for points that must be told apart."""
        return _LOG if self.is_log else alt.Scale(zero=False, padding=14, nice=True)


@dataclass(frozen=True, slots=True)
class Named:
    """What the colours distinguish.

    Attributes:
        title: Title of the legend.
        labels: Labels in order.
        is_numeric: Whether the labels are ordered numbers, which the colours then show.
    """

    title: str
    labels: Sequence[str]
    is_numeric: bool

    def colour(self) -> alt.Color:
        """The colour channel."""
        legend = alt.Legend(symbolOpacity=1)
        if self.is_numeric and len(self.labels) > 2:
            # Without the yellow end of the scheme, which is invisible on white.
            scale = alt.Scale(
                domain=list(self.labels),
                scheme=alt.SchemeParams(name=_SEQUENTIAL, extent=[0.0, 0.88]),
            )
            return alt.Color("colour:N", title=self.title, sort=None, scale=scale, legend=legend)
        palette = [SERIES[number % len(SERIES)] for number in range(len(self.labels))]
        return alt.Color(
            "colour:N",
            title=self.title,
            sort=None,
            scale=alt.Scale(domain=list(self.labels), range=palette),
            legend=legend,
        )

    def shape(self) -> alt.Shape:
        """The shape channel, for colour-blind readers; it shares the legend."""
        marks = [_MARKS[number % len(_MARKS)] for number in range(len(self.labels))]
        return alt.Shape(
            "colour:N",
            title=self.title,
            sort=None,
            scale=alt.Scale(domain=list(self.labels), range=marks),
        )


def lines(
    frame: pl.DataFrame, *, x: Axis, y: Measure, colour: Named | None, panels: Sequence[str]
) -> alt.LayerChart | alt.FacetChart:
    """A quantity over a parameter: curves with bands, or dots with bars where it has no numbers.

    Args:
        frame: Columns ``x``, ``y``, ``y_low``, ``y_high``, ``cell``, and optionally ``colour`` and
            ``panel``.
        x: The parameter.
        y: The quantity.
        colour: What the colours distinguish.
        panels: Titles of the panels in order; empty for a single one.
    """
    y_channel = alt.Y("y:Q", title=y.title, scale=y.scale)
    low = alt.Y("y_low:Q", title=y.title, scale=y.scale)
    base = alt.Chart(frame)
    channels: dict[str, Any] = {"x": _over(x)}
    channels["color"] = colour.colour() if colour else alt.value(SERIES[0])
    tooltip = [
        alt.Tooltip("cell:N", title=" "),
        alt.Tooltip("y:Q", title=y.title, format=",.4~g"),
        alt.Tooltip("y_low:Q", title="low", format=",.4~g"),
        alt.Tooltip("y_high:Q", title="high", format=",.4~g"),
    ]
    if x.is_numeric:
        layers = [
            base.mark_area(clip=True).encode(y=low, y2="y_high:Q", **channels),
            base.mark_line(clip=True).encode(y=y_channel, **channels),
        ]
    else:
        if colour is not None:
            channels["xOffset"] = alt.XOffset("colour:N", sort=list(colour.labels))
        layers = [base.mark_rule(strokeWidth=2, clip=True).encode(y=low, y2="y_high:Q", **channels)]
    points = base.mark_point(size=55, opacity=1, clip=True)
    shape = {"shape": colour.shape()} if colour else {}
    layers.append(points.encode(y=y_channel, tooltip=tooltip, **shape, **channels))
    if x.is_numeric and not panels:
        layers[0] = layers[0].add_params(zoom())
    return _in_panels(layers, panels, ratio=0.72)


def heat_map(
    frame: pl.DataFrame, *, x: Axis, y: Axis, shown: Measure, panels: Sequence[str]
) -> alt.LayerChart | alt.FacetChart:
    """A quantity over two parameters, as colours, and as numbers where they fit.

    Args:
        frame: Columns ``x``, ``y``, ``shown`` with its ends, ``cell``, and ``panel``.
        x: Horizontal axis.
        y: Vertical axis.
        shown: The quantity.
        panels: As in `lines`.
    """
    values = frame["shown"]
    scale = alt.Scale(scheme=_SEQUENTIAL, **({"type": "log"} if shown.is_log else {"zero": False}))
    across = alt.X("x:O", title=x.title, sort=_ordered(x), axis=_of_steps(x))
    upwards = alt.Y("y:O", title=y.title, sort=_ordered(y)[::-1], axis=_of_steps(y))
    colour = alt.Color(
        "shown:Q",
        title=shown.title,
        scale=scale,
        legend=alt.Legend(gradientLength=260, format=NUMBERS, titleLimit=400),
    )
    with_text = frame.with_columns(
        pl.Series("text", [digits(each) for each in values]),
        pl.Series("is_light", _are_light(values.to_list(), is_log=shown.is_log)),
    )
    base = alt.Chart(with_text).encode(x=across, y=upwards)
    layers = [
        base.mark_rect(opacity=1).encode(
            color=colour,
            tooltip=[
                alt.Tooltip("cell:N", title=" "),
                alt.Tooltip("shown:Q", title=shown.title, format=",.4~g"),
                alt.Tooltip("shown_low:Q", title="low", format=",.4~g"),
                alt.Tooltip("shown_high:Q", title="high", format=",.4~g"),
            ],
        )
    ]
    if len(x.values) * _columns(len(panels)) <= MOST_LABELS:
        layers.append(
            base.mark_text(fontSize=11).encode(
                text="text:N",
                color=alt.condition("datum.is_light", alt.value("black"), alt.value("white")),
            )
        )
    height = max(90, min(FIGURE_HEIGHT, 44 * len(y.values)))
    return _in_panels(layers, panels, ratio=0.72, height=height)


def pareto(
    frame: pl.DataFrame,
    *,
    x: Measure,
    y: Measure,
    colour: Named | None,
    panels: Sequence[str],
) -> alt.LayerChart | alt.FacetChart:
    """Cells by two quantities, with the front as a line through its points.

    Args:
        frame: Columns ``x`` and ``y`` with their ends, ``front``, ``cell``, ``colour``, ``panel``.
        x: One quantity.
        y: The other quantity.
        colour: As in `lines`.
        panels: As in `lines`.
    """
    across = alt.X("x:Q", title=x.title, scale=x.close_scale)
    upwards = alt.Y("y:Q", title=y.title, scale=y.close_scale)
    paint: dict[str, Any] = {"color": colour.colour() if colour else alt.value(SERIES[0])}
    front = frame.filter(pl.col("front"))
    base, on_front = alt.Chart(frame), alt.Chart(front)
    bars = base.mark_rule(strokeWidth=1.5, opacity=0.6, clip=True)
    low_x = alt.X("x_low:Q", title=x.title, scale=x.close_scale)
    low_y = alt.Y("y_low:Q", title=y.title, scale=y.close_scale)
    layers = [
        on_front.mark_line(color=BLACK, strokeWidth=1.2, strokeDash=[5, 3], clip=True).encode(
            x=across, y=upwards, order=alt.Order("x:Q")
        ),
        bars.encode(x=low_x, x2="x_high:Q", y=upwards, **paint),
        bars.encode(x=across, y=low_y, y2="y_high:Q", **paint),
        on_front.mark_point(
            size=190, opacity=1, filled=False, color=BLACK, strokeWidth=1.4, clip=True
        ).encode(x=across, y=upwards),
        base.mark_point(size=65, opacity=1, clip=True).encode(
            x=across,
            y=upwards,
            tooltip=[
                alt.Tooltip("cell:N", title=" "),
                alt.Tooltip("x:Q", title=x.title, format=",.4~g"),
                alt.Tooltip("y:Q", title=y.title, format=",.4~g"),
            ],
            **({"shape": colour.shape()} if colour else {}),
            **paint,
        ),
    ]
    if not panels:
        layers[0] = layers[0].add_params(zoom())
    return _in_panels(layers, panels, ratio=0.8)


def _over(x: Axis) -> alt.X:
    """A parameter as an axis; numbers have ticks at the measured values if they fit."""
    if not x.is_numeric:
        return alt.X("x:N", title=x.title, sort=_ordered(x), axis=_of_steps(x))
    numbers = sorted({each for each in x.coordinates if isinstance(each, float)})
    scale = _LOG if x.is_log else alt.Scale(zero=False, padding=10, nice=False)
    if len(numbers) > MOST_LABELS:
        return alt.X("x:Q", title=x.title, scale=scale)
    return alt.X("x:Q", title=x.title, scale=scale, axis=alt.Axis(values=numbers, format=NUMBERS))


def _ordered(axis: Axis) -> list[Any]:
    """Numbers by size, words in the order given."""
    values = list(dict.fromkeys(axis.coordinates))
    return sorted(values, key=float) if axis.is_numeric else values


def _of_steps(axis: Axis) -> alt.Axis:
    flat = all(len(label) <= 8 for label in axis.labels) or len(axis.labels) <= 4
    return alt.Axis(labelAngle=0 if flat else -30, labelLimit=180, grid=False)


def _are_light(values: Sequence[float], *, is_log: bool) -> list[bool]:
    """Whether black text is readable on each value's colour: the upper part of the scheme."""
    on_scale = [math.log(each) if is_log else each for each in values]
    low, high = min(on_scale), max(on_scale)
    return [high > low and (each - low) / (high - low) > 0.55 for each in on_scale]


def _columns(n_panels: int) -> int:
    """Number of panels side by side."""
    return {0: 1, 1: 1, 2: 2, 4: 2}.get(n_panels, 3)


def _in_panels(
    layers: Sequence[alt.Chart],
    panels: Sequence[str],
    *,
    ratio: float,
    height: int = FIGURE_HEIGHT,
) -> alt.LayerChart | alt.FacetChart:
    """A single view, or one per panel with shared scales."""
    if not panels:
        whole: alt.LayerChart = alt.LayerChart(layer=list(layers))
        chart: alt.LayerChart = whole.properties(width=FIGURE_WIDTH, height=height)
        return chart
    columns = _columns(len(panels))
    width = (FIGURE_WIDTH - _GAP * (columns - 1)) // columns
    small: Any = alt.layer(*layers).properties(
        width=width, height=min(height, round(ratio * width))
    )
    faceted: alt.FacetChart = small.facet(
        facet=alt.Facet(
            "panel:N",
            title=None,
            sort=list(panels),
            header=alt.Header(labelFontSize=12, labelFontWeight="bold", labelAnchor="start"),
        ),
        columns=columns,
        spacing=_GAP,
    )
    return faceted
