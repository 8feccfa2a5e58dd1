"""Curves with bands, theory and published points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.report import theme
from dumbbell.report.chart_parts import (
    ROOM_PX,
    Curve,
    Plot,
    colours,
    curve_frame,
    dash_of,
    hover_points,
    layered,
    room,
    widths_of,
)
from dumbbell.report.direct_labels import MOST, AxisScale, LineEnd, at_line_ends


def line_with_band(
    curves: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    colour_title: str = "",
    style_title: str = "",
    theory: Sequence[Curve] = (),
    published: Sequence[Curve] = (),
    runs: Sequence[Curve] = (),
    colours_as: Mapping[str, str] | None = None,
    points: bool = True,
    log_x: bool = False,
    log_y: bool = False,
    widths: Sequence[float] = (),
) -> Plot:
    """Curves with bands, theory as thin black lines, published numbers as black diamonds.

    Curves are labelled at their right ends if there are few; otherwise there is a legend.

    Args:
        curves: Measured curves in legend order; bands are drawn where they have edges.
        x_title: With its unit.
        y_title: With its unit.
        colour_title: Heading of the legend.
        style_title: Heading of the line styles' legend, shown when there are several.
        theory: Curves of closed-form theory.
        published: Published points.
        runs: Single runs: points without a line, in the colours that follow those of the curves;
            hollow if they have a separate style.
        colours_as: Labels drawn in the colour of another label, such as single runs in the colour
            of their band.
        points: Mark each measured value; suitable for up to about twenty.
        log_x: Logarithmic axis to base 2 when every x is a power of 2, else to base 10.
        log_y: Logarithmic axis to base 10.
        widths: Of the lines by label, as in `ecdf_chart`.

    Raises:
        ValueError: No curves, or a curve whose columns differ in length.
    """
    if not curves:
        raise ValueError("a line chart needs at least one curve")
    measured = curve_frame(curves)
    labels = list(dict.fromkeys(curve.label for curve in (*curves, *runs)))
    styles = list(dict.fromkeys(curve.style for curve in curves))
    black = list(dict.fromkeys(curve.label for curve in (*theory, *published)))
    all_x = np.concatenate([np.asarray(c.x, float) for c in (*curves, *theory, *published, *runs)])
    x_channel = alt.X("x:Q", title=x_title, **_scale(all_x, log_x))
    y_channel = alt.Y(
        "y:Q",
        title=y_title,
        scale=room(log_y),
    )
    is_direct = len({*labels, *black}) <= MOST
    colour_scale = colours(labels, black, colours_as)
    colour = alt.Color("label:N", title=colour_title or None, sort=None, scale=colour_scale)
    symbol = alt.Undefined if published or runs else "stroke"
    colour = colour.legend(None) if is_direct else colour.legend(symbolType=symbol)
    # Shape has the same field, title and domain as colour, so that Vega merges the two legends:
    # lines are strokes there and published points diamonds.
    shapes = {curve.label: "circle" for curve in runs}
    shapes |= {curve.label: "diamond" for curve in published}
    shape = alt.Shape(
        "label:N",
        title=colour_title or None,
        sort=None,
        scale=alt.Scale(
            domain=[*labels, *black],
            range=[shapes.get(label, "stroke") for label in [*labels, *black]],
        ),
        legend=None if is_direct else alt.Undefined,
    )
    tooltip = [
        alt.Tooltip("label:N", title=colour_title or "curve"),
        alt.Tooltip("x:Q", title=x_title, format=",.4~g"),
        alt.Tooltip("y:Q", title=y_title, format=",.4~g"),
    ]
    layers: list[alt.Chart] = [
        alt.Chart(measured)
        .mark_line(clip=True)
        .encode(
            x=x_channel,
            y=y_channel,
            color=colour,
            strokeDash=dash_of(styles, "style", style_title),
            **widths_of(labels, widths, "label", colour_title, is_direct=is_direct),
            detail="curve:N",
        )
        .add_params(theme.zoom())
    ]
    frames = [measured]
    if measured["low"].null_count() < measured.height:
        tooltip += [
            alt.Tooltip("low:Q", title="low", format=",.4~g"),
            alt.Tooltip("high:Q", title="high", format=",.4~g"),
        ]
        band = (
            alt.Chart(measured)
            .mark_area(clip=True)
            .encode(
                x=x_channel,
                y=alt.Y("low:Q", title=y_title),
                y2="high:Q",
                color=colour,
                detail="curve:N",
            )
        )
        layers.insert(0, band)
        # A band needs two points; a curve with one point gets a bar.
        single = measured.filter(pl.len().over("curve") == 1)
        if single.height:
            layers.append(
                alt.Chart(single)
                .mark_rule(strokeWidth=2, clip=True)
                .encode(x=x_channel, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour)
            )
    for extra, mark in ((theory, "line"), (published, "diamond")):
        if extra:
            frame = curve_frame(extra)
            frames.append(frame)
            base = alt.Chart(frame)
            drawn = (
                base.mark_line(strokeWidth=1, clip=True)
                if mark == "line"
                else base.mark_point(size=120, opacity=1, clip=True).encode(shape=shape)
            )
            layers.append(
                drawn.encode(
                    x=x_channel, y=y_channel, color=colour, detail="curve:N", tooltip=tooltip[:3]
                )
            )
    for number, style in enumerate(dict.fromkeys(curve.style for curve in runs)):
        frame = curve_frame([curve for curve in runs if curve.style == style])
        frames.append(frame)
        hollow_runs: dict[str, Any] = {"filled": False, "size": 110} if number else {"size": 45}
        layers.append(
            alt.Chart(frame)
            .mark_point(opacity=1, clip=True, **hollow_runs)
            .encode(x=x_channel, y=y_channel, color=colour, shape=shape, tooltip=tooltip[:3])
        )
    if points:
        for style in styles:
            # All styles but the first are hollow and larger, so that both are visible at one place.
            hollow = style != styles[0]
            fill: dict[str, Any] = {"filled": False, "size": 170} if hollow else {}
            marks = alt.Chart(measured.filter(pl.col("style") == style)).mark_point(
                opacity=1, clip=True, **fill
            )
            layers.append(marks.encode(color=colour, x=x_channel, y=y_channel, tooltip=tooltip))
    else:
        layers.append(hover_points(measured).encode(x=x_channel, y=y_channel, tooltip=tooltip))
    if is_direct:
        ends = _line_ends(pl.concat(frames, how="vertical"), black, colour_scale, log_y=log_y)
        layers += at_line_ends(ends, theme.FIGURE_HEIGHT)
    return Plot(layered(layers), pl.concat(frames, how="vertical"))


def _line_ends(
    points: pl.DataFrame, black: Sequence[str], colours: alt.Scale, *, log_y: bool
) -> list[LineEnd]:
    """Return the right end of each label's curve."""
    written = dict(zip(theme.SERIES, theme.WRITTEN, strict=True))
    ink = dict(zip(colours["domain"], colours["range"], strict=True))
    known = np.concatenate([points[name].drop_nulls().to_numpy() for name in ("y", "low", "high")])
    known = known[np.isfinite(known) & ((known > 0) | (not log_y))]
    if not known.size:
        return []
    scale = AxisScale(float(known.min()), float(known.max()), theme.FIGURE_HEIGHT, ROOM_PX, log_y)
    found = points.filter(pl.col("y").is_finite())
    ends = []
    for label in dict.fromkeys(found["label"]):
        of = found.filter(pl.col("label") == label)
        first = of.filter(pl.col("curve") == of["curve"][0]).sort("x")
        y_px = theme.FIGURE_HEIGHT - float(scale.px(first["y"].tail(1).to_numpy())[0])
        colour = theme.BLACK if label in black else written.get(ink[label], theme.BLACK)
        ends.append(LineEnd(label, colour, y_px))
    return ends


def _scale(x: np.ndarray[Any, Any], log: bool) -> dict[str, Any]:
    if not log:
        return {"scale": room(log=False)}
    powers_of_two = bool((x > 0).all() and (np.log2(x) % 1 == 0).all())
    if not powers_of_two:
        return {"scale": alt.Scale(type="log", padding=ROOM_PX)}
    ticks = sorted({int(v) if v >= 1 else float(v) for v in x})
    return {
        # Without "nice", only the padding adds room: 2 to 16 does not begin at 1.
        "scale": alt.Scale(type="log", base=2, padding=ROOM_PX, nice=False),
        "axis": alt.Axis(values=ticks, format=",.6~g"),
    }
