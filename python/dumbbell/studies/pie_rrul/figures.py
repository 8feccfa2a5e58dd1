"""The source's four figures of each setting, drawn side by side; and what we add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl

from dumbbell.report import Curve, Figure, IntervalRow, line_with_band, points_with_interval
from dumbbell.report.theme import zoom
from dumbbell.spec.flent import FlentTest
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.campaigns import Arm
from dumbbell.studies.pie_rrul.measures import Floats, Series, covariance_ellipse, series

By = Mapping[arms.Setting, Arm]
KERNEL = "Linux kernel"
SIMULATOR = "simulator"
_MEAN_OVER_S = 1.0
CASES = {"tupdate": arms.BY_TUPDATE, "target": arms.BY_TARGET}
"""What is varied to its settings: the source's two test cases."""


def of_scenario(by: By, scenario: str, test: FlentTest) -> list[Figure]:
    """The source's figures of replication 0: of both test cases, or of few settings together.

    With few settings only the ellipsis and the queue delay: drawing costs more than running.
    """
    if set(by) < set(arms.SETTINGS):
        few = {setting.label: series(arm.first, test) for setting, arm in by.items()}
        drawn = _four(few, "both", scenario)
        return [figure for figure in drawn if figure.name.startswith(("ellipsis", "delay"))]
    made = []
    for varied, settings in CASES.items():
        found = {
            f"{varied} {getattr(setting, f'{varied}_ms')} ms": series(by[setting].first, test)
            for setting in settings
        }
        made += _four(found, varied, scenario)
    return made


def _four(found: Mapping[str, Series], varied: str, scenario: str) -> list[Figure]:
    where = arms.SCENARIO_TITLES[scenario]
    name = f"{scenario}-{varied}"
    return [
        _ellipses(found, f"ellipsis-{name}", f"Ellipsis, {varied} varied, {where}"),
        _over_time(
            {key: ("upload", of.t_s, of.upload_mbps) for key, of in found.items()}
            | {f"{key}|": ("download", of.t_s, of.download_mbps) for key, of in found.items()},
            f"totals-{name}",
            f"Totals, {varied} varied, {where}",
            "Sum of the flows (Mbit/s)",
            "Payload received each second, the four uploads and the four downloads.",
        ),
        _over_time(
            {key: ("", of.t_s, of.latency_ms) for key, of in found.items()},
            f"latency-{name}",
            f"Totals: latency, {varied} varied, {where}",
            "Latency (ms)",
            "Mean of Flent's four latency probes, over each second.",
        ),
        _over_time(
            {key: ("", of.t_s, of.drops_pkts / 0.2) for key, of in found.items()},
            f"drops-{name}",
            f"Packet drops, {varied} varied, {where}",
            "Drops (packets/s)",
            "Drops of the router's queue as tc counts them, over each second.",
        ),
        _over_time(
            {key: ("", of.t_s, of.queue_delay_ms) for key, of in found.items()},
            f"delay-{name}",
            f"Queue delay, {varied} varied, {where}",
            "Queue delay (ms)",
            "What PIE takes its delay for, as tc -s qdisc prints it; mean over each second.",
        ),
    ]


def _over_time(
    found: Mapping[str, tuple[str, Floats, Floats]], name: str, title: str, y: str, caption: str
) -> Figure:
    curves = []
    for label, (style, t_s, values) in found.items():
        known = np.isfinite(values)
        at, mean = _each_second(t_s[known], values[known])
        curves.append(Curve(label.rstrip("|"), at, mean, style=style))
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
        for place, (across, up) in enumerate(zip(*covariance_ellipse(x, y), strict=True)):
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


def latency_rows(by: By, without: By) -> Figure:
    """Printed latency beside ours, with the driver's ring and without."""
    rows = []
    for setting in arms.SETTINGS:
        row = next(row for row in published.TABLES if arms.setting_of(*row) == setting)
        for of, style in ((by, "with ring"), (without, "no ring")):
            if setting in of:
                one = of[setting].one_run("latency_ms")
                rows.append(
                    IntervalRow(
                        f"{setting.target_ms} / {setting.tupdate_ms} ms",
                        one.value,
                        one.low,
                        one.high,
                        published=published.TABLES[row]["latency"],
                        style=style,
                    )
                )
    plot = points_with_interval(rows, x_title="Average latency (ms)")
    caption = (
        "Target / tupdate. PIE keeps its own queue at the target. What the printed latencies "
        "have above it is a queue behind PIE that it cannot see: the ring of the router's driver."
    )
    return Figure("latency", *plot, caption, title="Average latency, printed and ours")


def backends(kernel: Mapping[str, Arm], sim: Mapping[str, Arm], test: FlentTest) -> Figure:
    """PIE's delay over time on both backends."""
    curves = []
    for where, of in ((SIMULATOR, sim), (KERNEL, kernel)):
        for label in kernel:
            found = series(of[label].first, test)
            known = np.isfinite(found.queue_delay_ms)
            at, mean = _each_second(found.t_s[known], found.queue_delay_ms[known])
            curves.append(Curve(label, at, mean, style=where))
    plot = line_with_band(curves, x_title="Time (s)", y_title="Queue delay (ms)", points=False)
    caption = "One replication on each backend; their random numbers differ."
    return Figure("delay-backends", *plot, caption, title="Queue delay on both backends")


def router(found: Sequence[tuple[str, Arm, Arm]]) -> Figure:
    """What one could set on this router: latency against upload, alone and under bursts."""
    rows = [
        IntervalRow(label, *_ends(arm), style=style)
        for label, alone, bursts in found
        for arm, style in ((alone, "no other traffic"), (bursts, "with UDP bursts"))
    ]
    plot = points_with_interval(
        rows, x_title="Average latency (ms)", log_x=True, interval_title="95 % prediction interval"
    )
    caption = "Latency of the probes behind the disciplines of this router, same traffic."
    return Figure("router", *plot, caption, title="What should one set on this router?")


def _ends(arm: Arm) -> tuple[float, float, float]:
    one = arm.one_run("latency_ms")
    return one.value, max(one.low, float(arm.values["latency_ms"].min()) / 2), one.high
