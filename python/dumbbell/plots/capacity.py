"""The capacity of a link with a trace, drawn behind figures over time."""

from __future__ import annotations

import dataclasses
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.metrics.path import resolved_of, traced_bits
from dumbbell.report import Figure
from dumbbell.report.figures import as_polars
from dumbbell.tables import Run

_AREAS = 300
"""Along the time axis: about three pixels each."""
_GREY = "#dfe3e8"


def traced_queues(run: Run) -> list[str]:
    """Names of the queues whose links have a trace with a rate."""
    if run.spec is None:
        return []
    return [queue.name for queue in resolved_of(run).queues if queue.trace is not None]


def with_trace_behind(
    figure: Figure, run: Run, queue: str | None = None, *, in_mbps: bool = False
) -> Figure:
    """The figure with a link's capacity as a grey area behind its curves.

    Args:
        figure: Over time, in seconds, with columns ``y``, or ``backlog_pkts``.
        run: What it shows.
        queue: Whose link; the first with a trace when None.
        in_mbps: Whether the figure's own axis is of Mbit/s; else the area is as high as the figure
            where the link is fastest.

    Returns:
        The same figure if no link has a trace with a rate.
    """
    names = traced_queues(run)
    name = queue if queue is not None else next(iter(names), None)
    if name is None or name not in names:
        return figure
    until_ns = resolved_of(run).duration_ns
    edges_ns = [until_ns * part // _AREAS for part in range(_AREAS + 1)]
    spans_s = np.diff(np.asarray(edges_ns, float)) / 1e9
    rate_mbps = traced_bits(run, name, edges_ns) / np.where(spans_s > 0, spans_s, 1.0) / 1e6
    if not np.isfinite(rate_mbps).all() or not rate_mbps.max() > 0:
        return figure
    top = 1.0 if in_mbps else _top(figure) / float(rate_mbps.max())
    starts_s = np.asarray(edges_ns, float) / 1e9
    rate_mbps = np.append(rate_mbps, rate_mbps[-1])
    frame = pl.DataFrame({"t_s": starts_s, "rate_mbps": rate_mbps, "height": rate_mbps * top})
    channels = _channels(figure.chart)
    area = (
        alt.Chart(frame)
        .mark_area(color=_GREY, opacity=1, line=False, interpolate="step-after", clip=True)
        .encode(
            x=alt.X("t_s:Q", **channels["x"]),
            y=alt.Y("height:Q", **channels["y"]),
            tooltip=[
                alt.Tooltip("t_s:Q", title="Time (s)", format=",.4~g"),
                alt.Tooltip("rate_mbps:Q", title=f"{name} can send (Mbit/s)", format=",.4~g"),
            ],
        )
    )
    original: Any = figure.chart
    chart = original.copy()
    chart.layer = [area, *chart.layer]
    unit = "" if in_mbps else f", {float(rate_mbps.max()):.3g} Mbit/s at the top"
    caption = f"{figure.caption} Grey: what {name} can send by its trace{unit}."
    return dataclasses.replace(figure, chart=chart, caption=caption)


def _top(figure: Figure) -> float:
    """The largest value in the figure."""
    data = as_polars(figure.data)
    drawn = [column for column in ("y", "backlog_pkts") if column in data.columns]
    greatest = [data[column].cast(pl.Float64).fill_nan(None).max() for column in drawn]
    numbers = [float(each) for each in greatest if isinstance(each, float)]
    return max([*numbers, 1e-9])


def _channels(chart: Any) -> dict[str, dict[str, Any]]:
    """Titles, scales and axes of the first layer, so that the area shares them."""
    first = chart.layer[0].encoding
    found = {}
    for name in ("x", "y"):
        channel = getattr(first, name).to_dict()
        found[name] = {key: channel[key] for key in ("title", "scale", "axis") if key in channel}
    return found
