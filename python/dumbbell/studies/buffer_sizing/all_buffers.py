"""Buffers of all sizes with greedy flows of three controllers, beyond the source's two sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dumbbell.metrics import goodput_bps, loss_ratio, mean_wait_s, utilization_bits
from dumbbell.replication import Replications
from dumbbell.report import Figure
from dumbbell.report.theme import FIGURE_WIDTH
from dumbbell.spec import Experiment
from dumbbell.stats import student_interval
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.shape import Amount, Part, Runner
from dumbbell.tables import Run

CONTROLLERS: Mapping[str, str] = MappingProxyType({"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"})
"""Linux names of the controllers, and their usual names."""
DURATION_S, WARM_UP_S = 60.0, 20.0
"""Duration of a run, and its warm-up, which is not measured."""
STARVED_KBPS = 0.1
"""Lower values are drawn at this value: a logarithmic axis has no 0."""
_LARGEST_LOG = 100.0


@dataclass(frozen=True, slots=True)
class Cell:
    """An experiment of the grid.

    Attributes:
        controller: Linux name of the controller.
        flows: Number of greedy flows.
        buffer_packets: Buffer of the bottleneck; 18 and 500 are included.
    """

    controller: str
    flows: int
    buffer_packets: int


def cells(flows: Sequence[int], buffers_packets: Sequence[int]) -> tuple[Cell, ...]:
    """Return every controller with every number of flows and every buffer."""
    return tuple(
        Cell(controller, count, packets)
        for controller in CONTROLLERS
        for count in flows
        for packets in buffers_packets
    )


@dataclass(frozen=True, slots=True)
class GridRun:
    """Numbers that a run is reduced to.

    Attributes:
        utilization: Utilization of the bottleneck, share of its rate.
        loss: Share of packets dropped there.
        wait_ms: Mean wait there.
        median_kbps: Median of the flows' goodputs.
        low_kbps: 5th percentile of the flows' goodputs.
    """

    utilization: float
    loss: float
    wait_ms: float
    median_kbps: float
    low_kbps: float


AllBuffers = Replications[Cell, GridRun]


def experiment(cell: Cell, seed: int, duration_s: float) -> Experiment:
    """Return the tree with greedy flows of one controller."""
    return arms.network(
        arms.greedy_flows(cell.flows, cell.controller),
        cell.buffer_packets,
        hosts=published.SOURCES,
        seed=seed,
        duration_s=duration_s,
        warm_up_s=WARM_UP_S * duration_s / DURATION_S,
    )


def got(run: Run) -> GridRun:
    """Return the numbers of a run."""
    flows = np.array([goodput_bps(run, name) for name in run.flow_names]) / 1e3
    return GridRun(
        utilization_bits(run, arms.BOTTLENECK),
        loss_ratio(run, arms.BOTTLENECK),
        1e3 * mean_wait_s(run, arms.BOTTLENECK),
        float(np.median(flows)),
        float(np.quantile(flows, 0.05)),
    )


class BuffersOfAllSizes(Part[AllBuffers]):
    """Buffers of all sizes, without claims: the source has two buffers only."""

    name = "buffers of all sizes"

    def __init__(self, amount: Amount[Cell]) -> None:
        """Set the cells to run."""
        self.amount = amount

    def run(self, runner: Runner) -> AllBuffers:
        """See `Part`."""
        length_s = self.amount.length_s or DURATION_S
        experiments = {cell: experiment(cell, runner.seed, length_s) for cell in self.amount.over}
        return runner.replicate(experiments, got, self.amount, task=self.name, complete=True)

    def figures(self, found: AllBuffers) -> Iterator[Figure]:
        """Draw utilization, loss, and the median and 5th percentile of goodput."""
        yield from figures(found, self.amount.length_s or DURATION_S)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A figure: a quantity times a factor; on a logarithmic axis means are geometric."""

    quantity: str
    factor: float
    y_title: str
    title: str
    caption: str
    least_flows: float | None = None
    """Share of flows with at least this goodput; None if the quantity is not per flow."""

    @property
    def is_logarithmic(self) -> bool:
        """Whether it is a flow rate."""
        return self.least_flows is not None


_FIGURES = (
    _Drawn(
        "utilization",
        100.0,
        "Utilization (%)",
        "Utilization against the buffer",
        "Greedy flows over the tree's 18 sources. This is what the rule for many flows, C T over "
        "the root of N, speaks of.",
    ),
    _Drawn(
        "loss",
        100.0,
        "Packets dropped (%)",
        "Loss against the buffer",
        "What the utilization does not show, and the paper asks about: what a smaller buffer costs "
        "in losses.",
    ),
    _Drawn(
        "median_kbps",
        1.0,
        "Goodput (kbit/s)",
        "What the median flow gets",
        "Goodput of the median flow: an equal share is 50 Mbit/s over the number of flows.",
        least_flows=0.5,
    ),
    _Drawn(
        "low_kbps",
        1.0,
        "Goodput (kbit/s)",
        "What the least favoured flows get",
        "5th percentile of the flows' goodputs. The paper's point: mean numbers hide the flows "
        f"that starve. Those that get less than {STARVED_KBPS:g} kbit/s, or nothing, stand at "
        f"{STARVED_KBPS:g}.",
        least_flows=0.95,
    ),
)
_PANELS_HEIGHT = 440
"""Height of all panels together."""
_APART = 1.05
"""Factor by which the buffers of two controllers are drawn apart, so that bars do not overlap."""


