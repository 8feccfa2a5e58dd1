"""CCPerf's tables of flows, links and networks, row by row, with additional rows.

The names are those of CCPerf's pages (ccperf.net). The suffix is the layer: ``_l7`` application,
``_l4`` transport, ``_l2`` queueing discipline, ``_l1`` wire. CCPerf's pages give most units and few
definitions; the docstrings here define each row. dumbbell adds rates relative to the policing rate,
exact values in addition to means of samples, loss ratios, the convergence time and the rows of the
network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dumbbell.metrics.ccperf import flow, link, trace
from dumbbell.metrics.ccperf import network as network_rows
from dumbbell.metrics.ccperf.network import bottlenecks, tcp_flows
from dumbbell.metrics.ccperf.recorded import RecordedFlows, recorded_flows
from dumbbell.metrics.ccperf.row import ROWS, Layer, Of, Row
from dumbbell.metrics.ccperf.series import TcpSeries, bottleneck, tcp_series
from dumbbell.metrics.ccperf.trace import Trace, recovery_times_ms
from dumbbell.tables import Run

__all__ = [
    "ROWS",
    "Layer",
    "Of",
    "RecordedFlows",
    "Row",
    "Table",
    "TcpSeries",
    "Trace",
    "bottleneck",
    "bottlenecks",
    "flow",
    "link",
    "network_rows",
    "recorded_flows",
    "recovery_times_ms",
    "tables",
    "tcp_flows",
    "tcp_series",
    "trace",
]


@dataclass(frozen=True, slots=True)
class Table:
    """Values of the rows, a column for each flow, link or network.

    Attributes:
        of: Whether columns are flows, links or networks.
        columns: Names of the columns.
        values: Values of each row, one per column; NaN if unknown.
    """

    of: Of
    columns: Sequence[str]
    values: Mapping[str, Sequence[float]]

    def best(self, name: str) -> frozenset[int]:
        """Columns with a row's best value, if there are several columns and the row has a
        preference."""
        import math

        better, values = ROWS[name].better, self.values[name]
        known = [value for value in values if math.isfinite(value)]
        if not better or len(known) < 2:
            return frozenset()
        target = max(known) if better == "greater" else min(known)
        return frozenset(index for index, value in enumerate(values) if value == target)


def tables(run: Run) -> tuple[Table, Table, Table]:
    """The tables of flows, of bottleneck links and of the network."""
    flows, queues = tcp_flows(run), bottlenecks(run)
    names = run.queue_names

    def rows(of: Of) -> list[Row]:
        return sorted((each for each in ROWS.values() if each.of == of), key=_order)

    return (
        Table("flow", flows, {r.name: [r.function(run, f) for f in flows] for r in rows("flow")}),
        Table(
            "link",
            [names[queue] for queue in queues],
            {r.name: [r.function(run, queue) for queue in queues] for r in rows("link")},
        ),
        Table("network", ["network"], {r.name: [r.function(run)] for r in rows("network")}),
    )


def _order(each: Row) -> tuple[bool, str]:
    """Sort by name, published rows first."""
    return (not each.is_published, each.name)
