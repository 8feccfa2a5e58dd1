"""``comparison.plot``: the figures of a comparison, one call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dumbbell.compare import figures
from dumbbell.plots import NothingToDrawError, chart_of, delay_cdf, ping_cdf, queues_over_time

if TYPE_CHECKING:
    import altair as alt

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

    def _kept(self) -> dict[str, tuple[Run, ...]]:
        runs = figures.kept_runs(self._found)
        if not runs:
            raise NothingToDrawError("a figure of runs", "none were kept: compare(cells, keep=1)")
        return runs


def _chart(figure: Figure | None, what: str) -> alt.LayerChart:
    if figure is None:
        raise NothingToDrawError(what, "the comparison has no such numbers")
    return chart_of(figure)
