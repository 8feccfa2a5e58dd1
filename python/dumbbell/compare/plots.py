"""``comparison.plot``: the figures of a comparison, one call each."""

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
    """Charts of a comparison, which a notebook shows by itself; the same as on its page.

    Those of single runs need some that were kept: ``compare(cells, keep=1)``.
    """

    def __init__(self, found: Comparison) -> None:
        """Draw nothing yet."""
        self._found = found

    def operating_points(self) -> alt.LayerChart:
        """Throughput against latency of each cell, with intervals.

        Raises:
            NothingToDrawError: There is one cell, or no such numbers.
        """
        return _chart(figures.operating_points(self._found), "operating points")

    def numbers(self, name: str = "delays") -> alt.LayerChart:
        """Each cell's numbers on their intervals.

        Args:
            name: ``delays`` or ``rates``.

        Raises:
            NothingToDrawError: There are no such numbers.
        """
        named = {each.name: each for each in figures.numbers(self._found)}
        return _chart(named.get(name), f"{name} (there are {', '.join(named) or 'none'})")

    def delay_cdf(self) -> alt.LayerChart:
        """Time in the queue in which packets waited most; see `dumbbell.plots.delay_cdf`."""
        return chart_of(delay_cdf(self._kept()))

    def ping_cdf(self) -> alt.LayerChart:
        """Round-trip times; see `dumbbell.plots.ping_cdf`."""
        return chart_of(ping_cdf(self._kept()))

    def queue(self) -> Any:
        """The queues below each other; see `dumbbell.plots.queues_over_time`."""
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
        """Of a sweep: a quantity over a parameter, with its intervals as a band.

        Args:
            x: A parameter, by its name or path, spelled in any way that leads there.
            y: A quantity, such as ``flow[bulk].goodput_bps``.
            colour: A parameter that colours tell apart.
            facet: A parameter with a small panel for each value.
            where: Parameter to the one value that is drawn, or another that sets the same.

        Raises:
            SpecError: There is no such parameter or quantity, or one parameter has no place.
            NothingToDrawError: It is no sweep, or no cell has the quantity.
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
        """Of a sweep: a quantity (``colour``) over two parameters; else as `lines`."""
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
        """Of a sweep: cells by two quantities, those marked that no other beats in both."""
        return self._swept(kind="pareto", x=x, y=y, colour=colour, facet=facet, where=where)

    def figures(self) -> dict[str, Any]:
        """Name to chart: those of a sweep's page, which its file asks for or that it has anyway.

        Raises:
            NothingToDrawError: It is no sweep.
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
