"""Figures of a sweep from their plans: data frames, captions, charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from dumbbell.compare import sweep_charts as charts
from dumbbell.compare.axes import Axis, Grid
from dumbbell.compare.comparison import Comparison
from dumbbell.compare.figures import goodput_of, latency_of
from dumbbell.compare.judging import Basis, Measured
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.replicating import Arm
from dumbbell.compare.sweep_plans import (
    BACKENDS,
    HeatMap,
    Lines,
    Parameter,
    Pareto,
    Plan,
    axis_of,
    default_plans,
)
from dumbbell.report import Figure

_ENDS = {
    Basis.MEAN: "95 % intervals of the mean",
    Basis.GEOMETRIC: "95 % intervals of the geometric mean",
    Basis.SPREAD: "the least and the greatest of the ensemble",
}


def figures_of_sweep(found: Comparison) -> Iterator[Figure]:
    """The figures that were asked for, or the default ones."""
    names: set[str] = set()
    for plan in plans_for(found):
        figure = figure_of(found, plan, names)
        if figure is not None:
            names.add(figure.name)
            yield figure


def plans_for(found: Comparison) -> Sequence[Plan]:
    """The plans of a sweep's figures."""
    if found.figures or found.grid is None:
        return found.figures
    return default_plans(found.grid, len(found.backends), latency_of(found), goodput_of(found))


def figure_of(
    found: Comparison, plan: Plan, taken: set[str] | frozenset[str] = frozenset()
) -> Figure | None:
    """One figure; None if no cell that it shows has its numbers.

    Args:
        found: A comparison with a grid.
        plan: The figure's plan.
        taken: Names that other figures have.
    """
    assert found.grid is not None
    maker = _Maker(found, found.grid, plan)
    figure = maker.figure()
    if figure is None or figure.name not in taken:
        return figure
    numbered = (f"{figure.name}-{number}" for number in range(2, len(taken) + 3))
    name = next(each for each in numbered if each not in taken)
    return Figure(name, figure.chart, figure.data, figure.caption, figure.title)


