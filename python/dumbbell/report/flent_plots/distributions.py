"""Plots of distributions: CDFs, boxes, bars, ellipses."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt
import numpy as np
import polars as pl

from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile
from dumbbell.report import theme
from dumbbell.report.charts import Sample, ecdf_chart
from dumbbell.report.flent_plots.series import (
    LATENCY,
    RATE,
    Drawer,
    DrawnPlot,
    Files,
    at_steps,
    lines_of,
    loaded,
    measured_series,
    no_data,
    ping_series,
    points_each,
    rate_series,
    raw_lines,
    same_quantiles,
    titled,
)
from dumbbell.report.sampling import thin
from dumbbell.stats import covariance_ellipse
from dumbbell.stats.errors import Floats

Columns = Callable[[FlentFile], dict[str, Floats]]
"""Returns values by label."""
_CUT = ("tcp_1up", "tcp_1down", "tcp_nup", "tcp_ndown")


def cdf(only: str = "") -> Drawer:
    """Draw a CDF of latencies, excluding the delays before and after the load."""

    def draw(files: Files) -> DrawnPlot:
        samples = []
        for title, file in files.items():
            for series in measured_series(file, f"Ping (ms){only}"):
                x, y = at_steps(file, series)
                kept = y if file.text("NAME") == "ping" else loaded(file, x, y)
                if len(kept):
                    label = titled(series.removeprefix("Ping (ms) "), title)
                    samples.append(Sample(label, "", kept))
        if not samples:
            raise no_data("ping_cdf")
        plot = ecdf_chart(samples, x_title=LATENCY, colour_title="Ping (ms)")
        return DrawnPlot(*plot, "Distribution of the latency under load")

    return draw


def rtt_cdf(files: Files) -> DrawnPlot:
    """Draw a CDF of the senders' smoothed round-trip times."""
    lines = lines_of(files, lambda file: raw_lines(file, "tcp_rtt", "TCP"))
    samples = [Sample(line.label, "", line.y) for line in lines]
    if not samples:
        raise no_data("tcp_rtt_cdf")
    plot = ecdf_chart(samples, x_title="TCP round trip (ms)", colour_title="TCP")
    return DrawnPlot(*plot, "Distribution of TCP's smoothed round-trip times")


def box(columns: Columns, what: str) -> Drawer:
    """Draw boxes from first to third quartile, whiskers at 1.5 times the range, and outliers."""

    def draw(files: Files) -> DrawnPlot:
        found = _found(columns, files)
        if not found:
            raise no_data(what)
        each = points_each(len(found))
        data = pl.concat(
            pl.DataFrame({"y": same_quantiles(y, each)}).select(pl.lit(label).alias("label"), "y")
            for label, y in found.items()
        )
        panels = []
        for ping in (False, True):
            labels = [label for label in found if label.startswith("Ping") is ping]
            if labels:
                of = data.filter(pl.col("label").is_in(labels))
                panels.append(_boxes(of, labels, LATENCY if ping else RATE))
        chart = alt.hconcat(*panels) if len(panels) > 1 else panels[0]
        return DrawnPlot(chart, data, what)

    return draw


def _found(columns: Columns, files: Files) -> dict[str, Floats]:
    """Return the values of every file, grouped by series."""
    of = {title: columns(file) for title, file in files.items()}
    labels = dict.fromkeys(label for found in of.values() for label in found)
    return {
        titled(label, title): found[label]
        for label in labels
        for title, found in of.items()
        if len(found.get(label, ()))
    }


def _label_axis() -> alt.Axis:
    """Return an axis that shows the series, and the file below it."""
    return alt.Axis(labelAngle=0, labelExpr="split(datum.label, ', ')", labelLimit=110)


def _boxes(data: pl.DataFrame, labels: list[str], y_title: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_boxplot(size=34, color=theme.SERIES[0], median={"color": "white"})
        .encode(
            x=alt.X("label:N", title=None, sort=labels, axis=_label_axis()),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False)),
        )
        .properties(width=110 * len(labels), height=theme.FIGURE_HEIGHT)
    )
    return chart


def bar(columns: Columns, what: str, y_title: str = RATE) -> Drawer:
    """Draw bars of means, with whiskers of one standard deviation."""

    def draw(files: Files) -> DrawnPlot:
        found = _found(columns, files)
        if not found:
            raise no_data(what)
        data = pl.DataFrame(
            {
                "label": list(found),
                "mean": [float(y.mean()) for y in found.values()],
                "low": [float(y.mean() - y.std()) for y in found.values()],
                "high": [float(y.mean() + y.std()) for y in found.values()],
            }
        )
        pings = [label for label in found if label.startswith("Ping")]
        rates = [label for label in found if label not in pings]
        charts = [
            _bars(data.filter(pl.col("label").is_in(labels)), labels, title)
            for labels, title in ((rates, y_title), (pings, LATENCY))
            if labels
        ]
        chart = alt.hconcat(*charts) if len(charts) > 1 else charts[0]
        return DrawnPlot(chart, data, f"{what}: means, with a standard deviation to each side")

    return draw


