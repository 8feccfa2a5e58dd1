"""Flent's plots by Flent's names, drawn with the charts of this package.

Which series a plot has is Flent's; its look is ours. Averages that Flent smooths over ten samples
are smoothed here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from dumbbell.errors import SpecError
from dumbbell.formats.flent import FlentFile, is_measured, raw_samples
from dumbbell.report import theme
from dumbbell.report.charts import Sample, ecdf_chart
from dumbbell.spec.refusal import nearest
from dumbbell.stats import covariance_ellipse
from dumbbell.stats.errors import Floats

_PANEL_HEIGHT = 170
_SMOOTHED_STEPS = 10
_DEFAULT_DELAY_S = 5.0
_RATE, _LATENCY = "Mbit/s", "Latency (ms)"


@dataclass(frozen=True, slots=True)
class DrawnPlot:
    """A chart, the data in it, and what it shows.

    Attributes:
        chart: Altair's.
        data: What it shows.
        caption: In a sentence.
    """

    chart: alt.Chart | alt.LayerChart | alt.VConcatChart | alt.HConcatChart
    data: pl.DataFrame
    caption: str


@dataclass(frozen=True, slots=True)
class _Line:
    """One series of a time plot."""

    label: str
    x: Floats
    y: Floats
    second_axis: bool = False
    average: bool = False


_Drawer = Callable[[FlentFile], DrawnPlot]


def plot_names(file: FlentFile) -> list[str]:
    """The plots that can be drawn of a data file, its test's own first."""
    names = list(_OF_TEST.get(file.text("NAME"), _ANY_TEST))
    if any("tcp_cwnd" in sample for samples in file.raw_values.values() for sample in samples[:4]):
        names += _OF_SOCKETS
    if any(name.startswith("qdisc_stats_") for name in file.raw_values):
        names += _OF_QUEUES
    return names


def check_plot(test: str, name: str) -> None:
    """Refuse a plot that no file of a test can have.

    Raises:
        SpecError: There is none of this name.
    """
    _check(test, name, [*_OF_TEST.get(test, _ANY_TEST), *_OF_SOCKETS, *_OF_QUEUES])


def _check(test: str, name: str, names: Sequence[str]) -> None:
    if name not in names:
        allowed = f"a plot of {test}: {', '.join(names)}"
        if name.endswith("combine") or "_combine_" in name or name.startswith("qq_"):
            allowed += "; plots of several files together are Flent's own"
        raise SpecError("plot", name, allowed, nearest(name, names))


def draw_plot(file: FlentFile, name: str) -> DrawnPlot:
    """Draw one plot of a data file.

    Args:
        file: The data.
        name: One of `plot_names`.

    Raises:
        SpecError: The test has no such plot, or the file has nothing to show in it.
    """
    _check(file.text("NAME"), name, plot_names(file))
    return _DRAWERS[name](file)


def _nothing(what: str) -> SpecError:
    return SpecError("plot", what, "a plot that the file has data for")


# --- series -------------------------------------------------------------------------------


