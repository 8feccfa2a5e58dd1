"""The source's four figures of each setting, drawn side by side, and further figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.replication import Replications
from dumbbell.report import Curve, Figure, IntervalRow, line_with_band, points_with_interval
from dumbbell.report.direct_labels import AxisScale, LineEnd, at_line_ends
from dumbbell.report.theme import BLACK, FIGURE_HEIGHT, FIGURE_WIDTH, SERIES, WRITTEN, zoom
from dumbbell.spec.flent import FlentTest
from dumbbell.stats import covariance_ellipse, prediction_interval
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.claims import printed_at
from dumbbell.studies.pie_rrul.measures import (
    SIGMAS,
    Floats,
    Measured,
    RunsBySetting,
    Series,
    series,
)

KERNEL = "Linux kernel"
SIMULATOR = "simulator"
_MEAN_OVER_S = 1.0
_ROOM_PX = 12


@dataclass(frozen=True, slots=True)
class _Line:
    """A curve against time.

    Attributes:
        label: Name of the setting.
        t_s: Ends of the steps.
        values: Shape of ``t_s``; NaN where there is none.
        style: Distinguishes curves of the same setting.
    """

    label: str
    t_s: Floats
    values: Floats
    style: str = ""


def of_scenario(by: RunsBySetting, scenario: str, test: FlentTest) -> list[Figure]:
    """Draw the source's figures of replication 0: of both test cases, or of few settings together.

    With few settings only the ellipse and the queue delay are drawn: drawing takes longer than
    running.
    """
    where = arms.SCENARIO_TITLES[scenario]
    # The source prints numbers of the first scenario only.
    is_printed = scenario == "alone" and test.length_s == published.LENGTH_S
    if set(by.settings) < set(arms.SETTINGS):
        few = {setting.label: series(by.run(setting), test) for setting in by.settings}
        printed = {each.label: each for each in by.settings} if is_printed else {}
        name, family = f"{scenario}-few", f"Some settings, {where}"
        return [
            _ellipses(few, f"ellipsis-{name}", "Ellipsis", family, printed),
            _delay(few, name, family, printed),
        ]
    made = []
    for varied, settings in arms.CASES.items():
        labels = {
            f"{varied} {getattr(setting, f'{varied}_ms')} ms": setting for setting in settings
        }
        found = {label: series(by.run(setting), test) for label, setting in labels.items()}
        family = f"{varied} varied, {where}"
        made += _all(found, f"{scenario}-{varied}", family, labels if is_printed else {})
    return made


def _all(
    found: Mapping[str, Series], name: str, family: str, printed: Mapping[str, arms.Setting]
) -> list[Figure]:
    ways = [
        line
        for label, of in found.items()
        for line in (
            _Line(label, of.t_s, of.upload_mbps, "upload"),
            _Line(label, of.t_s, of.download_mbps, "download"),
        )
    ]
    return [
        _ellipses(found, f"ellipsis-{name}", "Ellipsis", family, printed),
        _over_time(
            ways,
            f"totals-{name}",
            "Totals",
            "Sum of the flows (Mbit/s)",
            "Payload received each second, the four uploads and the four downloads.",
            family=family,
            printed=_printed_levels(printed, "throughput"),
        ),
        _over_time(
            [_Line(label, of.t_s, of.latency_ms) for label, of in found.items()],
            f"latency-{name}",
            "Totals: latency",
            "Latency (ms)",
            "Mean of Flent's four latency probes, over each second.",
            family=family,
            printed=_printed_levels(printed, "latency"),
        ),
        _over_time(
            [_Line(label, of.t_s, of.drops_pkts / 0.2) for label, of in found.items()],
            f"drops-{name}",
            "Packet drops",
            "Drops (packets/s)",
            "Drops of the router's queue as tc counts them, over each second.",
            family=family,
        ),
        _delay(found, name, family, printed),
    ]


def _delay(
    found: Mapping[str, Series], name: str, family: str, printed: Mapping[str, arms.Setting]
) -> Figure:
    return _over_time(
        [_Line(label, of.t_s, of.queue_delay_ms) for label, of in found.items()],
        f"delay-{name}",
        "Queue delay",
        "Queue delay (ms)",
        "What PIE takes its delay for, as tc -s qdisc prints it; mean over each second.",
        family=family,
        printed=_printed_levels(printed, "queue-delay"),
    )


def _printed_levels(printed: Mapping[str, arms.Setting], name: str) -> list[float]:
    """Return the averages in the source's tables for these settings, each once."""
    return sorted({printed_at(setting, name) for setting in printed.values()})