def figures(found: AllBuffers, length_s: float) -> list[Figure]:
    """Draw utilization, loss, and the median and 5th percentile of goodput by buffer size.

    Args:
        found: The results to draw.
        length_s: Length of each run, for the captions.
    """
    return [_figure(found, drawn, length_s) for drawn in _FIGURES]


def _figure(found: AllBuffers, drawn: _Drawn, length_s: float) -> Figure:
    numbers = {controller: at for at, controller in enumerate(CONTROLLERS)}
    rows = [
        {
            "flows": f"{cell.flows} flows",
            "controller": CONTROLLERS[cell.controller],
            "buffer_packets": cell.buffer_packets,
            "drawn_at": cell.buffer_packets * _APART ** (numbers[cell.controller] - 1),
            **_ends(found, drawn, cell),
        }
        for cell in found.arms
    ]
    mean = "geometric means" if drawn.is_logarithmic else "means"
    caption = (
        f"{drawn.caption} Points: {mean} of {found.n} runs of {length_s:g} s without their first "
        f"{WARM_UP_S * length_s / DURATION_S:g} s; bars: 95 % intervals of the means. Points of "
        "one buffer are drawn side by side."
    )
    name = f"{drawn.quantity.removesuffix('_kbps')}-against-buffer"
    frame = pl.DataFrame(rows)
    return Figure(name, _panels(frame, drawn, found.arms), frame, caption, title=drawn.title)


def _ends(found: AllBuffers, drawn: _Drawn, cell: Cell) -> dict[str, float]:
    """Return the mean and its interval, clipped to the range of the quantity."""
    values = drawn.factor * found.values(cell, drawn.quantity)
    if drawn.least_flows is None:
        of = student_interval(values)
        ends, least, most = (of.value, of.low, of.high), 0.0, drawn.factor
    else:
        of = student_interval(np.log(np.maximum(values, STARVED_KBPS)))
        ends = (math.exp(of.value), math.exp(of.low), math.exp(min(of.high, _LARGEST_LOG)))
        least = STARVED_KBPS
        most = published.BOTTLENECK_BPS / 1e3 / (cell.flows * drawn.least_flows)
    mean, low, high = (min(max(end, least), most) for end in ends)
    return {"mean": mean, "low": low, "high": high}


def _panels(frame: pl.DataFrame, drawn: _Drawn, cells: Sequence[Cell]) -> alt.FacetChart:
    """Draw one panel per number of flows, stacked, so that equal buffers are aligned."""
    buffers = sorted({cell.buffer_packets for cell in cells})
    counts = list(dict.fromkeys(cell.flows for cell in cells))
    x = alt.X(
        "drawn_at:Q",
        title="Buffer (packets)",
        scale=alt.Scale(type="log", domain=[buffers[0] / 1.25, buffers[-1] * 1.25], nice=False),
        # Without an explicit count Vega drops every second tick value if it finds too many.
        axis=alt.Axis(values=buffers, tickCount=len(buffers), format="d", labelOverlap=False),
    )
    # Powers of ten only: lines between them would hide the points.
    marked = [10.0**power for power in range(-1, 5)] if drawn.is_logarithmic else alt.Undefined
    y, low = (
        alt.Y(
            f"{name}:Q",
            title=drawn.y_title,
            scale=alt.Scale(type="log" if drawn.is_logarithmic else "linear", zero=False),
            axis=alt.Axis(format=",~r" if drawn.is_logarithmic else "d", values=marked),
        )
        for name in ("mean", "low")
    )
    named: dict[str, Any] = {"shorthand": "controller:N", "title": "Controller", "sort": None}
    # With the same names in the same order Vega merges the legends of colour and shape; the dashes
    # would get a second legend.
    names = alt.Scale(domain=list(CONTROLLERS.values()))
    colour, shape = alt.Color(**named, scale=names), alt.Shape(**named, scale=names)
    dash = alt.StrokeDash(**named, legend=None)
    tooltip = [
        alt.Tooltip("controller:N"),
        alt.Tooltip("flows:N"),
        alt.Tooltip("buffer_packets:Q", title="buffer, packets"),
        *(alt.Tooltip(f"{end}:Q", format=",.3~g") for end in ("mean", "low", "high")),
    ]
    base = alt.Chart().encode(x=x, color=colour)
    layers = [
        base.mark_line(strokeWidth=1.5).encode(y=y, strokeDash=dash),
        base.mark_rule(strokeWidth=2).encode(y=low, y2="high:Q"),
        base.mark_point(opacity=1, size=45).encode(y=y, shape=shape, tooltip=tooltip),
    ]
    height = _PANELS_HEIGHT / len(counts)
    return (
        alt.layer(*layers, data=frame)
        .properties(width=FIGURE_WIDTH, height=height)
        .facet(
            row=alt.Row(
                "flows:N",
                title=None,
                sort=[f"{count} flows" for count in counts],
                header=alt.Header(
                    labelOrient="top", labelAnchor="start", labelFontSize=13, labelFontWeight="bold"
                ),
            ),
            spacing=14,
        )
    )