def _bars(data: pl.DataFrame, labels: list[str], y_title: str) -> alt.LayerChart:
    base = alt.Chart(data).encode(x=alt.X("label:N", title=None, sort=labels, axis=_label_axis()))
    bars = base.mark_bar(size=44, color=theme.SERIES[0]).encode(y=alt.Y("mean:Q", title=y_title))
    whiskers = base.mark_rule(color=theme.BLACK, strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    chart: alt.LayerChart = alt.LayerChart(layer=[bars, whiskers]).properties(
        width=110 * len(labels), height=theme.FIGURE_HEIGHT
    )
    return chart


def of_totals(file: FlentFile) -> dict[str, Floats]:
    """Return throughput of each direction, and latency; as in Flent, `_CUT` tests exclude idle
    time.
    """
    named = rate_series(file) | ({"Ping (ms)": series} if (series := ping_series(file)) else {})
    found = ((label, *at_steps(file, series)) for label, series in named.items())
    cut = file.text("NAME") in _CUT
    return {label: loaded(file, x, y) if cut else y for label, x, y in found}


def of_kind(prefix: str, *, cut: bool = False) -> Columns:
    """Return every series of a kind, and their average.

    Args:
        prefix: Prefix of their names.
        cut: Whether to exclude the delays before and after the load.
    """

    def columns(file: FlentFile) -> dict[str, Floats]:
        average = f"{prefix} avg"
        names = measured_series(file, prefix) + [average] * (average in file.results)
        word = "Ping " if prefix.startswith("Ping") else ""
        found = ((name, *at_steps(file, name)) for name in names)
        return {
            word + (name.removeprefix(prefix).strip(": ") or "all"): (
                loaded(file, x, y) if cut else y
            )
            for name, x, y in found
        }

    return columns


def of_fairness(file: FlentFile) -> dict[str, Floats]:
    """Return Jain's index of each direction's flows."""
    return {
        label: at_steps(file, f"TCP {label.lower()} fairness")[1]
        for label in ("Download", "Upload")
    }


def ellipsis(series: str, label: str) -> Drawer:
    """Draw the 2-sigma covariance ellipse of throughput against latency, with the median."""

    def draw(files: Files) -> DrawnPlot:
        if len(files) > 1:
            raise SpecError("plot", "ellipsis", "one file: of several, box_totals has the spread")
        (file,) = files.values()
        pairs = [
            (ping, rate)
            for ping, rate in zip(
                file.results.get("Ping (ms) avg", []), file.results.get(series, []), strict=False
            )
            if ping is not None and rate is not None
        ]
        if len(pairs) < 3:
            raise SpecError("plot", "ellipsis", "a file with three samples of both at least")
        x, y = np.array(pairs, dtype=np.float64).T
        edge_x, edge_y = covariance_ellipse(x, y).outline()
        shown = thin(len(x), points_each(2))
        data = pl.concat(
            pl.DataFrame({"x": xs, "y": ys}).select(
                pl.lit(what).alias("what"), pl.int_range(pl.len()).alias("place"), "x", "y"
            )
            for what, xs, ys in (
                ("two standard deviations", edge_x, edge_y),
                ("samples", x[shown], y[shown]),
                ("median", np.atleast_1d(np.median(x)), np.atleast_1d(np.median(y))),
            )
        )
        chart = _ellipse_chart(data, f"{label} ({RATE})")
        return DrawnPlot(chart, data, f"{label} against latency, covariance ellipse of 2 sigma")

    return draw


def _ellipse_chart(data: pl.DataFrame, y_title: str) -> alt.LayerChart:
    kinds = ["two standard deviations", "samples", "median"]
    colours = alt.Scale(domain=kinds, range=[theme.SERIES[0], theme.SERIES[1], theme.BLACK])
    base = alt.Chart(data).encode(
        x=alt.X("x:Q", title=f"{LATENCY}, average", scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False)),
        color=alt.Color("what:N", title=None, sort=None, scale=colours),
    )
    edge, samples, median = (base.transform_filter(alt.datum.what == kind) for kind in kinds)
    layers = [
        edge.mark_line().encode(order="place:Q"),
        samples.mark_point(size=14, opacity=0.5),
        median.mark_point(size=110, shape="diamond", opacity=1),
    ]
    chart: alt.LayerChart = alt.LayerChart(layer=layers).properties(
        width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT
    )
    return chart
