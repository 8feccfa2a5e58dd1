"""``comparison.plot``: the figures of a comparison, one method each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.compare import figures
from dumbbell.plots import NothingToDrawError, chart_of, delay_cdf, ping_cdf, queues_over_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from dumbbell.compare.axes import Grid
    from dumbbell.compare.comparison import Comparison
    from dumbbell.report import Figure
    from dumbbell.tables import Run


class ComparisonPlots:
    """Charts of a comparison, the same as on its page; notebooks display them.

    Charts of single runs need runs that were kept: ``compare(cells, keep=1)``.
    """

    def __init__(self, found: Comparison) -> None:
        """Take the comparison; draws nothing yet."""
        self._found = found

    def operating_points(self) -> alt.LayerChart:
        """Throughput against latency of each cell, with intervals.

        Raises:
            NothingToDrawError: There is one cell, or it lacks these numbers.
        """
        return _chart(figures.operating_points(self._found), "operating points")

    def numbers(self, name: str = "delays") -> alt.LayerChart:
        """Each cell's numbers and intervals.

        Args:
            name: ``delays`` or ``rates``.

        Raises:
            NothingToDrawError: There are no such numbers.
        """
        named = {each.name: each for each in figures.numbers(self._found)}
        return _chart(named.get(name), f"{name} (there are {', '.join(named) or 'none'})")

    def delay_cdf(self) -> alt.LayerChart:
        """CDF of sojourn times in the queue with the longest; see `dumbbell.plots.delay_cdf`."""
        return chart_of(delay_cdf(self._kept()))

    def ping_cdf(self) -> alt.LayerChart:
        """CDF of round-trip times; see `dumbbell.plots.ping_cdf`."""
        return chart_of(ping_cdf(self._kept()))

    def queue(self) -> Any:
        """Backlog of the queues over time, one below the other; see
        `dumbbell.plots.queues_over_time`.
        """
        return chart_of(queues_over_time({name: each[0] for name, each in self._kept().items()}))

    def lines(
        self,
        x: str,
        y: str,
        *,
        colour: str | None = None,
        facet: str | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Any:
        """For a sweep: a quantity over a parameter, with intervals as a band.

        Args:
            x: A parameter's name or path, in any spelling.
            y: A quantity, such as ``flow[bulk].goodput_bps``.
            colour: A parameter shown by colour.
            facet: A parameter with one panel per value.
            where: Parameter to the one value that is drawn, in any spelling.

        Raises:
            SpecError: There is no such parameter or quantity, or a parameter that varies is not
                drawn.
            NothingToDrawError: It is not a sweep, or no cell has the quantity.
        """
        return self._swept(kind="lines", x=x, y=y, colour=colour, facet=facet, where=where)

    def heat_map(
        self,
        x: str,
        y: str,
        colour: str,
        *,
        facet: str | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Any:
        """For a sweep: a quantity (``colour``) over two parameters; arguments as in `lines`."""
        return self._swept(kind="heatmap", x=x, y=y, colour=colour, facet=facet, where=where)

    def pareto(
        self,
        x: str,
        y: str,
        *,
        colour: str | None = None,
        facet: str | None = None,
        where: Mapping[str, object] | None = None,
    ) -> Any:
        """For a sweep: cells by two quantities, with the Pareto front."""
        return self._swept(kind="pareto", x=x, y=y, colour=colour, facet=facet, where=where)

    def figures(self) -> dict[str, Any]:
        """Charts of a sweep's page by name: those its file asks for, or the default ones.

        Raises:
            NothingToDrawError: It is not a sweep.
        """
        from dumbbell.compare.sweep_figures import figures_of_sweep

        self._grid()
        return {each.name: chart_of(each) for each in figures_of_sweep(self._found)}

    def _grid(self) -> Grid:
        if self._found.grid is None:
            raise NothingToDrawError("a figure over parameters", "this is no sweep")
        return self._found.grid

    def _swept(self, **asked: Any) -> Any:
        from dumbbell.compare.sweep_figures import figure_of
        from dumbbell.compare.sweep_plans import Names, plans_of
        from dumbbell.spec.sweep_tables import FigureTable

        grid = self._grid()
        table = FigureTable.read({key: each for key, each in asked.items() if each is not None})
        cells = self._found.cells
        names = Names(each.experiment for each in (cells[0], cells[-1]))
        (plan,) = plans_of([table], grid, names, spelling=grid.spelling, chosen=cells[0].settings)
        return _chart(figure_of(self._found, plan), f"{table.y} over {table.x}")

    def _kept(self) -> dict[str, tuple[Run, ...]]:
        runs = figures.kept_runs(self._found)
        if not runs:
            raise NothingToDrawError("a figure of runs", "none were kept: compare(cells, keep=1)")
        return runs


def _chart(figure: Figure | None, what: str) -> alt.LayerChart:
    if figure is None:
        raise NothingToDrawError(what, "the comparison has no such numbers")
    return chart_of(figure)
