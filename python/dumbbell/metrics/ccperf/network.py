"""Rows of the table of the network, over all its TCP flows."""

from __future__ import annotations

import numpy as np

from dumbbell.metrics.ccperf.flow import (
    mean_srtt_l4,
    mean_throughput_l4,
    total_retransmissions_l4,
    total_rtos_l4,
)
from dumbbell.metrics.ccperf.link import total_qdisc_drops_l2
from dumbbell.metrics.ccperf.row import FRACTION, row
from dumbbell.metrics.ccperf.series import bottleneck, mean
from dumbbell.metrics.path import resolved_of
from dumbbell.tables import Run

__all__ = [
    "agg_qdisc_drops_l2",
    "agg_retransmissions_l4",
    "agg_rtos_l4",
    "agg_throughput_l4",
    "jain_index_l4",
    "mean_flow_srtt_l4",
]


def tcp_flows(run: Run) -> list[str]:
    """Names of the TCP flows."""
    return [flow.name for flow in resolved_of(run).flows if flow.tcp is not None]


def bottlenecks(run: Run) -> list[int]:
    """The bottlenecks of the TCP flows, each queue once."""
    return list(dict.fromkeys(bottleneck(run, flow) for flow in tcp_flows(run)))


@row("Mbit/s", "network", "greater")
def agg_throughput_l4(run: Run) -> float:
    """Sum of the flows' throughputs (`mean_throughput_l4`)."""
    return float(np.sum([mean_throughput_l4(run, flow) for flow in tcp_flows(run)]))


@row("ms", "network", "less")
def mean_flow_srtt_l4(run: Run) -> float:
    """Mean over the flows of their mean smoothed round-trip times (`mean_srtt_l4`)."""
    return mean(np.array([mean_srtt_l4(run, flow) for flow in tcp_flows(run)]))


@row("1", "network", "greater", bounds=FRACTION)
def jain_index_l4(run: Run) -> float:
    """Jain's fairness index of the flows' throughputs: (sum x)^2 / (n sum x^2); 1 is equal."""
    x = np.array([mean_throughput_l4(run, flow) for flow in tcp_flows(run)])
    squares = float((x**2).sum())
    return float(x.sum()) ** 2 / (x.size * squares) if squares else float("nan")


@row("segments", "network", "less")
def agg_retransmissions_l4(run: Run) -> float:
    """Segments retransmitted by all flows."""
    return float(np.sum([total_retransmissions_l4(run, flow) for flow in tcp_flows(run)]))


@row("timeouts", "network", "less")
def agg_rtos_l4(run: Run) -> float:
    """Retransmission timeouts of all flows."""
    return float(np.sum([total_rtos_l4(run, flow) for flow in tcp_flows(run)]))


@row("packets", "network", "less")
def agg_qdisc_drops_l2(run: Run) -> float:
    """Packets dropped at the flows' bottlenecks."""
    return float(np.sum([total_qdisc_drops_l2(run, queue) for queue in bottlenecks(run)]))
