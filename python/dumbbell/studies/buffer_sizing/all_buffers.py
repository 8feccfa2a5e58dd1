"""Buffers of all sizes: what greedy flows of three controllers get, beyond the source's two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dumbbell.metrics import goodput_bps, loss_ratio, mean_wait_s, utilization_bits
from dumbbell.report import Figure
from dumbbell.report.theme import FIGURE_WIDTH
from dumbbell.spec import Experiment
from dumbbell.stats import student_interval
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.reproduction import every_run
from dumbbell.tables import Run

Floats = NDArray[np.float64]
Cell = tuple[str, int, int]
"""Controller, number of flows, buffer in packets."""
CONTROLLERS: Mapping[str, str] = MappingProxyType({"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"})
"""As Linux calls them, and as people do."""
QUANTILES: Mapping[str, float] = MappingProxyType({"median_kbps": 0.5, "low_kbps": 0.05})
"""Of the flows' goodputs; the lower is what the least favoured get."""
STARVED_KBPS = 0.1
"""What less than that is drawn as: a logarithmic axis has no 0."""
_LARGEST_LOG = 100.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is run.

    Attributes:
        buffers: Packets; 18 and 500 are among them.
        flows: Numbers of flows.
        runs: Replications of each cell.
        duration_s: Of a run.
        warm_up_s: Of it, not measured.
    """

    buffers: tuple[int, ...]
    flows: tuple[int, ...]
    runs: int
    duration_s: float
    warm_up_s: float

    @property
    def cells(self) -> list[Cell]:
        """Every controller with every number of flows and every buffer."""
        return [
            (controller, count, packets)
            for controller in CONTROLLERS
            for count in self.flows
            for packets in self.buffers
        ]


def sizes(*, quick: bool) -> Sizes:
    """What a preset runs."""
    if quick:
        return Sizes((5, 18, 100, 500), (10, 100), 3, 12, 5)
    return Sizes((5, 10, 18, 40, 100, 200, 500, 1000), (10, 50, 200, 500), 5, 60, 20)


@dataclass(frozen=True, slots=True)
class AllBuffers:
    """What was measured.

    Attributes:
        values: Cell to quantity to a value a replication: ``utilization`` and ``loss`` of the
            bottleneck (shares), the ``wait_ms`` there, and `QUANTILES` of the flows' goodputs.
        wanted: What was run.
        n: Replications of each cell.
    """

    values: Mapping[Cell, Mapping[str, Floats]]
    wanted: Sizes
    n: int

    def mean(self, cell: Cell, quantity: str) -> float:
        """Mean over the replications."""
        return float(self.values[cell][quantity].mean())


def measure(options: StudyOptions, wanted: Sizes) -> AllBuffers:
    """Run every cell as often as wanted.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A run failed.
    """
    runs = options.replications or wanted.runs
    cells = {cell: experiment(cell, wanted, options.seed) for cell in wanted.cells}
    jobs = [(cell, replication) for replication in range(runs) for cell in cells]

    numbered = [(cells[cell], replication) for cell, replication in jobs]
    got = {
        jobs[place]: what_flows_get(run)
        for place, run in every_run(options, numbered, task="buffers of all sizes")
    }
    values = {
        cell: {
            quantity: np.array([got[cell, replication][quantity] for replication in range(runs)])
            for quantity in got[cell, 0]
        }
        for cell in cells
    }
    return AllBuffers(values, wanted, runs)


def experiment(cell: Cell, wanted: Sizes, seed: int) -> Experiment:
    """The tree with greedy flows of one controller."""
    controller, count, packets = cell
    return arms.network(
        arms.greedy_flows(count, controller),
        packets,
        hosts=published.SOURCES,
        seed=seed,
        duration_s=wanted.duration_s,
        warm_up_s=wanted.warm_up_s,
    )


def what_flows_get(run: Run) -> dict[str, float]:
    """The quantities of `AllBuffers`, of one run."""
    flows = np.array([goodput_bps(run, name) for name in run.flow_names]) / 1e3
    return {
        "utilization": utilization_bits(run, arms.BOTTLENECK),
        "loss": loss_ratio(run, arms.BOTTLENECK),
        "wait_ms": 1e3 * mean_wait_s(run, arms.BOTTLENECK),
        **{name: float(np.quantile(flows, level)) for name, level in QUANTILES.items()},
    }


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A figure: a quantity times a factor; on a logarithmic axis means are geometric."""

    quantity: str
    factor: float
    y_title: str
    title: str
    caption: str
    is_logarithmic: bool = False


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
        is_logarithmic=True,
    ),
    _Drawn(
        "low_kbps",
        1.0,
        "Goodput (kbit/s)",
        "What the least favoured flows get",
        "5th percentile of the flows' goodputs. The paper's point: mean numbers hide the flows "
        f"that starve. Those that get less than {STARVED_KBPS:g} kbit/s, or nothing, stand at "
        f"{STARVED_KBPS:g}.",
        is_logarithmic=True,
    ),
)
_PANELS_HEIGHT = 440
"""Of all panels together."""
_APART = 1.05
"""Factor by which the buffers of two controllers are drawn apart, so that their bars are."""