class _Maker:
    """Builds one figure."""

    def __init__(self, found: Comparison, grid: Grid, plan: Plan) -> None:
        self._found, self._grid, self._plan = found, grid, plan
        self._bases: set[Basis] = set()

    def figure(self) -> Figure | None:
        """The figure with its data and caption."""
        match self._plan:
            case Lines() as plan:
                return self._lines(plan)
            case HeatMap() as plan:
                return self._heat_map(plan)
            case Pareto() as plan:
                return self._pareto(plan)

    def _lines(self, plan: Lines) -> Figure | None:
        frame = self._frame({"y": plan.y}, {"x": plan.x})
        if not frame.height:
            return None
        x = self._axis(plan.x)
        colour, panels = self._colour(frame), self._panels(frame)
        chart = charts.lines(
            frame, x=x, y=charts.Measure.of(plan.y, frame["y"]), colour=colour, panels=panels
        )
        marks = "Bands" if x.is_numeric else "Bars"
        return Figure(
            _file_name("over", plan.y, x.name),
            chart,
            frame,
            caption=f"{_capital(plan.y.words)} over {x.name}{self._told()}. {self._ends(marks)}",
            title=plan.title or f"{_capital(plan.y.words)} over {x.name}",
        )

    def _heat_map(self, plan: HeatMap) -> Figure | None:
        frame = self._frame({"shown": plan.shown}, {"x": plan.x, "y": plan.y})
        if not frame.height:
            return None
        x, y = self._axis(plan.x), self._axis(plan.y)
        chart = charts.heat_map(
            frame,
            x=x,
            y=y,
            shown=charts.Measure.of(plan.shown, frame["shown"]),
            panels=self._panels(frame),
        )
        n = sorted({each.n for each in self._found.results.values()})
        return Figure(
            _file_name("map", plan.shown, f"{x.name}-{y.name}"),
            chart,
            frame,
            caption=f"{_capital(plan.shown.words)} by {x.name} and {y.name}{self._told()}: means "
            f"of {' to '.join(str(each) for each in dict.fromkeys((n[0], n[-1])))} runs; their "
            "intervals are in the table and in the data.",
            title=plan.title or f"{_capital(plan.shown.words)} by {x.name} and {y.name}",
        )

    def _pareto(self, plan: Pareto) -> Figure | None:
        frame = self._frame({"x": plan.x, "y": plan.y}, {})
        if not frame.height:
            return None
        frame = _with_front(frame, plan)
        chart = charts.pareto(
            frame,
            x=charts.Measure.of(plan.x, frame["x"]),
            y=charts.Measure.of(plan.y, frame["y"]),
            colour=self._colour(frame),
            panels=self._panels(frame),
        )
        better = {1: "more", -1: "less"}
        panels = " of its panel" if plan.facet is not None else ""
        return Figure(
            _file_name("front", plan.y, plan.x.metric),
            chart,
            frame,
            caption=f"Each point is a cell{self._told()}. On the line are those that no other"
            f"{panels} beats in both: {better[plan.x_sign]} {plan.x.words} and "
            f"{better[plan.y_sign]} {plan.y.words} is better, judged by the means. "
            f"{self._ends('Bars')}",
            title=plan.title or f"{_capital(plan.y.words)} against {plan.x.words}",
        )

    # --- data -----------------------------------------------------------------------------

    def _frame(
        self, quantities: dict[str, Quantity], parameters: dict[str, Parameter]
    ) -> pl.DataFrame:
        """One row per cell: label, position on the axes, and numbers with their intervals as in
        tables.

        A position is a number on a numeric axis, otherwise a word.
        """
        rows = []
        for cell in self._found.cells:
            for number, backend in enumerate(self._found.backends):
                if Arm(cell.label, backend) not in self._found.results or not self._is_in(
                    cell.place, number
                ):
                    continue
                row = self._row(cell.place, number, parameters)
                row["cell"] = cell.label
                if self._measure(row, quantities, cell.label, backend):
                    rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def _measure(
        self, row: dict[str, Any], quantities: dict[str, Quantity], cell: str, backend: str
    ) -> bool:
        """Add a cell's numbers to its row, if it has them."""
        for key, quantity in quantities.items():
            number = self._found.measured(quantity, cell, backend)
            if number.basis is Basis.UNDEFINED:
                return False
            self._bases.add(number.basis)
            factor = quantity.measure.shown_unit[1]
            low, high = _ends_of(number)
            row |= {key: factor * number.value, f"{key}_low": factor * low}
            row[f"{key}_high"] = factor * high
        return True

    def _row(
        self, place: Sequence[int], backend: int, parameters: dict[str, Parameter]
    ) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for key, parameter in parameters.items():
            axis = self._axis(parameter)
            row[key] = axis.coordinates[_index(place, backend, parameter)]
        for key, named in (("colour", self._plan.colour), ("panel", self._plan.facet)):
            if named is not None:
                axis, index = self._axis(named), _index(place, backend, named)
                row[key] = axis.label(index) if key == "colour" else _panel(axis, index)
        return row

    def _is_in(self, place: Sequence[int], backend: int) -> bool:
        """Whether the plan shows a cell; if it does not distinguish backends, only the first one's
        cells.
        """
        if any(place[parameter] != index for parameter, index in self._plan.where.items()):
            return False
        drawn = (self._plan.colour, self._plan.facet, getattr(self._plan, "x", None))
        return backend == 0 or BACKENDS in drawn

    def _axis(self, parameter: Parameter) -> Axis:
        return axis_of(self._grid, parameter, self._found.backends)

    def _colour(self, frame: pl.DataFrame) -> charts.Named | None:
        """Colours of the values in the data: values without runs do not appear in the legend."""
        if self._plan.colour is None:
            return None
        axis = self._axis(self._plan.colour)
        there = set(frame["colour"])
        labels = [axis.label(index) for index in range(len(axis.values))]
        return charts.Named(axis.name, [x for x in labels if x in there], axis.is_numeric)

    def _panels(self, frame: pl.DataFrame) -> Sequence[str]:
        if self._plan.facet is None:
            return ()
        axis = self._axis(self._plan.facet)
        there = set(frame["panel"])
        panels = [_panel(axis, index) for index in range(len(axis.values))]
        return [each for each in panels if each in there]

    # --- words ----------------------------------------------------------------------------

    def _told(self) -> str:
        """The values that are fixed, and the backend, if they are not drawn."""
        held = [
            f"{self._axis(each).name} {self._axis(each).label(index)}"
            for each, index in self._plan.where.items()
        ]
        if len(self._found.backends) > 1 and not self._is_in_all_backends:
            held.append(f"backend {self._found.backends[0]}")
        return f", at {', '.join(held)}" if held else ""

    @property
    def _is_in_all_backends(self) -> bool:
        return BACKENDS in (self._plan.colour, self._plan.facet, getattr(self._plan, "x", None))

    def _ends(self, marks: str) -> str:
        told = [words for basis, words in _ENDS.items() if basis in self._bases]
        return f"{marks}: {' or '.join(told)}." if told else "No intervals: nothing varies."


def _index(place: Sequence[int], backend: int, parameter: Parameter) -> int:
    return backend if parameter == BACKENDS else place[parameter]


def _panel(axis: Axis, index: int) -> str:
    return f"{axis.name}: {axis.label(index)}"


def _ends_of(number: Measured) -> tuple[float, float]:
    return (number.low, number.high) if number.has_ends else (number.value, number.value)


def _with_front(frame: pl.DataFrame, plan: Pareto) -> pl.DataFrame:
    """Mark the rows of each panel that are on the Pareto front."""
    panels = frame["panel"].to_list() if "panel" in frame.columns else [""] * frame.height
    xs = [plan.x_sign * each for each in frame["x"].to_list()]
    ys = [plan.y_sign * each for each in frame["y"].to_list()]
    on_front = [False] * frame.height
    best: dict[str, float] = {}
    # From the best x, and for equal x from the best y: each following point must be better in y.
    for row in sorted(range(frame.height), key=lambda row: (-xs[row], -ys[row])):
        if panels[row] not in best or ys[row] > best[panels[row]]:
            best[panels[row]] = ys[row]
            on_front[row] = True
    return frame.with_columns(pl.Series("front", on_front))


def _file_name(kind: str, quantity: Quantity, rest: str) -> str:
    words = f"{quantity.metric}-{kind}-{rest}".lower()
    return "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in words).split())[:80]


def _capital(words: str) -> str:
    """``bulk: goodput`` keeps the flow's name in lower case."""
    return words if ":" in words else words[:1].upper() + words[1:]
