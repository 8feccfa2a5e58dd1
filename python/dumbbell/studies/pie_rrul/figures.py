"""The source's four figures of each setting, drawn side by side; and what we add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np
import polars as pl

from dumbbell.report import Curve, Figure, IntervalRow, line_with_band, points_with_interval
from dumbbell.report.theme import zoom
from dumbbell.spec.flent import FlentTest
from dumbbell.stats import covariance_ellipse, prediction_interval
from dumbbell.studies.pie_rrul import arms
from dumbbell.studies.pie_rrul.claims import printed_at
from dumbbell.studies.pie_rrul.measures import (
    SIGMAS,
    BySetting,
    Floats,
    Measured,
    Series,
    series,
)
from dumbbell.sweep import Replications

KERNEL = "Linux kernel"
SIMULATOR = "simulator"
_MEAN_OVER_S = 1.0


@dataclass(frozen=True, slots=True)
class _Line:
    """A curve against time.

    Attributes:
        label: Of the setting.
        t_s: Ends of the steps.
        values: Shape of ``t_s``; NaN where there is none.
        style: What sets it apart from another curve of the same setting.
    """

    label: str
    t_s: Floats
    values: Floats
    style: str = ""


def of_scenario(by: BySetting, scenario: str, test: FlentTest) -> list[Figure]:
    """The source's figures of replication 0: of both test cases, or of few settings together.

    With few settings only the ellipsis and the queue delay: drawing costs more than running.
    """
    where = arms.SCENARIO_TITLES[scenario]
    if set(by.settings) < set(arms.SETTINGS):
        few = {setting.label: series(by.run(setting), test) for setting in by.settings}
        name, what = f"{scenario}-few", f"of some settings, {where}"
        return [_ellipses(few, f"ellipsis-{name}", f"Ellipsis {what}"), _delay(few, name, what)]
    made = []
    for varied, settings in arms.CASES.items():
        found = {
            f"{varied} {getattr(setting, f'{varied}_ms')} ms": series(by.run(setting), test)
            for setting in settings
        }
        made += _all(found, f"{scenario}-{varied}", f"{varied} varied, {where}")
    return made


def _all(found: Mapping[str, Series], name: str, what: str) -> list[Figure]:
    ways = [
        line
        for label, of in found.items()
        for line in (
            _Line(label, of.t_s, of.upload_mbps, "upload"),
            _Line(label, of.t_s, of.download_mbps, "download"),
        )
    ]
    return [
        _ellipses(found, f"ellipsis-{name}", f"Ellipsis, {what}"),
        _over_time(
            ways,
            f"totals-{name}",
            f"Totals, {what}",
            "Sum of the flows (Mbit/s)",
            "Payload received each second, the four uploads and the four downloads.",
        ),
        _over_time(
            [_Line(label, of.t_s, of.latency_ms) for label, of in found.items()],
            f"latency-{name}",
            f"Totals: latency, {what}",
            "Latency (ms)",
            "Mean of Flent's four latency probes, over each second.",
        ),
        _over_time(
            [_Line(label, of.t_s, of.drops_pkts / 0.2) for label, of in found.items()],
            f"drops-{name}",
            f"Packet drops, {what}",
            "Drops (packets/s)",
            "Drops of the router's queue as tc counts them, over each second.",
        ),
        _delay(found, name, what),
    ]


def _delay(found: Mapping[str, Series], name: str, what: str) -> Figure:
    return _over_time(
        [_Line(label, of.t_s, of.queue_delay_ms) for label, of in found.items()],
        f"delay-{name}",
        f"Queue delay, {what}",
        "Queue delay (ms)",
        "What PIE takes its delay for, as tc -s qdisc prints it; mean over each second.",
    )


def _over_time(lines: Iterable[_Line], name: str, title: str, y: str, caption: str) -> Figure:
    curves = []
    for line in lines:
        known = np.isfinite(line.values)
        at, mean = _each_second(line.t_s[known], line.values[known])
        curves.append(Curve(line.label, at, mean, style=line.style))
    plot = line_with_band(curves, x_title="Time (s)", y_title=y, points=False)
    return Figure(name, *plot, caption, title=title)


def _each_second(t_s: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Means over seconds, at their ends."""
    second = np.ceil(t_s / _MEAN_OVER_S - 1e-9).astype(int)
    at = np.unique(second)
    return at * _MEAN_OVER_S, np.array([values[second == each].mean() for each in at])


def _ellipses(found: Mapping[str, Series], name: str, title: str) -> Figure:
    """Upload against latency: Flent's covariance ellipse, and the point of the means."""
    rows = []
    for label, of in found.items():
        known = np.isfinite(of.latency_ms)
        x, y = of.latency_ms[known], of.upload_mbps[known]
        outline = covariance_ellipse(x, y, SIGMAS).outline()
        for place, (across, up) in enumerate(zip(*outline, strict=True)):
            rows.append({"label": label, "kind": "ellipse", "place": place, "x": across, "y": up})
        rows.append({"label": label, "kind": "mean", "place": 0, "x": x.mean(), "y": y.mean()})
    frame = pl.DataFrame(rows)
    axis = alt.Scale(zero=False, padding=12)
    channels = {
        "x": alt.X("x:Q", title="Latency (ms)", scale=axis),
        "y": alt.Y("y:Q", title="Sum of the uploads (Mbit/s)", scale=axis),
        "color": alt.Color("label:N", title=None, sort=None),
    }
    tooltip = [
        alt.Tooltip("label:N", title="setting"),
        alt.Tooltip("x:Q", title="latency (ms)", format=".2f"),
        alt.Tooltip("y:Q", title="upload (Mbit/s)", format=".2f"),
    ]
    edge = alt.Chart(frame.filter(pl.col("kind") == "ellipse")).mark_line(clip=True)
    middle = alt.Chart(frame.filter(pl.col("kind") == "mean")).mark_point(opacity=1, size=90)
    chart = alt.layer(
        edge.encode(**channels, order="place:Q").add_params(zoom()),
        middle.encode(**channels, tooltip=tooltip),
    )
    caption = (
        "Two standard deviations of the steps' values around their mean, as Flent draws it. The "
        "source read its ranges off the edges."
    )
    return Figure(name, chart, frame, caption, title=title)


def latency_rows(by: BySetting, without: Replications[arms.Setting, Measured]) -> Figure:
    """Printed latency beside ours, with the driver's ring and without."""
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


def backends(kernel: BySetting, sim: BySetting, test: FlentTest) -> Figure:
    """PIE's delay over time on both backends."""
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
    """What one could set on this router: latency, alone and under bursts.

    Args:
        found: (label, scenario) to its runs.
    """
    rows = []
    for label, scenario in found.arms:
        values = found.values((label, scenario), "latency_ms")
        one = prediction_interval(values)
        # The axis is logarithmic: an interval must not end at nothing.
        low = max(one.low, float(values.min()) / 2)
        style = arms.SCENARIO_TITLES[scenario]
        rows.append(IntervalRow(label, one.value, low, one.high, style=style))
    plot = points_with_interval(
        rows, x_title="Average latency (ms)", log_x=True, interval_title="95 % prediction interval"
    )
    caption = "Latency of the probes behind the disciplines of this router, same traffic."
    return Figure("router", *plot, caption, title="What should one set on this router?")
