"""Figures of distributions: delay at a queue, pings, completion times by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell import metrics
from dumbbell.plots.default_choice import MOST_CURVES, bottleneck
from dumbbell.plots.errors import NothingToDrawError
from dumbbell.report import Figure, Sample, ecdf_chart
from dumbbell.report.theme import FIGURE_HEIGHT, FIGURE_WIDTH, SERIES, zoom
from dumbbell.tables import Run

MOST_TRANSFERS = 2000
"""Maximum number of points of a scatter plot; more are thinned, evenly spaced by size."""

Floats = NDArray[np.float64]
Runs = Run | Mapping[str, Run] | Mapping[str, Sequence[Run]]
"""One run, or several by name: a run each, or its replications."""


def by_name(runs: Runs) -> dict[str, list[Run]]:
    """Name to runs; one run alone has the empty name."""
    if isinstance(runs, Run):
        return {"": [runs]}
    return {name: [each] if isinstance(each, Run) else list(each) for name, each in runs.items()}


def delay_cdf(runs: Runs, queue: str | int | None = None) -> Figure:
    """CDF of the sojourn time of packets at a queue, transmission included.

    Args:
        runs: One run, or several to compare; replications are pooled.
        queue: Name or index; if None the queue of each run in which packets waited most.

    Raises:
        NothingToDrawError: No packet waited in any queue.
    """
    samples, names = [], []
    for label, each in by_name(runs).items():
        chosen = next((name for run in each if (name := _queue_of(run, queue)) is not None), None)
        if chosen is None:
            continue
        names.append(chosen)
        pairs = [_delays_ms(run, chosen) for run in each]
        values = np.concatenate([value for value, _ in pairs])
        weights = np.concatenate([weight for _, weight in pairs])
        if weights.sum() > 0:
            samples.append(Sample(label or chosen, "", values, weights))
    if not samples:
        raise NothingToDrawError("delays", "no packet passed a queue in which any waited")
    which = " and ".join(dict.fromkeys(names))
    plot = ecdf_chart(
        samples, x_title="Time in the queue (ms)", y_title="Share of packets", colour_title=""
    )
    return Figure(
        "delay-cdf",
        *plot,
        caption=f"Packets' time in {which}, from arrival to the end of transmission; bins 1/128 "
        "wide.",
        title="How long packets wait",
    )


def ping_cdf(runs: Runs) -> Figure:
    """Round-trip times of answered pings; each probe, or of several runs all probes together.

    Raises:
        NothingToDrawError: No ping was answered.
    """
    samples = []
    several = by_name(runs)
    for label, each in several.items():
        for probe in [None] if label else each[0].probe_names[:MOST_CURVES]:
            asked = None if probe is None else [probe]
            rtt_ms = [metrics.ping_rtt_ms(run, asked) for run in each if run.probe_names]
            values = np.concatenate(rtt_ms) if rtt_ms else np.empty(0)
            if values.size:
                samples.append(Sample(label or str(probe), "", values))
    if not samples:
        raise NothingToDrawError("round-trip times", "no ping was answered")
    plot = ecdf_chart(
        samples, x_title="Round-trip time (ms)", y_title="Share of pings", colour_title=""
    )
    return Figure(
        "ping-cdf", *plot, caption="Answered pings of the whole run.", title="Round-trip times"
    )


def completion_by_size(run: Run) -> Figure:
    """Completion time of each transfer against its size, on logarithmic axes.

    Raises:
        NothingToDrawError: No transfer was completed.
    """
    if "transfers" not in run.tables:
        raise NothingToDrawError("completion times", "the run has no transfers")
    size = np.asarray(run.column("transfers", "bytes"), np.float64)
    took = metrics.completion_time_s(run)
    flow = run.column("transfers", "flow")
    known = np.flatnonzero((size > 0) & ~np.isnan(took))
    if not known.size:
        raise NothingToDrawError("completion times", "no transfer was completed")
    if known.size > MOST_TRANSFERS:
        known = known[np.argsort(size[known], kind="stable")]
        known = known[np.linspace(0, known.size - 1, MOST_TRANSFERS).round().astype(np.int64)]
    names = run.flow_names
    frame = pl.DataFrame(
        {
            "flow": [names[index] for index in flow[known].tolist()],
            "bytes": size[known],
            "completion_s": took[known],
        }
    )
    shown = list(dict.fromkeys(names[index] for index in flow[known].tolist()))
    # With more flows than colours the flow is only in the tooltip.
    colour = (
        alt.Color("flow:N", title="Flow", sort=None, scale=alt.Scale(domain=shown))
        if len(shown) <= MOST_CURVES
        else alt.value(SERIES[0])
    )
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_point(size=30, opacity=0.6, clip=True)
        .encode(
            x=alt.X("bytes:Q", title="Size (bytes)", scale=alt.Scale(type="log")),
            y=alt.Y("completion_s:Q", title="Completion time (s)", scale=alt.Scale(type="log")),
            color=colour,
            tooltip=["flow:N", "bytes:Q", alt.Tooltip("completion_s:Q", format=".4~g")],
        )
        .add_params(zoom())
    )
    layered = alt.LayerChart(layer=[chart]).properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    unfinished = int(np.isnan(took).sum())
    return Figure(
        "completion",
        layered,
        frame,
        caption="From the start of a transfer's connection until its receiver had all of it."
        + (f" {unfinished} had not ended with the run." if unfinished else ""),
        title="Completion times by size",
    )


def _queue_of(run: Run, queue: str | int | None) -> str | None:
    return bottleneck(run) if queue is None else run.queue_names[run.queue(queue)]


def _delays_ms(run: Run, queue: str) -> tuple[Floats, Floats]:
    high = run.column("distributions", "high", queue=queue, quantity="sojourn")
    weight = run.column("distributions", "weight", queue=queue, quantity="sojourn")
    return high / 1e6, weight
