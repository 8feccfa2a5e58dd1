"""Empirical distribution functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from dumbbell.report import theme
from dumbbell.report.chart_parts import (
    PUBLISHED,
    Curve,
    Plot,
    Sample,
    colours,
    curve_frame,
    dash_of,
    domain,
    hover_points,
    layered,
    widths_of,
)
from dumbbell.report.direct_labels import (
    MOST,
    AxisScale,
    Distribution,
    beside_distributions,
    places_beside,
)
from dumbbell.report.sampling import ecdf_points

_HOVER_LEVELS = np.linspace(0.0, 1.0, 41)[1:-1]
_BELOW_POINT = 0.04
"""Offset, as a share of the y axis, of the label that names a published point."""


def ecdf_chart(
    samples: Sequence[Sample],
    *,
    x_title: str,
    y_title: str = "Cumulative share",
    colour_title: str = "Type",
    dash_title: str = "Sender",
    theory: Sequence[Curve] = (),
    published: Sequence[Curve] = (),
    x_max: float | None = None,
    widths: Sequence[float] = (),
) -> Plot:
    """Empirical distribution functions: colour = type, line style = sender, theory thin black.

    Types are labelled beside their curves if there are few; otherwise there is a legend.

    Args:
        samples: In legend order.
        x_title: With its unit, such as ``Round trip time (ms)``.
        y_title: Of the share axis, 0 to 1.
        colour_title: Heading of the colour legend.
        dash_title: Heading of the line style legend, shown when there are several senders.
        theory: F(x) curves; those of one label share a legend entry.
        published: Published points (x, F), drawn as diamonds: in the colour of their type if it is
            drawn, else black.
        x_max: Initial right end of the axis; None for all data.
        widths: Line widths by type, in CSS pixels, to distinguish lines in black-and-white print;
            all equal when empty.

    Raises:
        ValueError: No samples, or one of them is empty.
    """
    if not samples:
        raise ValueError("an ECDF chart needs at least one sample")
    lines, hovers = [], []
    for sample in samples:
        x, share = ecdf_points(sample.values, sample.weights)
        # A first point at 0 draws the vertical rise of the first step.
        lines.append(_ecdf_frame(sample, np.r_[x[0], x], np.r_[0.0, share]))
        # Tooltips show round percentiles, read off the curve as drawn.
        at = np.minimum(np.searchsorted(share, _HOVER_LEVELS), x.size - 1)
        hovers.append(_ecdf_frame(sample, x[at], _HOVER_LEVELS))
    measured, hover = pl.concat(lines), pl.concat(hovers)

    types = list(dict.fromkeys(sample.type for sample in samples))
    senders = list(dict.fromkeys(sample.sender for sample in samples))
    theories = list(dict.fromkeys(curve.label for curve in theory))
    named = _distributions(samples, theory)
    end = x_max or max(float(np.nanmax(curve.x)) for curve in named)
    taken = [float(np.max(each.y)) - _BELOW_POINT for each in published]
    places = places_beside(
        named, AxisScale(0.0, end, theme.FIGURE_WIDTH), theme.FIGURE_HEIGHT, taken
    )
    is_direct = places is not None and len(places) <= MOST
    x_channel = alt.X("x:Q", title=x_title, scale=domain(0.0, x_max))
    y_channel = alt.Y("share:Q", title=y_title, scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("type:N", title=colour_title, sort=None, scale=colours(types, theories))
    colour = colour.legend(None) if is_direct else colour.legend(symbolType="stroke")
    dash = dash_of(senders, "sender", dash_title)
    layers: list[alt.Chart] = [
        alt.Chart(measured)
        .mark_line(interpolate="step-after", clip=True)
        .encode(
            x=x_channel,
            y=y_channel,
            color=colour,
            strokeDash=dash,
            **widths_of(types, widths, "type", colour_title, is_direct=is_direct),
            detail="sender:N",
        )
        .add_params(theme.zoom("x"))
    ]
    frames = [measured]
    if theory:
        curves = curve_frame(theory).rename({"label": "type", "y": "share"})
        frames.append(curves.select("type", pl.col("curve").alias("sender"), "x", "share"))
        layers.append(
            alt.Chart(curves)
            .mark_line(strokeWidth=1, clip=True)
            .encode(x=x_channel, y=y_channel, color=colour, detail="curve:N")
        )
    if published:
        frames.append(_published_points(published))
        layers += _published_layers(frames[-1], types, x_channel, y_channel)
    if places is not None and is_direct:
        layers += beside_distributions(places, x_channel, y_channel)
    layers.append(
        hover_points(hover).encode(
            x=x_channel,
            y=y_channel,
            tooltip=[
                alt.Tooltip("type:N", title=colour_title),
                *([alt.Tooltip("sender:N", title=dash_title)] if len(senders) > 1 else []),
                alt.Tooltip("share:Q", title="share at or below", format=".1%"),
                alt.Tooltip("x:Q", title=x_title, format=",.4~g"),
            ],
        )
    )
    return Plot(layered(layers), pl.concat(frames, how="vertical"))


def _published_points(published: Sequence[Curve]) -> pl.DataFrame:
    points = curve_frame(published).rename({"label": "type", "y": "share"})
    return points.select("type", pl.lit(PUBLISHED).alias("sender"), "x", "share")


def _published_layers(
    points: pl.DataFrame, types: Sequence[str], x_channel: alt.X, y_channel: alt.Y
) -> list[alt.Chart]:
    """Return diamonds in the colour of their type, with a dark edge; label the highest one."""
    inks = {name: theme.SERIES[place % len(theme.SERIES)] for place, name in enumerate(types)}
    highest = points.sort("share").tail(1).with_columns(pl.lit(PUBLISHED).alias("said"))
    layers = [
        alt.Chart(points.filter(pl.col("type") == name))
        .mark_point(
            shape="diamond", size=130, filled=True, clip=True, opacity=1, strokeWidth=1.5,
            fill=inks.get(name, theme.BLACK), stroke=theme.BLACK,
        )
        .encode(
            x=x_channel, y=y_channel,
            tooltip=[alt.Tooltip("type:N", title=PUBLISHED), alt.Tooltip("x:Q", format=",.4~g"),
                     alt.Tooltip("share:Q", format=".0%")],
        )
        for name in dict.fromkeys(points["type"])
    ]  # fmt: skip
    named = alt.Chart(highest).encode(x=x_channel, y=y_channel, text="said:N")
    looks: list[dict[str, Any]] = [{"stroke": theme.PAPER, "strokeWidth": 4}, {}]
    for look in looks:
        layers.append(
            named.mark_text(align="left", baseline="top", dx=8, dy=5, color=theme.BLACK, clip=False,
                            fontSize=12, **look)
        )  # fmt: skip
    return layers


def _distributions(samples: Sequence[Sample], theory: Sequence[Curve]) -> list[Distribution]:
    """Return curves to label; a further curve of the same name is only an obstacle."""
    named: list[Distribution] = []
    types = list(dict.fromkeys(sample.type for sample in samples))
    inks = {name: theme.WRITTEN[place % len(theme.WRITTEN)] for place, name in enumerate(types)}
    seen: set[str] = set()
    for sample in samples:
        x, share = ecdf_points(sample.values, sample.weights)
        label = "" if sample.type in seen else sample.type
        seen.add(sample.type)
        named.append(Distribution(label, inks[sample.type], x, share))
    for curve in theory:
        label = "" if curve.label in seen else curve.label
        seen.add(curve.label)
        x, share = np.asarray(curve.x, float), np.asarray(curve.y, float)
        named.append(Distribution(label, theme.BLACK, x, share))
    return named


def _ecdf_frame(sample: Sample, x: ArrayLike, share: ArrayLike) -> pl.DataFrame:
    columns = pl.DataFrame({"x": np.asarray(x), "share": np.asarray(share)})
    return columns.select(
        pl.lit(sample.type).alias("type"), pl.lit(sample.sender).alias("sender"), "x", "share"
    )