def _over_time(
    lines: Iterable[_Line],
    name: str,
    title: str,
    y: str,
    caption: str,
    *,
    family: str = "",
    printed: Sequence[float] = (),
) -> Figure:
    curves = []
    for line in lines:
        known = np.isfinite(line.values)
        at, mean = _each_second(line.t_s[known], line.values[known])
        curves.append(Curve(line.label, at, mean, style=line.style))
    ends = [min(float(np.min(each.x)) for each in curves), max(float(np.max(c.x)) for c in curves)]
    plot = line_with_band(
        curves,
        x_title="Time (s)",
        y_title=y,
        theory=[Curve("printed average", ends, [level, level]) for level in printed],
        points=False,
    )
    if printed:
        caption = f"{caption} Thin lines are the averages that the source prints."
    return Figure(name, *plot, caption, title=title, family=family)


def _each_second(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return means over seconds, and the ends of the seconds."""
    second = np.ceil(t_s / _MEAN_OVER_S - 1e-9).astype(int)
    at = np.unique(second)
    return at * _MEAN_OVER_S, np.array([values[second == each].mean() for each in at])


def _ellipses(
    found: Mapping[str, Series],
    name: str,
    title: str,
    family: str,
    printed: Mapping[str, arms.Setting],
) -> Figure:
    """Draw upload against latency: Flent's covariance ellipse, the mean, and the source's values.

    Args:
        found: Measured series by label.
        name: Name of the figure.
        title: Title of the figure.
        family: Family of the figure.
        printed: Settings with printed averages and ranges, by label.
    """
    frame = pl.DataFrame([row for label, of in found.items() for row in _outline(label, of)])
    axis = alt.Scale(zero=False, padding=_ROOM_PX, nice=False)
    inks = dict(zip(found, SERIES, strict=False))
    colours = alt.Scale(domain=list(inks), range=list(inks.values()))
    channels = {
        "x": alt.X("x:Q", title="Latency (ms)", scale=axis),
        "y": alt.Y("y:Q", title="Sum of the uploads (Mbit/s)", scale=axis),
        "color": alt.Color("label:N", sort=None, scale=colours, legend=None),
    }
    tooltip = [
        alt.Tooltip("label:N", title="setting"),
        alt.Tooltip("x:Q", title="latency (ms)", format=".2f"),
        alt.Tooltip("y:Q", title="upload (Mbit/s)", format=".2f"),
    ]
    edge = alt.Chart(frame.filter(pl.col("kind") == "ellipse")).mark_line(clip=True)
    middle = alt.Chart(frame.filter(pl.col("kind") == "mean")).mark_point(opacity=1, size=90)
    layers = [
        edge.encode(**channels, order="place:Q").add_params(zoom()),
        middle.encode(**channels, tooltip=tooltip),
    ]
    heights = frame["y"].to_list()
    if printed:
        table = _printed_table(printed)
        layers += _printed_crosses(table, channels)
        heights += [*table["upload_low"], *table["upload_high"]]
    scale = AxisScale(min(heights), max(heights), FIGURE_HEIGHT, _ROOM_PX)
    means = frame.filter(pl.col("kind") == "mean")
    layers += at_line_ends(
        [
            LineEnd(label, ink, FIGURE_HEIGHT - float(scale.px(np.array([y]))[0]))
            for label, ink, y in zip(means["label"], WRITTEN, means["y"], strict=False)
        ],
        FIGURE_HEIGHT,
    )
    chart = alt.layer(*layers).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    caption = (
        "Two standard deviations of the steps' values around their mean, as Flent draws it. The "
        "source read its ranges off the edges."
    )
    if printed:
        caption += " Diamonds are the averages that it prints, the crosses through them the ranges."
    return Figure(name, chart, frame, caption, title=title, family=family)


def _outline(label: str, of: Series) -> list[dict[str, Any]]:
    """Return the points of the ellipse in order, and the mean."""
    known = np.isfinite(of.latency_ms)
    x, y = of.latency_ms[known], of.upload_mbps[known]
    outline = covariance_ellipse(x, y, SIGMAS).outline()
    rows = [
        {"label": label, "kind": "ellipse", "place": place, "x": across, "y": up}
        for place, (across, up) in enumerate(zip(*outline, strict=True))
    ]
    return [*rows, {"label": label, "kind": "mean", "place": 0, "x": x.mean(), "y": y.mean()}]


def _printed_table(printed: Mapping[str, arms.Setting]) -> pl.DataFrame:
    names = {
        "x": "latency",
        "y": "throughput",
        "latency_low": "latency-low",
        "latency_high": "latency-high",
        "upload_low": "throughput-low",
        "upload_high": "throughput-high",
    }
    rows = [
        {"label": label}
        | {column: float(printed_at(setting, name)) for column, name in names.items()}
        for label, setting in printed.items()
    ]
    return pl.DataFrame(rows)


def _printed_crosses(table: pl.DataFrame, channels: Mapping[str, Any]) -> list[alt.Chart]:
    """Draw averages as diamonds and ranges as a dashed cross, in the colour of the setting."""
    base = alt.Chart(table)
    x_title, y_title = "Latency (ms)", "Sum of the uploads (Mbit/s)"
    wide = {**channels, "x": alt.X("latency_low:Q", title=x_title)}
    high = {**channels, "y": alt.Y("upload_low:Q", title=y_title)}
    return [
        base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(**wide, x2="latency_high:Q"),
        base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(**high, y2="upload_high:Q"),
        base.mark_point(shape="diamond", size=130, opacity=1, stroke=BLACK, strokeWidth=1.5).encode(
            **channels
        ),
    ]


def latency_rows(by: RunsBySetting, without: Replications[arms.Setting, Measured]) -> Figure:
    """Return printed latency beside ours, with the driver's ring and without."""
    rows = []
    for setting in without.arms:
        found = {"no ring": without.values(setting, "latency_ms")}
        if setting in by.settings:
            found = {"with ring": by.values(setting, "latency_ms")} | found
        for style, values in found.items():
            one = prediction_interval(values)
            rows.append(
                IntervalRow(
                    f"{setting.target_ms} / {setting.tupdate_ms} ms",
                    one.value,
                    one.low,
                    one.high,
                    published=printed_at(setting, "latency"),
                    style=style,
                )
            )
    plot = points_with_interval(rows, x_title="Average latency (ms)")
    caption = (
        "Target / tupdate. PIE keeps its own queue at the target. What the printed latencies "
        "have above it is a queue behind PIE that it cannot see: the ring of the router's driver, "
        "whose size these latencies chose."
    )
    return Figure("latency", *plot, caption, title="Average latency, printed and ours")


def backends(kernel: RunsBySetting, sim: RunsBySetting, test: FlentTest) -> Figure:
    """Draw PIE's delay over time on both backends."""
    found = [
        (setting, where, series(of.run(setting), test))
        for where, of in ((SIMULATOR, sim), (KERNEL, kernel))
        for setting in kernel.settings
    ]
    return _over_time(
        [_Line(setting.label, of.t_s, of.queue_delay_ms, where) for setting, where, of in found],
        "delay-backends",
        "Queue delay on both backends",
        "Queue delay (ms)",
        "One replication on each backend; their random numbers differ.",
    )


def router(found: Replications[tuple[str, str], Measured]) -> Figure:
    """Draw the latency of alternatives on this router, alone and under bursts.

    Args:
        found: Runs by (label, scenario).
    """
    rows = []
    for label, scenario in found.arms:
        values = found.values((label, scenario), "latency_ms")
        one = prediction_interval(values)
        # The axis is logarithmic: an interval must not extend to zero.
        low = max(one.low, float(values.min()) / 2)
        style = arms.SCENARIO_TITLES[scenario]
        rows.append(IntervalRow(label, one.value, low, one.high, style=style))
    plot = points_with_interval(
        rows, x_title="Average latency (ms)", log_x=True, interval_title="95 % prediction interval"
    )
    caption = "Latency of the probes behind the disciplines of this router, same traffic."
    return Figure("router", *plot, caption, title="What should one set on this router?")