def figures(found: AllBuffers) -> list[Figure]:
    """Utilization, loss, and what the median and the least favoured flows get by the buffer."""
    return [_figure(found, drawn) for drawn in _FIGURES]


def _figure(found: AllBuffers, drawn: _Drawn) -> Figure:
    wanted = found.wanted
    rows = [
        {
            "flows": f"{count} flows",
            "controller": CONTROLLERS[controller],
            "buffer_packets": packets,
            "drawn_at": packets * _APART ** (number - 1),
            **_ends(found, drawn, (controller, count, packets)),
        }
        for count in wanted.flows
        for number, controller in enumerate(CONTROLLERS)
        for packets in wanted.buffers
    ]
    mean = "geometric means" if drawn.is_logarithmic else "means"
    caption = (
        f"{drawn.caption} Points: {mean} of {found.n} runs of {wanted.duration_s:g} s without "
        f"their first {wanted.warm_up_s:g} s; bars: 95 % intervals of the means. Points of one "
        "buffer are drawn side by side."
    )
    name = f"{drawn.quantity.removesuffix('_kbps')}-against-buffer"
    frame = pl.DataFrame(rows)
    return Figure(name, _panels(frame, drawn, wanted), frame, caption, title=drawn.title)


def _ends(found: AllBuffers, drawn: _Drawn, cell: Cell) -> dict[str, float]:
    """Mean and interval, within what the quantity can be."""
    values = drawn.factor * found.values[cell][drawn.quantity]
    if not drawn.is_logarithmic:
        of = student_interval(values)
        ends, least, most = (of.value, of.low, of.high), 0.0, drawn.factor
    else:
        of = student_interval(np.log(np.maximum(values, STARVED_KBPS)))
        ends = (math.exp(of.value), math.exp(of.low), math.exp(min(of.high, _LARGEST_LOG)))
        # All but the flows below the quantile get as much or more.
        share = 1 - QUANTILES[drawn.quantity]
        least, most = STARVED_KBPS, published.BOTTLENECK_BPS / 1e3 / (cell[1] * share)
    mean, low, high = (min(max(end, least), most) for end in ends)
    return {"mean": mean, "low": low, "high": high}


def _panels(frame: pl.DataFrame, drawn: _Drawn, wanted: Sizes) -> alt.FacetChart:
    """A panel for each number of flows, one below the other: the same buffer stands in a column."""
    buffers = wanted.buffers
    x = alt.X(
        "drawn_at:Q",
        title="Buffer (packets)",
        scale=alt.Scale(type="log", domain=[buffers[0] / 1.25, buffers[-1] * 1.25], nice=False),
        # Without the count Vega leaves out every second value that it finds too many.
        axis=alt.Axis(values=list(buffers), tickCount=len(buffers), format="d", labelOverlap=False),
    )
    # Powers of ten alone: lines between them would hide the points.
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
    # With the same names in the same order Vega makes one legend of colour and shape; that of the
    # dashes would be a second one.
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
    height = _PANELS_HEIGHT / len(wanted.flows)
    return (
        alt.layer(*layers, data=frame)
        .properties(width=FIGURE_WIDTH, height=height)
        .facet(
            row=alt.Row(
                "flows:N",
                title=None,
                sort=[f"{count} flows" for count in wanted.flows],
                header=alt.Header(
                    labelOrient="top", labelAnchor="start", labelFontSize=13, labelFontWeight="bold"
                ),
            ),
            spacing=14,
        )
    )