def _at_steps(file: FlentFile, series: str) -> tuple[Floats, Floats]:
    values = file.results.get(series, [])
    pairs = [(x, v) for x, v in zip(file.x_values, values, strict=False) if v is not None]
    both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _smooth(values: Floats, width: int = _SMOOTHED_STEPS) -> Floats:
    """Means over ``width`` neighbours, fewer at the ends."""
    if len(values) < 2:
        return values
    sums = np.concatenate(([0.0], np.cumsum(values)))
    place = np.arange(len(values))
    low = np.maximum(place - width // 2, 0)
    high = np.minimum(place + (width + 1) // 2, len(values))
    smoothed: Floats = (sums[high] - sums[low]) / (high - low)
    return smoothed


def _measured(file: FlentFile, prefix: str) -> list[str]:
    names = (s for s in file.results if s.startswith(prefix))
    return [s for s in names if _is_series(s) and is_measured(file, s)]


def _is_series(name: str) -> bool:
    return "::" not in name or name.rpartition("::")[2].isdecimal()


def _first(file: FlentFile, *names: str) -> str | None:
    return next((name for name in names if name in file.results), None)


def _ping(file: FlentFile) -> str | None:
    return _first(file, "Ping (ms) avg", "Ping (ms) ICMP")


def _rates(file: FlentFile) -> dict[str, str]:
    """Label to series: the sums of both directions, or every flow where there are none."""
    sums = {
        label: f"TCP {label.lower()} sum"
        for label in ("Download", "Upload")
        if f"TCP {label.lower()} sum" in file.results
    }
    flows = [*_measured(file, "TCP"), *_measured(file, "UDP")]
    return sums or {_capital(name.removeprefix("TCP ")): name for name in flows}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _delay_s(file: FlentFile) -> float:
    ours = file.metadata.get("DUMBBELL")
    delay = ours.get("delay_s") if isinstance(ours, Mapping) else None
    return float(delay) if isinstance(delay, int) else _DEFAULT_DELAY_S


# --- plots over time ----------------------------------------------------------------------


def _over_time(
    lines: Sequence[_Line], y_title: str, *, scaled: bool = False, what: str
) -> DrawnPlot:
    """Lines with one axis, or two where some ask for the second."""
    lines = [line for line in lines if len(line.x)]
    if not lines:
        raise _nothing(what)
    right = [line for line in lines if line.second_axis]
    left = [line for line in lines if not line.second_axis] or right
    charts = [_lines(left, lines, y_title, scaled)]
    if right and right is not left:
        charts.append(_lines(right, lines, _LATENCY, scaled))
        chart = alt.LayerChart(layer=charts).resolve_scale(y="independent")
    else:
        chart = charts[0]
    sized = chart.properties(width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT)
    return DrawnPlot(sized, _frame(lines), what)


def _lines(lines: Sequence[_Line], all_lines: Sequence[_Line], y_title: str, scaled: bool) -> (
    alt.Chart
):  # fmt: skip
    scale = alt.Scale(zero=False, nice=True)
    if scaled:
        low, high = np.percentile(np.concatenate([line.y for line in lines]), (5, 95))
        scale = alt.Scale(domain=[float(low), float(high) if high > low else float(low) + 1])
    labels = [line.label for line in all_lines]
    colours = iter(theme.OKABE_ITO * len(labels))
    of = [theme.BLACK if line.average else next(colours) for line in all_lines]
    colour = alt.Color(
        "label:N", title=None, sort=None, scale=alt.Scale(domain=labels, range=of)
    ).legend(symbolType="stroke")
    # More series than colours: those that share one differ in their dashes.
    rounds = [
        0 if line.average else place // len(theme.OKABE_ITO) for place, line in enumerate(all_lines)
    ]
    dashes = [list(theme.DASHES[turn % len(theme.DASHES)]) for turn in rounds]
    dash = alt.StrokeDash(
        "label:N", title=None, sort=None, scale=alt.Scale(domain=labels, range=dashes)
    )
    chart: alt.Chart = (
        alt.Chart(_frame(lines))
        .mark_line(clip=True, strokeWidth=1.5)
        .encode(
            x=alt.X("x:Q", title="Time (s)", scale=alt.Scale(nice=False)),
            y=alt.Y("y:Q", title=y_title, scale=scale),
            color=colour,
            strokeDash=dash if max(rounds) else alt.Undefined,
            size=alt.condition("datum.average", alt.value(2.5), alt.value(1.2)),
        )
    )
    return chart


def _frame(lines: Sequence[_Line]) -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame({"x": line.x, "y": line.y}).select(
            pl.lit(line.label).alias("label"), "x", "y", pl.lit(line.average).alias("average")
        )
        for line in lines
    )


def _classes(prefix: str) -> Callable[[FlentFile], list[_Line]]:
    """Every series of a kind, and their average smoothed in black."""

    def lines(file: FlentFile) -> list[_Line]:
        found = [
            _Line(name.removeprefix(prefix).strip(": ") or prefix.strip(), *_at_steps(file, name))
            for name in _measured(file, prefix)
        ]
        average = f"{prefix} avg"
        if average in file.results:
            x, y = _at_steps(file, average)
            found.append(_Line("Avg", x, _smooth(y), average=True))
        return found

    return lines


_DOWNLOADS, _UPLOADS, _PINGS = (
    _classes("TCP download"),
    _classes("TCP upload"),
    _classes("Ping (ms)"),
)


def _totals_lines(file: FlentFile, *, with_ping: bool = True) -> list[_Line]:
    summed = "TCP upload sum" in file.results
    lines = []
    for label, series in _rates(file).items():
        x, y = _at_steps(file, series)
        lines.append(_Line(label, x, _smooth(y) if summed else y))
    ping = _ping(file) if with_ping else None
    if ping:
        x, y = _at_steps(file, ping)
        smoothed = _smooth(y) if ping.endswith("avg") else y
        lines.append(_Line("Ping (ms)", x, smoothed, second_axis=True))
    return lines


def _totals(file: FlentFile) -> DrawnPlot:
    return _over_time(_totals_lines(file), _RATE, what="Bandwidth and latency")


def _totals_scaled(file: FlentFile) -> DrawnPlot:
    return _over_time(_totals_lines(file), _RATE, scaled=True, what="Bandwidth and latency")


def _totals_bandwidth(file: FlentFile) -> DrawnPlot:
    return _over_time(_totals_lines(file, with_ping=False), _RATE, what="Bandwidth")


def _kind(lines: Callable[[FlentFile], list[_Line]], y: str, what: str, scaled: bool) -> _Drawer:
    return lambda file: _over_time(lines(file), y, scaled=scaled, what=what)


def _all(scaled: bool) -> _Drawer:
    """Three panels, one above the other."""

    def draw(file: FlentFile) -> DrawnPlot:
        panels, frames = [], []
        for lines, y_title, what in (
            (_DOWNLOADS(file), f"Download ({_RATE})", "download"),
            (_UPLOADS(file), f"Upload ({_RATE})", "upload"),
            (_PINGS(file), _LATENCY, "ping"),
        ):
            panel = _over_time(lines, y_title, scaled=scaled, what=what)
            panels.append(panel.chart.properties(height=_PANEL_HEIGHT))
            frames.append(panel.data.with_columns(pl.lit(what).alias("panel")))
        chart = alt.vconcat(*panels).resolve_scale(color="independent", x="shared")
        return DrawnPlot(chart, pl.concat(frames), "Download, upload and latency")

    return draw


def _raw(key: str, prefix: str, y_title: str, what: str) -> _Drawer:
    """One key of the samples, of every series that has it."""

    def draw(file: FlentFile) -> DrawnPlot:
        return _over_time(_raw_lines(file, key, prefix), y_title, what=what)

    return draw


def _raw_lines(file: FlentFile, key: str, prefix: str) -> list[_Line]:
    """From the series at the steps, or from the samples where a file has only those."""
    lines = []
    for name, samples in file.raw_values.items():
        if not name.startswith(prefix) or not _is_series(name):
            continue
        if f"{name}::{key}" in file.results:
            x, y = _at_steps(file, f"{name}::{key}")
        else:
            x, y = raw_samples(file, samples, key)
        if len(x):
            lines.append(_Line(name.removeprefix(prefix).strip(), x, y))
    return lines


def _pacing(file: FlentFile) -> DrawnPlot:
    """Both rates; a sender that does not pace has no pacing rate."""
    lines = [
        _Line(f"{line.label}: {what}", line.x, line.y)
        for key, what in (("tcp_pacing_rate", "pacing"), ("tcp_delivery_rate", "delivery"))
        for line in _raw_lines(file, key, "TCP")
    ]
    return _over_time(lines, _RATE, what="TCP's rates of pacing and of delivery")


def _drops(file: FlentFile) -> DrawnPlot:
    frames = []
    for key, what in (("dropped", "drops"), ("ecn_mark", "ECN marks")):
        for line in _raw_lines(file, key, "qdisc_stats_"):
            some = line.y > 0
            frame = pl.DataFrame({"x": line.x[some], "y": line.y[some]})
            frames.append(frame.select(pl.lit(f"{line.label}: {what}").alias("label"), "x", "y"))
    if not frames:
        raise _nothing("drops")
    data = pl.concat(frames)
    labels = data["label"].unique(maintain_order=True).to_list()
    palette = theme.OKABE_ITO * (len(labels) // len(theme.OKABE_ITO) + 1)
    ends = [0.0, float(file.x_values[-1]) if file.x_values else 1.0]
    chart = (
        alt.Chart(data)
        .mark_point(clip=True, opacity=1, size=40, filled=False)
        .encode(
            x=alt.X("x:Q", title="Time (s)", scale=alt.Scale(domain=ends)),
            y=alt.Y("y:Q", title="Packets a step"),
            color=alt.Color(
                "label:N", title=None, scale=alt.Scale(domain=labels, range=palette[: len(labels)])
            ),
            shape=alt.Shape("label:N", title=None, scale=alt.Scale(domain=labels)),
        )
        .properties(width=theme.FIGURE_WIDTH, height=theme.FIGURE_HEIGHT)
    )
    return DrawnPlot(chart, data, "Packets dropped and marked in each step, where there were any")


# --- distributions ------------------------------------------------------------------------


def _cdf(only: str) -> _Drawer:
    """Latencies without the first and the last delay, when there is no load."""

    def draw(file: FlentFile) -> DrawnPlot:
        delay_s = _delay_s(file) if file.text("NAME") not in ("ping", "bursts") else 0.0
        last = (file.x_values[-1] if file.x_values else 0.0) - delay_s
        samples = []
        for series in _measured(file, f"Ping (ms){only}"):
            x, y = _at_steps(file, series)
            kept = y[(x > delay_s) & (x <= last)]
            if len(kept):
                samples.append(Sample(series.removeprefix("Ping (ms) "), "", kept))
        if not samples:
            raise _nothing("ping_cdf")
        plot = ecdf_chart(samples, x_title=_LATENCY, colour_title="Ping (ms)")
        return DrawnPlot(*plot, "Distribution of the latency under load")

    return draw


def _rtt_cdf(file: FlentFile) -> DrawnPlot:
    samples = [Sample(line.label, "", line.y) for line in _raw_lines(file, "tcp_rtt", "TCP")]
    if not samples:
        raise _nothing("tcp_rtt_cdf")
    plot = ecdf_chart(samples, x_title="TCP round trip (ms)", colour_title="TCP")
    return DrawnPlot(*plot, "Distribution of TCP's smoothed round-trip times")


def _box(columns: Callable[[FlentFile], dict[str, Floats]], what: str) -> _Drawer:
    """Boxes from the first to the third quartile, whiskers to 1.5 times that, points beyond."""

    def draw(file: FlentFile) -> DrawnPlot:
        found = {label: y for label, y in columns(file).items() if len(y)}
        if not found:
            raise _nothing(what)
        data = pl.concat(
            pl.DataFrame({"y": y}).select(pl.lit(label).alias("label"), "y")
            for label, y in found.items()
        )
        panels = []
        for ping in (False, True):
            labels = [label for label in found if label.startswith("Ping") is ping]
            if labels:
                of = data.filter(pl.col("label").is_in(labels))
                panels.append(_boxes(of, labels, _LATENCY if ping else _RATE))
        chart = alt.hconcat(*panels) if len(panels) > 1 else panels[0]
        return DrawnPlot(chart, data, what)

    return draw


def _boxes(data: pl.DataFrame, labels: list[str], y_title: str) -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(data)
        .mark_boxplot(size=34, color=theme.OKABE_ITO[0], median={"color": "white"})
        .encode(
            x=alt.X("label:N", title=None, sort=labels, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("y:Q", title=y_title, scale=alt.Scale(zero=False)),
        )
        .properties(width=110 * len(labels), height=theme.FIGURE_HEIGHT)
    )
    return chart


def _box_totals(file: FlentFile) -> dict[str, Floats]:
    columns = {label: _at_steps(file, series)[1] for label, series in _rates(file).items()}
    ping = _ping(file)
    return columns | ({"Ping (ms)": _at_steps(file, ping)[1]} if ping else {})


def _box_of(prefix: str) -> Callable[[FlentFile], dict[str, Floats]]:
    def columns(file: FlentFile) -> dict[str, Floats]:
        names = [*_measured(file, prefix), *(n for n in [f"{prefix} avg"] if n in file.results)]
        ping = "Ping " if prefix.startswith("Ping") else ""
        return {
            ping + (name.removeprefix(prefix).strip(": ") or "all"): _at_steps(file, name)[1]
            for name in names
        }

    return columns


def _ellipsis(series: str, label: str) -> _Drawer:
    """The 2-sigma covariance ellipse of throughput against latency, with the median."""

    def draw(file: FlentFile) -> DrawnPlot:
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
        data = pl.concat(
            pl.DataFrame({"x": xs, "y": ys}).select(
                pl.lit(what).alias("what"), pl.int_range(pl.len()).alias("place"), "x", "y"
            )
            for what, xs, ys in (
                ("two standard deviations", edge_x, edge_y),
                ("samples", x, y),
                ("median", np.atleast_1d(np.median(x)), np.atleast_1d(np.median(y))),
            )
        )
        chart = _ellipse_chart(data, f"{label} ({_RATE})")
        return DrawnPlot(chart, data, f"{label} against latency, covariance ellipse of 2 sigma")

    return draw


def _ellipse_chart(data: pl.DataFrame, y_title: str) -> alt.LayerChart:
    kinds = ["two standard deviations", "samples", "median"]
    colours = alt.Scale(domain=kinds, range=[theme.OKABE_ITO[0], theme.OKABE_ITO[1], theme.BLACK])
    base = alt.Chart(data).encode(
        x=alt.X("x:Q", title=f"{_LATENCY}, average", scale=alt.Scale(zero=False)),
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


# --- which test has which -----------------------------------------------------------------

_TIME = {
    "download": _kind(_DOWNLOADS, _RATE, "Download", scaled=False),
    "download_scaled": _kind(_DOWNLOADS, _RATE, "Download", scaled=True),
    "upload": _kind(_UPLOADS, _RATE, "Upload", scaled=False),
    "upload_scaled": _kind(_UPLOADS, _RATE, "Upload", scaled=True),
    "ping": _kind(_PINGS, _LATENCY, "Latency", scaled=False),
    "ping_scaled": _kind(_PINGS, _LATENCY, "Latency", scaled=True),
    "totals": _totals,
    "totals_scaled": _totals_scaled,
    "totals_bandwidth": _totals_bandwidth,
    "bandwidth": _totals_bandwidth,
    "all": _all(scaled=False),
    "all_scaled": _all(scaled=True),
}
_DRAWERS: Mapping[str, _Drawer] = {
    **_TIME,
    "ping_cdf": _cdf(""),
    "icmp_cdf": _cdf(" ICMP"),
    "box_totals": _box(_box_totals, "Totals"),
    "box_download": _box(_box_of("TCP download"), "Download"),
    "box_upload": _box(_box_of("TCP upload"), "Upload"),
    "box_ping": _box(_box_of("Ping (ms)"), "Latency"),
    "ellipsis": _ellipsis("TCP upload sum", "Upload"),
    "ellipsis_down": _ellipsis("TCP download sum", "Download"),
    "ellipsis_sum": _ellipsis("TCP totals", "Upload and download"),
    "tcp_cwnd": _raw("tcp_cwnd", "TCP", "Packets", "Congestion windows"),
    "tcp_rtt": _raw("tcp_rtt", "TCP", "Round trip (ms)", "TCP's smoothed round-trip times"),
    "tcp_rtt_cdf": _rtt_cdf,
    "tcp_pacing": _pacing,
    "backlog": _raw("backlog_bytes", "qdisc_stats_", "Backlog (bytes)", "Queue backlog"),
    "drops": _drops,
    "delay": _raw("delay", "qdisc_stats_", "Queue delay (ms)", "Queue delay, as tc prints it"),
}

_BOTH = (
    "all_scaled", "all", "totals", "totals_scaled", "download", "download_scaled", "upload",
    "upload_scaled", "ping", "ping_scaled", "ping_cdf", "icmp_cdf", "box_totals", "box_download",
    "box_upload", "box_ping",
)  # fmt: skip
_RRUL = (*_BOTH, "totals_bandwidth", "ellipsis", "ellipsis_down", "ellipsis_sum")
_ONE = ("totals", "bandwidth", "ping_cdf", "box_totals")
_ANY_TEST = ("totals",)
_OF_SOCKETS = ("tcp_cwnd", "tcp_rtt", "tcp_rtt_cdf", "tcp_pacing")
_OF_QUEUES = ("backlog", "drops", "delay")
_OF_TEST: Mapping[str, tuple[str, ...]] = {
    "rrul": _RRUL,
    "rrul_be": _RRUL,
    "rrul_be_nflows": _RRUL,
    "cubic_bbr": _BOTH,
    "rtt_fair": tuple(name for name in _BOTH if name != "icmp_cdf"),
    "tcp_1up": _ONE,
    "tcp_1down": _ONE,
    "tcp_nup": ("totals", "upload", "upload_scaled", "ping", "ping_cdf", "box_totals"),
    "tcp_ndown": ("totals", "download", "download_scaled", "ping", "ping_cdf", "box_totals"),
    "tcp_bidirectional": ("totals", "ping", "ping_cdf", "box_totals"),
    "tcp_2up_delay": ("totals",),
    "tcp_2up_square": ("totals",),
    "bursts": ("ping", "ping_cdf", "icmp_cdf", "box_ping"),
    "udp_flood": ("totals", "ping", "ping_cdf"),
    "ping": ("ping", "ping_cdf"),
}
"""The first is what is drawn when none is asked for."""
