"""Figures of a comparison: series and distributions of its runs, and its numbers with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import altair as alt
import polars as pl

from dumbbell.compare.comparison import Comparison
from dumbbell.compare.judging import Basis, Measured
from dumbbell.compare.measures import MeasureSubject, Scale
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm
from dumbbell.plots import NothingToDrawError, delay_cdf, ping_cdf, queues_over_time
from dumbbell.report import Figure, IntervalRow, points_with_interval
from dumbbell.report.theme import FIGURE_HEIGHT, FIGURE_WIDTH, SERIES, zoom
from dumbbell.tables import Run

MOST_STYLES = 4
"""Marks that can be told apart; with more cells each gets a row of its own."""
MOST_CURVES = 6
MOST_ROWS = 24

_ENDS = {
    Basis.MEAN: "95 % interval of the mean",
    Basis.GEOMETRIC: "95 % interval of the mean",
    Basis.SPREAD: "least and greatest of the ensemble",
}


def figures_of(found: Comparison) -> Iterator[Figure]:
    """The figures that the comparison has data for, most important first."""
    runs = kept_runs(found)
    makers: Sequence[Callable[[], Figure | None]] = (
        lambda: operating_points(found),
        lambda: _drawn(ping_cdf, runs),
        lambda: _drawn(delay_cdf, runs),
        lambda: _first_runs(runs),
    )
    for make in makers:
        figure = make()
        if figure is not None:
            yield figure
    yield from numbers(found)


def kept_runs(found: Comparison) -> dict[str, tuple[Run, ...]]:
    """Kept runs of each arm by name; only the first few arms."""
    arms = [arm for arm in found.arms if found.results[arm].kept][:MOST_CURVES]
    return {arm_name(found, arm): found.results[arm].kept for arm in arms}


def arm_name(found: Comparison, arm: Arm) -> str:
    """The cell's label, with the backend where there are several."""
    if len(found.backends) == 1:
        return arm.cell or found.cells[0].experiment.name
    return f"{arm.cell}, {arm.backend}" if arm.cell else arm.backend


def numbers(found: Comparison) -> Iterator[Figure]:
    """A dot plot for each kind of number: each cell's value and interval."""
    for scales, name, title in (
        ((Scale.DELAY, Scale.TAIL), "delays", "Delays"),
        ((Scale.RATE,), "rates", "Rates"),
    ):
        by_unit: dict[str, list[Quantity]] = {}
        for quantity in found.quantities:
            if quantity.measure.scale in scales:
                by_unit.setdefault(quantity.measure.shown_unit[0], []).append(quantity)
        for unit, quantities in by_unit.items():
            figure = _dots(found, quantities, unit, name, title)
            if figure is not None:
                yield figure


def latency_of(found: Comparison) -> Quantity | None:
    """The row used for latency: a ping's 95th percentile, else a queue's; None without either."""
    return _first(
        found, (MeasureSubject.PROBE, "rtt_p95_ms"), (MeasureSubject.QUEUE, "sojourn_p95_s")
    )


def goodput_of(found: Comparison) -> Quantity | None:
    """The row used for throughput: the sum of equal flows, else the first flow."""
    return _first(
        found, (MeasureSubject.FLOWS, "total_goodput_bps"), (MeasureSubject.FLOW, "goodput_bps")
    )


def operating_points(found: Comparison) -> Figure | None:
    """Throughput against latency: up and to the left is better. None without both."""
    latency, goodput = latency_of(found), goodput_of(found)
    if latency is None or goodput is None or len(found.arms) < 2:
        return None
    rows = []
    for arm in found.arms:
        x, y = (found.measured(each, arm.cell, arm.backend) for each in (latency, goodput))
        by, factor = latency.measure.shown_unit[1], goodput.measure.shown_unit[1]
        rows.append(
            {
                "what": arm_name(found, arm),
                "latency": by * x.value,
                "latency_low": by * _low(x),
                "latency_high": by * _high(x),
                "goodput": factor * y.value,
                "goodput_low": factor * _low(y),
                "goodput_high": factor * _high(y),
            }
        )
    frame = pl.DataFrame(rows)
    return Figure(
        "operating-points",
        _points(frame, _axis(latency), _axis(goodput)),
        frame,
        caption=f"{goodput.words.capitalize()} against {latency.words}, with their intervals: up "
        "and to the left is better.",
        title="What each gives and takes",
    )


