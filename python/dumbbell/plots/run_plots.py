"""``run.plot``: the figures of a run, one call each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dumbbell.plots import distributions, over_time
from dumbbell.report import Figure
from dumbbell.report.theme import look

if TYPE_CHECKING:
    import altair as alt

    from dumbbell.tables import Run


class RunPlots:
    """Charts of one run, which a notebook displays.

    ``run.plot.queue().save("queue.svg")`` writes one; each is the same as on the run's page.
    """

    def __init__(self, run: Run) -> None:
        """Draw nothing yet."""
        self._run = run

    def queue(self, queue: str | int | None = None) -> alt.LayerChart:
        """Queue length over time, with drops; see `dumbbell.plots.queue_over_time`."""
        return chart_of(over_time.queue_over_time(self._run, queue))

    def throughput(self, flows: Sequence[str] | None = None) -> alt.LayerChart:
        """Throughput of flows; see `dumbbell.plots.throughput_over_time`."""
        return chart_of(over_time.throughput_over_time(self._run, flows))

    def cwnd(self, flows: Sequence[str] | None = None) -> alt.LayerChart:
        """Congestion windows; see `dumbbell.plots.cwnd_over_time`."""
        return chart_of(over_time.cwnd_over_time(self._run, flows))

    def rtt(self, probes: Sequence[str] | None = None) -> alt.LayerChart:
        """Pings over time; see `dumbbell.plots.rtt_over_time`."""
        return chart_of(over_time.rtt_over_time(self._run, probes))

    def delay_cdf(self, queue: str | int | None = None) -> alt.LayerChart:
        """Time in a queue; see `dumbbell.plots.delay_cdf`."""
        return chart_of(distributions.delay_cdf(self._run, queue))

    def ping_cdf(self) -> alt.LayerChart:
        """Round-trip times; see `dumbbell.plots.ping_cdf`."""
        return chart_of(distributions.ping_cdf(self._run))

    def completion(self) -> alt.LayerChart:
        """Completion time by size; see `dumbbell.plots.completion_by_size`."""
        return chart_of(distributions.completion_by_size(self._run))


def chart_of(figure: Figure) -> alt.LayerChart:
    """The chart with the look of the page in it, whatever theme the notebook has."""
    chart: Any = figure.chart
    drawn: alt.LayerChart = chart.copy()
    drawn.config = look()
    return drawn
