"""Builders for the figures every study needs. Each returns a chart and the data it shows.

All of them draw with the theme of :mod:`dumbbell.report.theme`, thin their curves to
:data:`dumbbell.report.sampling.MAX_POINTS`, answer to hovering and zoom with Shift and the wheel.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from dumbbell.report import theme
from dumbbell.report.direct_labels import (
    MOST,
    Distribution,
    LineEnd,
    Scale,
    at_line_ends,
    beside_distributions,
    places_beside,
)
from dumbbell.report.sampling import ecdf_points, thin

_HOVER_LEVELS = np.linspace(0.0, 1.0, 41)[1:-1]
_ROOM = 12
"""Pixels between the outermost points and the frame, so that no mark is cut in half."""
_ROW_HEIGHT = 34
_BELOW_POINT = 0.04
"""Of the axis of shares: where the word stands that names a published point."""
_PUBLISHED, _THEORY, _MEASURED = "published", "theory", "measured"
_MARKS = ("circle", "square", "triangle-up", "cross")
_EVERY = pl.lit(True)


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
        style: What sets it apart from the curve of the same colour, such as ``kernel``: decides
            the line style, and all but the first have hollow marks.
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
        measured: Centre.
        low: Lower end of the prediction interval (or other interval), or None.
        high: Upper end, or None.
        published: Published number, or None.
        theory: What theory says, or None.
        style: What sets it apart from a row of the same label, such as ``kernel``: rows of one
            label stand together, each style with a mark of its own.
    """

    label: str
    measured: float
    low: float | None = None
    high: float | None = None
    published: float | None = None
    theory: float | None = None
    style: str = ""


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

    Each type has its name beside its curve, where there are few; else there is a legend.

    Args:
        samples: In legend order.
        x_title: With its unit, such as ``Round trip time (ms)``.
        y_title: Of the share axis, 0 to 1.
        colour_title: Heading of the colour legend.
        dash_title: Heading of the line style legend, shown when there are several senders.
        theory: F(x) curves; those of one label share a legend entry.
        published: Points (x, F) that somebody published, as diamonds: of a type that is drawn in
            its colour, else black.
        x_max: Right end of the axis at first sight; None for everything.
        widths: Of the lines by type, in CSS pixels, where print without colour must tell them
            apart too; all alike when empty.

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
        # Hovering answers at round percentiles, read off the curve as drawn.
        at = np.minimum(np.searchsorted(share, _HOVER_LEVELS), x.size - 1)
        hovers.append(_ecdf_frame(sample, x[at], _HOVER_LEVELS))
    measured, hover = pl.concat(lines), pl.concat(hovers)

    types = list(dict.fromkeys(sample.type for sample in samples))
    senders = list(dict.fromkeys(sample.sender for sample in samples))
    theories = list(dict.fromkeys(curve.label for curve in theory))
    named = _distributions(samples, theory)
    end = x_max or max(float(np.nanmax(curve.x)) for curve in named)
    taken = [float(np.max(each.y)) - _BELOW_POINT for each in published]
    places = places_beside(named, Scale(0.0, end, theme.FIGURE_WIDTH), theme.FIGURE_HEIGHT, taken)
    is_direct = places is not None and len(places) <= MOST
    x_channel = alt.X("x:Q", title=x_title, scale=_domain(0.0, x_max))
    y_channel = alt.Y("share:Q", title=y_title, scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color(
        "type:N", title=colour_title, sort=None, scale=_colours(types, theories)
    )
    colour = colour.legend(None) if is_direct else colour.legend(symbolType="stroke")
    dash = _dash_of(senders, "sender", dash_title)
    layers: list[alt.Chart] = [
        alt.Chart(measured)
        .mark_line(interpolate="step-after", clip=True)
        .encode(
            x=x_channel,
            y=y_channel,
            color=colour,
            strokeDash=dash,
            **_widths_of(types, widths, "type", colour_title, is_direct=is_direct),
            detail="sender:N",
        )
        .add_params(theme.zoom("x"))
    ]
    frames = [measured]
    if theory:
        curves = _curve_frame(theory).rename({"label": "type", "y": "share"})
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
        _hover_points(hover).encode(
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
    return Plot(_layered(layers), pl.concat(frames, how="vertical"))


def _published_points(published: Sequence[Curve]) -> pl.DataFrame:
    points = _curve_frame(published).rename({"label": "type", "y": "share"})
    return points.select("type", pl.lit(_PUBLISHED).alias("sender"), "x", "share")


def _published_layers(
    points: pl.DataFrame, types: Sequence[str], x_channel: alt.X, y_channel: alt.Y
) -> list[alt.Chart]:
    """Diamonds in the colour of what they are about, with a dark edge; the highest is named."""
    inks = {name: theme.SERIES[place % len(theme.SERIES)] for place, name in enumerate(types)}
    highest = points.sort("share").tail(1).with_columns(pl.lit(_PUBLISHED).alias("said"))
    layers = [
        alt.Chart(points.filter(pl.col("type") == name))
        .mark_point(
            shape="diamond", size=130, filled=True, clip=True, opacity=1, strokeWidth=1.5,
            fill=inks.get(name, theme.BLACK), stroke=theme.BLACK,
        )
        .encode(
            x=x_channel, y=y_channel,
            tooltip=[alt.Tooltip("type:N", title=_PUBLISHED), alt.Tooltip("x:Q", format=",.4~g"),
                     alt.Tooltip("share:Q", format=".0%")],
        )
        for name in dict.fromkeys(points["type"])
    ]  # fmt: skip
    named = alt.Chart(highest).encode(x=x_channel, y=y_channel, text="said:N")
    for look in ({"stroke": theme.PAPER, "strokeWidth": 4}, {}):
        layers.append(
            named.mark_text(align="left", baseline="top", dx=8, dy=5, color=theme.BLACK, clip=False,
                            fontSize=12, **look)
        )  # fmt: skip
    return layers


def _distributions(samples: Sequence[Sample], theory: Sequence[Curve]) -> list[Distribution]:
    """What is named beside its curve; another curve of a name is only in the way."""
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

    Each label stands at the right end of its curve, where there are few; else there is a legend.

    Args:
        curves: Measured curves in legend order; bands are drawn where they have edges.
        x_title: With its unit.
        y_title: With its unit.
        colour_title: Heading of the legend.
        style_title: Heading of the line styles' legend, shown when there are several.
        theory: Curves of a closed form.
        published: Points somebody published.
        runs: Single runs: points without a line, in the colours after the curves'; a style of
            their own makes them hollow.
        colours_as: Labels that are drawn in the colour of another label, such as single runs in
            that of their band.
        points: Mark each measured value; wise up to some twenty of them.
        log_x: Logarithmic axis to base 2 when every x is a power of 2, else to base 10.
        log_y: Logarithmic axis to base 10.
        widths: Of the lines by label, as in `ecdf_chart`.

    Raises:
        ValueError: No curves, or one whose columns differ in length.
    """
    if not curves:
        raise ValueError("a line chart needs at least one curve")
    measured = _curve_frame(curves)
    labels = list(dict.fromkeys(curve.label for curve in (*curves, *runs)))
    styles = list(dict.fromkeys(curve.style for curve in curves))
    black = list(dict.fromkeys(curve.label for curve in (*theory, *published)))
    all_x = np.concatenate([np.asarray(c.x, float) for c in (*curves, *theory, *published, *runs)])
    x_channel = alt.X("x:Q", title=x_title, **_scale(all_x, log_x))
    y_channel = alt.Y(
        "y:Q",
        title=y_title,
        scale=_room(log_y),
    )
    is_direct = len({*labels, *black}) <= MOST
    colour_scale = _colours(labels, black, colours_as)
    colour = alt.Color("label:N", title=colour_title or None, sort=None, scale=colour_scale)
    symbol = alt.Undefined if published or runs else "stroke"
    colour = colour.legend(None) if is_direct else colour.legend(symbolType=symbol)
    # Shape has the colour's field, title and domain, so that Vega merges the two legends: lines
    # are strokes there and published points diamonds.
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
            strokeDash=_dash_of(styles, "style", style_title),
            **_widths_of(labels, widths, "label", colour_title, is_direct=is_direct),
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
        # A band needs two points; a curve of one has a bar.
        single = measured.filter(pl.len().over("curve") == 1)
        if single.height:
            layers.append(
                alt.Chart(single)
                .mark_rule(strokeWidth=2, clip=True)
                .encode(x=x_channel, y=alt.Y("low:Q", title=y_title), y2="high:Q", color=colour)
            )
    for extra, mark in ((theory, "line"), (published, "diamond")):
        if extra:
            frame = _curve_frame(extra)
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
        frame = _curve_frame([curve for curve in runs if curve.style == style])
        frames.append(frame)
        hollow_runs: dict[str, Any] = {"filled": False, "size": 110} if number else {"size": 45}
        layers.append(
            alt.Chart(frame)
            .mark_point(opacity=1, clip=True, **hollow_runs)
            .encode(x=x_channel, y=y_channel, color=colour, shape=shape, tooltip=tooltip[:3])
        )
    if points:
        for style in styles:
            # All styles but the first are hollow, and larger, so that both are seen at one place.
            hollow = style != styles[0]
            fill: dict[str, Any] = {"filled": False, "size": 170} if hollow else {}
            marks = alt.Chart(measured.filter(pl.col("style") == style)).mark_point(
                opacity=1, clip=True, **fill
            )
            layers.append(marks.encode(color=colour, x=x_channel, y=y_channel, tooltip=tooltip))
    else:
        layers.append(_hover_points(measured).encode(x=x_channel, y=y_channel, tooltip=tooltip))
    if is_direct:
        ends = _line_ends(pl.concat(frames, how="vertical"), black, colour_scale, log_y=log_y)
        layers += at_line_ends(ends, theme.FIGURE_HEIGHT)
    return Plot(_layered(layers), pl.concat(frames, how="vertical"))


def _line_ends(
    points: pl.DataFrame, black: Sequence[str], colours: alt.Scale, *, log_y: bool
) -> list[LineEnd]:
    """Where each label's curve ends on the right."""
    written = dict(zip(theme.SERIES, theme.WRITTEN, strict=True))
    ink = dict(zip(colours["domain"], colours["range"], strict=True))
    known = np.concatenate([points[name].drop_nulls().to_numpy() for name in ("y", "low", "high")])
    known = known[np.isfinite(known) & ((known > 0) | (not log_y))]
    if not known.size:
        return []
    scale = Scale(float(known.min()), float(known.max()), theme.FIGURE_HEIGHT, _ROOM, log_y)
    found = points.filter(pl.col("y").is_finite())
    ends = []
    for label in dict.fromkeys(found["label"]):
        of = found.filter(pl.col("label") == label)
        first = of.filter(pl.col("curve") == of["curve"][0]).sort("x")
        y_px = theme.FIGURE_HEIGHT - float(scale.px(first["y"].tail(1).to_numpy())[0])
        colour = theme.BLACK if label in black else written.get(ink[label], theme.BLACK)
        ends.append(LineEnd(label, colour, y_px))
    return ends


def points_with_interval(
    rows: Sequence[IntervalRow],
    *,
    x_title: str,
    interval_title: str = "95 % prediction interval",
    measured_title: str = _MEASURED,
    theory_title: str = _THEORY,
    published_title: str = _PUBLISHED,
    log_x: bool = False,
    coloured: bool = False,
    break_labels_at: str = "",
) -> Plot:
    """Dot plot: measured as a dot on its interval, published as a diamond, theory as a tick.

    Args:
        rows: From top to bottom.
        x_title: With its unit.
        interval_title: What the bar is; stands in the legend.
        measured_title: What the dot is; followed by the style where there are several.
        theory_title: What the tick is.
        published_title: What the diamond is.
        log_x: Logarithmic axis, for rows of different magnitude.
        coloured: Whether styles differ in colour as well, as where the same things have colours
            in the figures beside.
        break_labels_at: What ends a line of a label, such as ``: ``; long labels are cut on a
            phone.

    Raises:
        ValueError: No rows.
    """
    if not rows:
        raise ValueError("a dot plot needs at least one row")
    styles = list(dict.fromkeys(row.style for row in rows))
    frame = pl.DataFrame(
        {
            "label": [row.label for row in rows],
            "style": [row.style for row in rows],
            "measured": [float(row.measured) for row in rows],
            "low": [row.low for row in rows],
            "high": [row.high for row in rows],
            "published": [row.published for row in rows],
            "theory": [row.theory for row in rows],
        },
        schema_overrides=dict.fromkeys(("low", "high", "published", "theory"), pl.Float64),
    )
    order = list(dict.fromkeys(row.label for row in rows))
    y_channel = alt.Y("label:N", title=None, sort=order, axis=_label_axis(break_labels_at))
    scale = _room(log_x)
    measured = [f"{measured_title}, {style}" if style else measured_title for style in styles]
    used = [
        name
        for name, column in (
            (interval_title, "low"), *((name, "measured") for name in measured),
            (published_title, "published"), (theory_title, "theory"),
        )
        if frame[column].null_count() < frame.height
    ]  # fmt: skip
    looks = {
        interval_title: (theme.INTERVAL, "stroke"),
        **{
            name: (
                theme.SERIES[number % len(theme.SERIES) if coloured else 0],
                _MARKS[number % len(_MARKS)],
            )
            for number, name in enumerate(measured)
        },
        published_title: (theme.SERIES[1], "diamond"),
        theory_title: (theme.BLACK, "stroke"),
    }
    shapes = {name: shape for name, (_, shape) in looks.items()}
    # Colour and shape share one domain and one (empty) title, so Vega merges their legends.
    colour = alt.Color(
        "what:N", title=None, sort=None,
        scale=alt.Scale(domain=used, range=[looks[name][0] for name in used]),
    )  # fmt: skip
    shape = alt.Shape(
        "what:N", title=None, sort=None,
        scale=alt.Scale(domain=used, range=[shapes[name] for name in used]),
    )  # fmt: skip
    # Styles of one label stand a little above and below one another.
    offset: Any = alt.Undefined
    if len(styles) > 1:
        offset = alt.YOffset("style:N", sort=styles, scale=alt.Scale(domain=styles))
    tooltip = [
        alt.Tooltip("label:N", title=" "),
        *([alt.Tooltip("style:N", title="where")] if len(styles) > 1 else []),
        *(
            alt.Tooltip(f"{name}:Q", format=",.4~g")
            for name in ("measured", "low", "high", "published", "theory")
        ),
    ]

    def layer(name: str, column: str, only: pl.Expr = _EVERY) -> alt.Chart:
        present = frame.filter(pl.col(column).is_not_null() & only)
        return alt.Chart(present.with_columns(pl.lit(name).alias("what")))

    def x_of(column: str) -> alt.X:
        return alt.X(f"{column}:Q", title=x_title, scale=scale)

    layers = []
    if interval_title in used:
        layers.append(
            layer(interval_title, "low")
            .mark_rule(strokeWidth=6, strokeCap="butt", clip=True)
            .encode(
                x=x_of("low"),
                x2="high:Q",
                y=y_channel,
                yOffset=offset,
                color=colour,
                tooltip=tooltip,
            )
        )
    if theory_title in used:
        layers.append(
            layer(theory_title, "theory")
            .mark_tick(thickness=2, size=22, clip=True)
            .encode(x=x_of("theory"), y=y_channel, yOffset=offset, color=colour, tooltip=tooltip)
        )
    marks = [(style, name, "measured", 75) for style, name in zip(styles, measured, strict=True)]
    for style, name, column, size in (*marks, (None, published_title, _PUBLISHED, 110)):
        if name in used:
            of_style = _EVERY if style is None else pl.col("style") == style
            layers.append(
                layer(name, column, of_style)
                .mark_point(size=size, opacity=1, clip=True, stroke=theme.PAPER, strokeWidth=1)
                .encode(
                    x=x_of(column),
                    y=y_channel,
                    yOffset=offset,
                    color=colour,
                    shape=shape,
                    tooltip=tooltip,
                )
            )
    layers[0] = layers[0].add_params(theme.zoom("x"))
    row_height = _ROW_HEIGHT + 12 * (len(styles) - 1)
    return Plot(_layered(layers, row_height * len(order)), frame)


def _label_axis(break_at: str) -> alt.Axis:
    if not break_at:
        return alt.Axis(labelLimit=260)
    return alt.Axis(labelLimit=260, labelExpr=f"split(datum.label, {json.dumps(break_at)})")


def _ecdf_frame(sample: Sample, x: ArrayLike, share: ArrayLike) -> pl.DataFrame:
    columns = pl.DataFrame({"x": np.asarray(x), "share": np.asarray(share)})
    return columns.select(
        pl.lit(sample.type).alias("type"), pl.lit(sample.sender).alias("sender"), "x", "share"
    )


def _curve_frame(curves: Sequence[Curve]) -> pl.DataFrame:
    """Long form, a row a point; the curve's number keeps curves of one label apart."""
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


def _colours(
    coloured: Sequence[str], black: Sequence[str], same: Mapping[str, str] | None = None
) -> alt.Scale:
    palette, same = theme.SERIES, same or {}
    own = [label for label in coloured if label not in same]
    colour = {label: palette[number % len(palette)] for number, label in enumerate(own)}
    colours = [colour[same.get(label, label)] for label in coloured]
    return alt.Scale(domain=[*coloured, *black], range=[*colours, *[theme.BLACK] * len(black)])


def _dash_of(names: Sequence[str], field: str, title: str) -> Any:
    """Line style by a column, where it has several values."""
    if len(names) < 2:
        return alt.Undefined
    scale = alt.Scale(domain=list(names), range=[list(dash) for dash in _dashes(len(names))])
    dash = alt.StrokeDash(f"{field}:N", title=title or None, sort=None, scale=scale)
    return dash.legend(symbolStrokeColor=theme.BLACK, symbolType="stroke")


def _widths_of(
    names: Sequence[str], widths: Sequence[float], field: str, title: str, *, is_direct: bool
) -> dict[str, Any]:
    """Line width by the column of the colour, where it is asked for."""
    if not widths:
        return {}
    of = {name: widths[number % len(widths)] for number, name in enumerate(names)}
    # Of a line Vega-Lite lets the theme's width go before strokeWidth, and size before both; but
    # size makes the symbols of a legend tiny. A scale in another order has a legend of its own.
    # Ordinal, as Vega warns of widths of what has no order.
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


def _domain(low: float, high: float | None) -> alt.Scale:
    return alt.Scale() if high is None else alt.Scale(domain=[low, high])


def _room(log: bool) -> alt.Scale:
    """Around all values, without zero."""
    # Vega warns of a logarithmic scale that is told to leave out zero.
    if log:
        return alt.Scale(type="log", padding=_ROOM, nice=False)
    return alt.Scale(zero=False, padding=_ROOM, nice=False)


def _scale(x: np.ndarray[Any, Any], log: bool) -> dict[str, Any]:
    if not log:
        return {"scale": _room(log=False)}
    powers_of_two = bool((x > 0).all() and (np.log2(x) % 1 == 0).all())
    if not powers_of_two:
        return {"scale": alt.Scale(type="log", padding=_ROOM)}
    ticks = sorted({int(v) if v >= 1 else float(v) for v in x})
    return {
        # Without "nice" the padding is all the room there is: 2 to 16 does not begin at 1.
        "scale": alt.Scale(type="log", base=2, padding=_ROOM, nice=False),
        "axis": alt.Axis(values=ticks, format=",.6~g"),
    }


def _hover_points(frame: pl.DataFrame) -> alt.Chart:
    """Invisible points along a curve that carry the tooltips (a line has one for its whole)."""
    chart: alt.Chart = alt.Chart(frame).mark_point(size=220, opacity=0, clip=True)
    return chart


def _layered(layers: Sequence[alt.Chart], height: int = theme.FIGURE_HEIGHT) -> alt.LayerChart:
    chart = alt.LayerChart(layer=list(layers))
    sized: alt.LayerChart = chart.properties(width=theme.FIGURE_WIDTH, height=height)
    return sized
