"""Common parts of the figure builders: input types, scales and layering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from dumbbell.report import theme
from dumbbell.report.sampling import thin

ROOM_PX = 12
"""Margin between the outermost points and the frame, so that no mark is clipped."""
PUBLISHED = "published"
"""Label of published numbers in a figure."""


class Plot(NamedTuple):
    """A chart and the data it shows; unpacks into ``Figure(name, *plot, caption)``."""

    chart: alt.LayerChart
    data: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample whose distribution is drawn.

    Attributes:
        type: Decides the colour, such as ``SM``.
        sender: Decides the line style, such as ``1``; empty when there is only one.
        values: The sample, any shape; NaN (lost) left out.
        weights: Weight per value, such as seconds at a queue length; None for equal weights.
    """

    type: str
    sender: str
    values: ArrayLike
    weights: ArrayLike | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve with an optional band around it.

    Attributes:
        label: As in the legend.
        x: Ascending, shape (k,).
        y: Shape (k,).
        low: Lower edge of the band, shape (k,), or None.
        high: Upper edge, shape (k,), or None.
        style: Distinguishes curves of the same colour, such as ``kernel``: selects the line style;
            all styles but the first have hollow marks.
    """

    label: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class IntervalRow:
    """One row of a dot plot.

    Attributes:
        label: What was measured.
        measured: Measured value, the centre of the interval.
        low: Lower end of the prediction interval (or other interval), or None.
        high: Upper end, or None.
        published: Published number, or None.
        theory: Value predicted by theory, or None.
        style: Distinguishes rows of the same label, such as ``kernel``: rows of one label are drawn
            together, each style with a different mark.
    """

    label: str
    measured: float
    low: float | None = None
    high: float | None = None
    published: float | None = None
    theory: float | None = None
    style: str = ""


def curve_frame(curves: Sequence[Curve]) -> pl.DataFrame:
    """Return long form, one row per point; the curve's number distinguishes curves of one label."""
    frames = []
    for number, curve in enumerate(curves):
        x, y = np.asarray(curve.x, float), np.asarray(curve.y, float)
        columns = {"x": x, "y": y}
        for name, edge in (("low", curve.low), ("high", curve.high)):
            columns[name] = np.full(x.shape, np.nan) if edge is None else np.asarray(edge, float)
        if any(column.shape != x.shape or column.ndim != 1 for column in columns.values()):
            raise ValueError(f"curve {curve.label!r}: x, y, low and high must have one shape (k,)")
        kept = thin(x.size)
        frames.append(
            pl.DataFrame({name: column[kept] for name, column in columns.items()})
            .with_columns(pl.col("low", "high").fill_nan(None))
            .select(
                pl.lit(curve.label).alias("label"),
                pl.lit(str(number)).alias("curve"),
                pl.lit(curve.style).alias("style"),
                "x", "y", "low", "high",
            )
        )  # fmt: skip
    return pl.concat(frames)


def colours(
    coloured: Sequence[str], black: Sequence[str], same: Mapping[str, str] | None = None
) -> alt.Scale:
    """Map names to colours: series colours, black, or the colour of another name."""
    palette, same = theme.SERIES, same or {}
    own = [label for label in coloured if label not in same]
    colour = {label: palette[number % len(palette)] for number, label in enumerate(own)}
    colours = [colour[same.get(label, label)] for label in coloured]
    return alt.Scale(domain=[*coloured, *black], range=[*colours, *[theme.BLACK] * len(black)])


def dash_of(names: Sequence[str], field: str, title: str) -> Any:
    """Return a line style encoding by a column, if the column has several values."""
    if len(names) < 2:
        return alt.Undefined
    scale = alt.Scale(domain=list(names), range=[list(dash) for dash in _dashes(len(names))])
    dash = alt.StrokeDash(f"{field}:N", title=title or None, sort=None, scale=scale)
    return dash.legend(symbolStrokeColor=theme.BLACK, symbolType="stroke")


def widths_of(
    names: Sequence[str], widths: Sequence[float], field: str, title: str, *, is_direct: bool
) -> dict[str, Any]:
    """Return a line width encoding by the colour's column, if widths are given."""
    if not widths:
        return {}
    of = {name: widths[number % len(widths)] for number, name in enumerate(names)}
    # For a line, Vega-Lite prefers the theme's width to strokeWidth, and size to both; but size
    # makes the symbols of a legend tiny. A scale in another order gets a separate legend. The type
    # is ordinal, because Vega warns of widths of a nominal field.
    shown = alt.Scale(domain=list(of), range=list(of.values()))
    drawn = alt.Scale(domain=[*of][::-1], range=[*of.values()][::-1])
    return {
        "strokeWidth": alt.StrokeWidth(
            f"{field}:O",
            title=title or None,
            sort=None,
            scale=shown,
            legend=None if is_direct else alt.Undefined,
        ),
        "size": alt.Size(f"{field}:O", title=None, sort=None, scale=drawn, legend=None),
    }


def _dashes(count: int) -> list[tuple[int, ...]]:
    return [theme.DASHES[number % len(theme.DASHES)] for number in range(count)]


def domain(low: float, high: float | None) -> alt.Scale:
    """Return a domain from low to high; without high, up to the last value."""
    return alt.Scale() if high is None else alt.Scale(domain=[low, high])


def room(log: bool) -> alt.Scale:
    """Return a scale with padding around all values, without forcing zero."""
    # Vega warns if a logarithmic scale is told to exclude zero.
    if log:
        return alt.Scale(type="log", padding=ROOM_PX, nice=False)
    return alt.Scale(zero=False, padding=ROOM_PX, nice=False)


def hover_points(frame: pl.DataFrame) -> alt.Chart:
    """Return invisible points that carry tooltips; a line has only one tooltip."""
    chart: alt.Chart = alt.Chart(frame).mark_point(size=220, opacity=0, clip=True)
    return chart


def layered(layers: Sequence[alt.Chart], height: int = theme.FIGURE_HEIGHT) -> alt.LayerChart:
    """Layers as one figure of the usual size."""
    chart = alt.LayerChart(layer=list(layers))
    sized: alt.LayerChart = chart.properties(width=theme.FIGURE_WIDTH, height=height)
    return sized
