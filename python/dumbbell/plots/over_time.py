"""Figures over time: the queue with its drops, throughput and windows of flows.

They are drawn from samples, so the description must have a ``sample_interval``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.plots.capacity import with_trace_behind
from dumbbell.plots.default_choice import MOST_CURVES, bottleneck, drawn_flows, tcp_flows
from dumbbell.plots.errors import NothingToDrawError
from dumbbell.report import Curve, Figure, Plot, line_with_band
from dumbbell.report.figures import as_polars
from dumbbell.report.sampling import MAX_POINTS
from dumbbell.report.theme import FIGURE_HEIGHT, FIGURE_WIDTH, SERIES, zoom
from dumbbell.tables import Run

Floats = NDArray[np.float64]
_TIME = "Time (s)"
PANEL_HEIGHT = 130
"""Of one of several figures below each other, in CSS pixels."""
NO_SAMPLES = "the run has no samples: give its description a sample_interval, such as 100ms"


def queue_over_time(run: Run, queue: str | int | None = None) -> Figure:
    """Queue length over time, with ticks at the top for drops.

    Args:
        run: With samples.
        queue: Name or index; the one in which packets waited most when None.

    Raises:
        NothingToDrawError: The run has no samples, or nothing waited anywhere.
    """
    figure, name = _queue_over_time(run, queue)
    return with_trace_behind(figure, run, name)


def _queue_over_time(run: Run, queue: str | int | None) -> tuple[Figure, str]:
    """The figure without the trace's capacity, and the queue's name."""
    name = bottleneck(run) if queue is None else run.queue_names[run.queue(queue)]
    if name is None:
        raise NothingToDrawError("a queue over time", "no packet waited in any queue")
    at, backlog = _samples(run, "queue_samples", "backlog_pkts", queue=name)
    _, dropped = _samples(run, "queue_samples", "dropped_pkts", queue=name)
    drops = np.diff(dropped, prepend=0.0)
    together = -(-at.size // MAX_POINTS)
    at, backlog, drops = (
        _at_end(at, together), _greatest(backlog, together), _sums(drops, together),
    )  # fmt: skip
    frame = pl.DataFrame({"t_s": at, "backlog_pkts": backlog, "dropped_pkts": drops})
    caption = (
        f"Packets that wait in {name}, sampled every {_interval(run)}"
        + (f"; the most of {together} samples" if together > 1 else "")
        + ". "
        + (
            "Ticks at the top: packets were dropped just before."
            if drops.any()
            else "It dropped none."
        )
    )
    title = f"The queue {name} over time"
    return Figure("queue", _held_and_dropped(frame), frame, caption, title=title), name


def throughput_over_time(run: Run, flows: Sequence[str] | None = None) -> Figure:
    """Payload received per interval, for each flow.

    Args:
        run: With samples.
        flows: Names; if None the flows that delivered most.

    Raises:
        NothingToDrawError: The run has no samples, or no flow.
    """
    names = drawn_flows(run, flows)
    curves = []
    for name in names:
        at, total = _samples(run, "flow_samples", "delivered_payload_bytes", flow=name)
        together = max(1, -(-at.size // MAX_POINTS))
        ends, so_far = _at_end(at, together), _at_end(total, together)
        took = np.diff(ends, prepend=0.0)
        rate = 8e-6 * np.diff(so_far, prepend=0.0) / np.where(took > 0, took, np.nan)
        curves.append(Curve(name, ends, rate))
    if not curves:
        raise NothingToDrawError("throughput over time", "there is no flow")
    plot = line_with_band(
        curves, x_title=_TIME, y_title="Goodput (Mbit/s)", colour_title="Flow", points=False
    )
    figure = Figure(
        "throughput",
        *plot,
        caption=f"Payload that arrived, every {_interval(run)}." + _left_out(run, names),
        title="What each flow gets",
    )
    return with_trace_behind(figure, run, in_mbps=True)


def cwnd_over_time(run: Run, flows: Sequence[str] | None = None) -> Figure:
    """Congestion windows of TCP senders.

    Args:
        run: With samples.
        flows: Names; if None the TCP flows that delivered most.

    Raises:
        NothingToDrawError: The run has no samples, or no TCP flow.
    """
    windowed = tcp_flows(run)
    names = [name for name in drawn_flows(run, flows) if name in windowed]
    if not names:
        raise NothingToDrawError("windows over time", NO_SAMPLES if flows else "no TCP flow")
    curves = []
    for name in names:
        at, window = _samples(run, "flow_samples", "cwnd_pkts", flow=name)
        curves.append(Curve(name, at, np.where(window >= 0, window, np.nan)))
    plot = line_with_band(
        curves,
        x_title=_TIME,
        y_title="Congestion window (packets)",
        colour_title="Flow",
        points=False,
    )
    figure = Figure(
        "cwnd",
        *plot,
        caption=f"The sender's cwnd, sampled every {_interval(run)}." + _left_out(run, names),
        title="Congestion windows",
    )
    return with_trace_behind(figure, run)


def rtt_over_time(run: Run, probes: Sequence[str] | None = None) -> Figure:
    """Round-trip times of pings over their time of sending.

    Args:
        run: With answered pings.
        probes: Names; the first six when None.

    Raises:
        NothingToDrawError: No ping was answered.
    """
    names = list(run.probe_names[:MOST_CURVES] if probes is None else probes)
    curves = []
    for name in names:
        sent = run.column("probes", "sent_ns", probe=name) / 1e9
        rtt = run.column("probes", "rtt_ns", probe=name) / 1e6
        answered = rtt >= 0
        if answered.any():
            curves.append(Curve(name, sent[answered], rtt[answered]))
    if not curves:
        raise NothingToDrawError("round-trip times over time", "no ping was answered")
    plot = _lines(curves, "Round-trip time (ms)", "Ping")
    return Figure("rtt", *plot, caption="Answered pings.", title="Round-trip times of pings")


def _lines(curves: Sequence[Curve], y_title: str, colour_title: str) -> Plot:
    return line_with_band(
        curves, x_title=_TIME, y_title=y_title, colour_title=colour_title, points=False
    )


def _samples(run: Run, table: str, column: str, **of: str) -> tuple[Floats, Floats]:
    if table not in run.tables or not len(run.column(table, "t_ns")):
        raise NothingToDrawError("a figure over time", NO_SAMPLES)
    at = run.column(table, "t_ns", **of) / 1e9
    return at, np.asarray(run.column(table, column, **of), np.float64)


def _interval(run: Run) -> str:
    from dumbbell.units import format_time

    if run.spec is None:
        return "interval"
    return format_time(run.spec["sample_interval_ns"])


def _left_out(run: Run, names: Sequence[str]) -> str:
    others = len(run.flow_names) - len(names)
    return f" {others} more flows are not drawn; the tables have them." if others > 0 else ""


def _padded(values: Floats, together: int) -> Floats:
    """In rows of the given length, the last one filled up with its last value."""
    missing = -values.size % together
    return np.pad(values, (0, missing), mode="edge").reshape(-1, together)


def _at_end(values: Floats, together: int) -> Floats:
    last: Floats = _padded(values, together)[:, -1]
    return last


def _greatest(values: Floats, together: int) -> Floats:
    most: Floats = _padded(values, together).max(axis=1)
    return most


def _sums(values: Floats, together: int) -> Floats:
    missing = -values.size % together
    summed: Floats = np.pad(values, (0, missing)).reshape(-1, together).sum(axis=1)
    return summed


def _held_and_dropped(frame: pl.DataFrame) -> alt.LayerChart:
    """An area under the backlog, and a rug of drops along the top."""
    names = ["waiting", "dropped"]
    colour = alt.Color(
        "what:N", title=None, sort=None,
        scale=alt.Scale(domain=names, range=[SERIES[0], SERIES[1]]),
    )  # fmt: skip
    x = alt.X("t_s:Q", title=_TIME, scale=alt.Scale(nice=False))
    tooltip: list[Any] = [
        alt.Tooltip("t_s:Q", title="s", format=".3f"),
        alt.Tooltip("backlog_pkts:Q", title="waiting", format=",.0f"),
        alt.Tooltip("dropped_pkts:Q", title="dropped", format=",.0f"),
    ]
    held = alt.Chart(frame.with_columns(pl.lit(names[0]).alias("what")))
    layers: list[alt.Chart] = [
        held.mark_area(interpolate="step-before", line={"strokeWidth": 1.5}, clip=True)
        .encode(
            x=x,
            y=alt.Y("backlog_pkts:Q", title="Packets waiting"),
            color=colour,
            tooltip=tooltip,
        )
        .add_params(zoom("x"))
    ]
    dropping = frame.filter(pl.col("dropped_pkts") > 0)
    if dropping.height:
        top = 1.06 * float(frame["backlog_pkts"].to_numpy().max() or 1.0)
        ticks = dropping.with_columns(pl.lit(names[1]).alias("what"), pl.lit(top).alias("top"))
        layers.append(
            alt.Chart(ticks)
            .mark_tick(orient="vertical", size=14, thickness=1.5, opacity=1, clip=True)
            .encode(x=x, y=alt.Y("top:Q", title="Packets waiting"), color=colour, tooltip=tooltip)
        )
    chart = alt.LayerChart(layer=layers)
    sized: alt.LayerChart = chart.properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    return sized


def queues_over_time(runs: Mapping[str, Run], queue: str | int | None = None) -> Figure:
    """The queue of several runs, one panel below the other on one clock and one scale.

    Args:
        runs: With samples, by the name of what was compared.
        queue: Name or index; of each run the one in which packets waited most when None.

    Raises:
        NothingToDrawError: No run has samples of a queue in which packets waited.
    """
    frames, captions = [], []
    for name, run in runs.items():
        try:
            figure, _ = _queue_over_time(run, queue)
        except NothingToDrawError:
            continue
        captions.append(figure.caption)
        frames.append(
            as_polars(figure.data).select(
                pl.lit(name).alias("what"), "t_s", "backlog_pkts", "dropped_pkts"
            )
        )
    if not frames:
        raise NothingToDrawError("queues over time", "no run has samples of a queue that held any")
    frame = pl.concat(frames)
    return Figure(
        "queues",
        _panels(frame, [each["what"][0] for each in frames]),
        frame,
        caption="The first replication of each. " + captions[0],
        title="The queue over time",
    )


def _panels(frame: pl.DataFrame, names: Sequence[str]) -> alt.FacetChart:
    top = 1.06 * float(frame["backlog_pkts"].to_numpy().max() or 1.0)
    x = alt.X("t_s:Q", title=_TIME, scale=alt.Scale(nice=False))
    y = alt.Y("backlog_pkts:Q", title="Packets waiting")
    base = alt.Chart(frame)
    held = base.mark_area(interpolate="step-before", line={"strokeWidth": 1.2}).encode(x=x, y=y)
    dropped = (
        base.transform_filter(alt.datum.dropped_pkts > 0)
        .mark_tick(orient="vertical", size=12, thickness=1.5, opacity=1, color=SERIES[1])
        .encode(x=x, y=alt.datum(top))
    )
    layered = alt.layer(held, dropped).properties(width=FIGURE_WIDTH, height=PANEL_HEIGHT)
    panels: alt.FacetChart = layered.facet(
        row=alt.Row(
            "what:N",
            title=None,
            sort=list(names),
            header=alt.Header(
                labelAngle=0, labelOrient="top", labelAnchor="start", labelFontSize=12
            ),
        )
    )
    return panels
