"""Measured values with their intervals, beside published values and theory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from dumbbell.report import theme
from dumbbell.report.chart_parts import PUBLISHED, IntervalRow, Plot, layered, room

_ROW_HEIGHT = 34
_THEORY, _MEASURED = "theory", "measured"
_MARKS = ("circle", "square", "triangle-up", "cross")
_EVERY = pl.lit(True)


def points_with_interval(
    rows: Sequence[IntervalRow],
    *,
    x_title: str,
    interval_title: str = "95 % prediction interval",
    measured_title: str = _MEASURED,
    theory_title: str = _THEORY,
    published_title: str = PUBLISHED,
    log_x: bool = False,
    coloured: bool = False,
    break_labels_at: str = "",
) -> Plot:
    """Dot plot: measured as a dot on its interval, published as a diamond, theory as a tick.

    Args:
        rows: From top to bottom.
        x_title: With its unit.
        interval_title: Name of the bar in the legend.
        measured_title: Name of the dot; followed by the style where there are several.
        theory_title: Name of the tick.
        published_title: Name of the diamond.
        log_x: Logarithmic axis, for rows of different magnitude.
        coloured: Whether styles also differ in colour, for example to match the colours of
            neighbouring figures.
        break_labels_at: String after which a label is broken into lines, such as ``: ``; long
            labels are truncated on a phone.

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
    scale = room(log_x)
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
    # Styles of one label are offset a little vertically.
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
    for style, name, column, size in (*marks, (None, published_title, PUBLISHED, 110)):
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
    return Plot(layered(layers, row_height * len(order)), frame)


def _label_axis(break_at: str) -> alt.Axis:
    if not break_at:
        return alt.Axis(labelLimit=260)
    return alt.Axis(labelLimit=260, labelExpr=f"split(datum.label, {json.dumps(break_at)})")