def _points(frame: pl.DataFrame, x_title: str, y_title: str) -> alt.LayerChart:
    names = frame["what"].to_list()
    palette = [SERIES[number % len(SERIES)] for number in range(len(names))]
    colour = alt.Color(
        "what:N", title=None, sort=None, scale=alt.Scale(domain=names, range=palette)
    )
    x_scale, y_scale = (_from_zero(frame, name) for name in ("latency", "goodput"))
    x = alt.X("latency:Q", title=x_title, scale=x_scale)
    y = alt.Y("goodput:Q", title=y_title, scale=y_scale)
    base = alt.Chart(frame)
    layers: list[alt.Chart] = [
        base.mark_rule(strokeWidth=2, clip=True)
        .encode(
            x=alt.X("latency_low:Q", title=x_title, scale=x_scale),
            x2="latency_high:Q",
            y=y,
            color=colour,
        )
        .add_params(zoom()),
        base.mark_rule(strokeWidth=2, clip=True).encode(
            x=x,
            y=alt.Y("goodput_low:Q", title=y_title, scale=y_scale),
            y2="goodput_high:Q",
            color=colour,
        ),
        base.mark_point(size=90, opacity=1, clip=True).encode(
            x=x,
            y=y,
            color=colour,
            tooltip=[
                alt.Tooltip("what:N", title=" "),
                alt.Tooltip("latency:Q", title=x_title, format=",.4~g"),
                alt.Tooltip("goodput:Q", title=y_title, format=",.4~g"),
            ],
        ),
    ]
    chart = alt.LayerChart(layer=layers)
    sized: alt.LayerChart = chart.properties(width=FIGURE_WIDTH, height=FIGURE_HEIGHT)
    return sized


def _from_zero(frame: pl.DataFrame, name: str) -> alt.Scale:
    """An axis from zero, so that equal values look equal, to slightly above the highest end."""
    ends = [*frame[name].to_list(), *frame[f"{name}_high"].to_list()]
    highest = max((each for each in ends if each is not None and math.isfinite(each)), default=0.0)
    return alt.Scale(domain=[0.0, 1.08 * highest or 1.0], nice=False)


def _dots(
    found: Comparison, quantities: Sequence[Quantity], unit: str, name: str, title: str
) -> Figure | None:
    apart = len(found.arms) > MOST_STYLES
    rows, kinds = [], set()
    for quantity in quantities:
        factor = quantity.measure.shown_unit[1]
        for arm in found.arms:
            number = found.measured(quantity, arm.cell, arm.backend)
            if number.basis is Basis.UNDEFINED:
                continue
            kinds.add(number.basis)
            what = arm_name(found, arm)
            rows.append(
                IntervalRow(
                    f"{quantity.words}, {what}" if apart else quantity.words,
                    factor * number.value,
                    factor * number.low if number.has_ends else None,
                    factor * number.high if number.has_ends else None,
                    style="" if apart or len(found.arms) == 1 else what,
                )
            )
    if not rows:
        return None
    ends = next((_ENDS[kind] for kind in _ENDS if kind in kinds), "interval")
    shown = rows[: MOST_ROWS * (1 if apart else len(found.arms))]
    values = [row.measured for row in shown if row.measured > 0]
    wide = bool(values) and max(values) > 30 * min(values) and len(values) == len(shown)
    plot = points_with_interval(
        shown,
        x_title=f"{title} ({unit})" if unit else title,
        interval_title=ends,
        measured_title="mean",
        log_x=wide,
        coloured=True,
        break_labels_at=": ",
    )
    left = f" {len(rows) - len(shown)} more are in the table." if len(rows) > len(shown) else ""
    suffix = "" if unit in ("ms", "Mbit/s") else f"-{unit.replace('/', '-')}"
    return Figure(f"{name}{suffix}", *plot, caption=f"Bars: {ends}.{left}", title=title)


def _first_runs(runs: Mapping[str, Sequence[Run]]) -> Figure | None:
    return _drawn(queues_over_time, {name: each[0] for name, each in runs.items()})


def _drawn(make: Callable[..., Figure], runs: Mapping[str, object]) -> Figure | None:
    if not runs:
        return None
    try:
        return make(runs)
    except NothingToDrawError:
        return None


def _first(found: Comparison, *wanted: tuple[MeasureSubject, str]) -> Quantity | None:
    for of, metric in wanted:
        for quantity in found.quantities:
            if (quantity.of, quantity.metric) == (of, metric):
                return quantity
    return None


def _axis(quantity: Quantity) -> str:
    unit = quantity.measure.shown_unit[0]
    return f"{quantity.words} ({unit})" if unit else quantity.words


def _low(number: Measured) -> float:
    return number.low if number.has_ends else number.value


def _high(number: Measured) -> float:
    return number.high if number.has_ends else number.value
