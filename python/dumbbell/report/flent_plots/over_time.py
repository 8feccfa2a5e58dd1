"""Plots over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.formats.flent import FlentFile
from dumbbell.report import theme
from dumbbell.report.flent_plots.series import (
    LATENCY,
    RATE,
    SMOOTHED_STEPS,
    Drawer,
    DrawnPlot,
    Files,
    Line,
    Lines,
    at_steps,
    fewer,
    lines_of,
    measured_series,
    no_data,
    ping_series,
    points_each,
    rate_series,
    raw_lines,
    smooth,
)

_PANEL_HEIGHT = 170


def _over_time(
    lines: Sequence[Line], y_title: str, *, scaled: bool = False, what: str
) -> DrawnPlot:
    """Draw lines with one axis, or two if some use the second axis."""
    lines = [line for line in lines if len(line.x)]
    if not lines:
        raise no_data(what)
    each = points_each(len(lines))
    lines = [replace(line, x=x, y=y) for line in lines for x, y in [fewer(line.x, line.y, each)]]
    right = [line for line in lines if line.second_axis]
    left = [line for line in lines if not line.second_axis] or right
    charts = [_lines(left, lines, y_title, scaled)]
    if right and right is not left:
        charts.append(_lines(right, lines, LATENCY, scaled))
        chart = alt.LayerChart(layer=charts).resolve_scale(y="independent")
    else:
        chart = charts[0]
    sized = chart.properties(width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT)
    return DrawnPlot(sized, _frame(lines), what)


def _lines(
    lines: Sequence[Line], all_lines: Sequence[Line], y_title: str, scaled: bool
) -> alt.Chart:
    """Draw the lines of one axis, with colours and dashes unique among all lines."""
    colour, dash = _colours_and_dashes(all_lines)
    chart: alt.Chart = (
        alt.Chart(_frame(lines))
        .mark_line(clip=True, strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("y:Q", title=y_title, scale=_scale(lines, scaled)),
            color=colour,
            strokeDash=dash,
            size=alt.condition("datum.average", alt.value(2.5), alt.value(1.2)),
        )
    )
    return chart


def _scale(lines: Sequence[Line], scaled: bool) -> alt.Scale:
    """Return a scale of all values, or of those between the 5th and the 95th percentile."""
    if not scaled:
        return alt.Scale(zero=False, nice=True)
    low, high = np.percentile(np.concatenate([line.y for line in lines]), (5, 95))
    return alt.Scale(domain=[float(low), float(high) if high > low else float(low) + 1])


def _colours_and_dashes(lines: Sequence[Line]) -> tuple[alt.Color, Any]:
    """Return colours and dashes: series of the same colour have different dashes."""
    labels = [line.label for line in lines]
    colours = iter(theme.SERIES * len(labels))
    of = [theme.BLACK if line.average else next(colours) for line in lines]
    colour = alt.Color(
        "label:N", title=None, sort=None, scale=alt.Scale(domain=labels, range=of)
    ).legend(symbolType="stroke")
    rounds = [0 if line.average else place // len(theme.SERIES) for place, line in enumerate(lines)]
    if not max(rounds):
        return colour, alt.Undefined
    dashes = [list(theme.DASHES[turn % len(theme.DASHES)]) for turn in rounds]
    scale = alt.Scale(domain=labels, range=dashes)
    return colour, alt.StrokeDash("label:N", title=None, sort=None, scale=scale)


def _frame(lines: Sequence[Line]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"x": line.x, "y": line.y}).select(
            pl.lit(line.label).alias("label"), "x", "y", pl.lit(line.average).alias("average")
        )
        for line in lines
    )


# --- what is drawn ------------------------------------------------------------------------


def series_of(prefix: str, *, average: bool = True, second_axis: bool = False) -> Lines:
    """Return every measured series of a kind, and their smoothed average in black."""

    def lines(file: FlentFile) -> list[Line]:
        """Return the lines of a file; none if it has no such series."""
        word = "Ping " if second_axis else ""
        found = [
            Line(word + (name.removeprefix(prefix).strip(": ") or prefix.strip()),
                 *at_steps(file, name), second_axis)
            for name in measured_series(file, prefix)
        ]  # fmt: skip
        if average and f"{prefix} avg" in file.results:
            x, y = at_steps(file, f"{prefix} avg")
            found.append(Line("Avg", x, smooth(y), average=True))
        return found

    return lines


downloads, uploads, pings = (
    series_of("TCP download"),
    series_of("TCP upload"),
    series_of("Ping (ms)"),
)
uploads_alone = series_of("TCP upload", average=False)
pings_right = series_of("Ping (ms)", average=False, second_axis=True)


def totals(file: FlentFile) -> list[Line]:
    """Return the throughput of each direction, and latency on the right axis."""
    return [*bandwidth(file), *_ping_right(file)]


def bandwidth(file: FlentFile) -> list[Line]:
    """Return the throughput of each direction, or of each flow without sums."""
    summed = "TCP upload sum" in file.results
    lines = []
    for label, series in rate_series(file).items():
        x, y = at_steps(file, series)
        lines.append(Line(label, x, smooth(y) if summed else y))
    return lines


def _ping_right(file: FlentFile) -> list[Line]:
    series = ping_series(file)
    if series is None:
        return []
    x, y = at_steps(file, series)
    return [Line("Ping (ms)", x, smooth(y) if series.endswith("avg") else y, second_axis=True)]


def bandwidth_of_5s(file: FlentFile) -> list[Line]:
    """Return the throughput of each flow, as means over five seconds."""
    width = max(1, round(5.0 / (file.number("STEP_SIZE") or 0.2)))
    found = ((label, *at_steps(file, series)) for label, series in rate_series(file).items())
    return [Line(label, x, smooth(y, width)) for label, x, y in found]


def pings_smoothed(file: FlentFile) -> list[Line]:
    """Return latency, and its mean over five steps."""
    found = pings(file)
    width = SMOOTHED_STEPS // 2
    return found + [Line(f"{line.label}, mean of {width}", line.x, smooth(line.y, width),
                         average=True) for line in found]  # fmt: skip


def raw(key: str, prefix: str, *, label: str = "{}", second_axis: bool = False) -> Lines:
    """Return one key of the samples, of every series that has it."""

    def lines(file: FlentFile) -> list[Line]:
        """Return the lines of a file; none if it has no such series."""
        return [
            Line(label.format(line.label).strip(), line.x, line.y, second_axis)
            for line in raw_lines(file, key, prefix)
        ]

    return lines


tcp_rtts_right = raw("tcp_rtt", "TCP", label="TCP RTT {}", second_axis=True)
delivery = raw("tcp_delivery_rate", "TCP", label="{}: delivery")
delivery_up = raw("tcp_delivery_rate", "TCP upload")
pacing = raw("tcp_pacing_rate", "TCP", label="{}: pacing")
"""A sender that does not pace has no pacing rate."""


# --- plots --------------------------------------------------------------------------------


def timed(*parts: Lines, y: str, what: str, scaled: bool = False) -> Drawer:
    """Return a plot of all these lines.

    Args:
        parts: Functions that return the lines.
        y: Title of the left axis.
        what: Caption, in a sentence.
        scaled: Whether the axis ends at the 5th and 95th percentile.
    """
    return lambda files: _over_time(lines_of(files, *parts), y, scaled=scaled, what=what)


def panels(*of: tuple[Lines, str, str, bool]) -> Drawer:
    """Return stacked plots: lines, title of the axis, name, and whether the axis is scaled."""

    def draw(files: Files) -> DrawnPlot:
        charts, frames = [], []
        for lines, y_title, what, scaled in of:
            panel = _over_time(lines_of(files, lines), y_title, scaled=scaled, what=what)
            charts.append(panel.chart.properties(height=_PANEL_HEIGHT))
            frames.append(panel.data.with_columns(pl.lit(what).alias("panel")))
        chart = alt.vconcat(*charts).resolve_scale(
            color="independent", strokeDash="independent", x="shared"
        )
        names = ", ".join(what for _, _, what, _ in of[:-1])
        caption = f"{names} and {of[-1][2]}"
        return DrawnPlot(chart, pl.concat(frames), caption[:1].upper() + caption[1:])

    return draw


def all_panels(*, scaled: bool) -> Drawer:
    """Return download, upload and latency."""
    return panels(
        (downloads, f"Download ({RATE})", "download", scaled),
        (uploads, f"Upload ({RATE})", "upload", scaled),
        (pings, LATENCY, "latency", scaled),
    )


def drops(files: Files) -> DrawnPlot:
    """Draw points at steps with drops or marks."""
    frames = []
    series = sum(len(file.raw_values) for file in files.values())
    for key, what in (("dropped", "drops"), ("ecn_mark", "ECN marks")):
        for line in lines_of(files, raw(key, "qdisc_stats_")):
            some = line.y > 0
            x, y = fewer(line.x[some], line.y[some], points_each(series))
            frame = pl.DataFrame({"x": x, "y": y})
            frames.append(frame.select(pl.lit(f"{line.label}: {what}").alias("label"), "x", "y"))
    if not frames:
        raise no_data("drops")
    data = pl.concat(frames)
    labels = data["label"].unique(maintain_order=True).to_list()
    palette = theme.SERIES * (len(labels) // len(theme.SERIES) + 1)
    last = [file.x_values[-1] for file in files.values() if file.x_values]
    ends = [0.0, float(max(last, default=1.0))]
    y_scale = alt.Scale() if labels else alt.Scale(domain=[0.0, 1.0])
    chart = (
        alt.Chart(data)
        .mark_point(clip=True, opacity=1, size=40, filled=False)
        .encode(
            x=alt.X("x:Q", title="Time (s)", scale=alt.Scale(domain=ends)),
            y=alt.Y("y:Q", title="Packets a step", scale=y_scale),
        )
        .properties(width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT)
    )
    # Vega gives a legend without entries, and its figure, an infinite size.
    if labels:
        colours = alt.Scale(domain=labels, range=palette[: len(labels)])
        chart = chart.encode(
            color=alt.Color("label:N", title=None, scale=colours),
            shape=alt.Shape("label:N", title=None, scale=alt.Scale(domain=labels)),
        )
    what = "Packets dropped and marked"
    caption = f"{what} in each step, where there were any" if labels else f"{what}: none"
    return DrawnPlot(chart, data, caption)
