"""Figures of runs, one function each.

The studies contain their own figures. These are for users' experiments: from Python
(``run.plot.queue()``), on the page of ``dumbbell run``, and for comparisons of several runs.
"""

from __future__ import annotations

from dumbbell.plots.default_choice import bottleneck
from dumbbell.plots.distributions import completion_by_size, delay_cdf, ping_cdf
from dumbbell.plots.errors import NothingToDrawError
from dumbbell.plots.over_time import (
    cwnd_over_time,
    queue_over_time,
    queues_over_time,
    rtt_over_time,
    throughput_over_time,
)
from dumbbell.plots.run_plots import RunPlots, chart_of

__all__ = [
    "NothingToDrawError",
    "RunPlots",
    "bottleneck",
    "chart_of",
    "completion_by_size",
    "cwnd_over_time",
    "delay_cdf",
    "ping_cdf",
    "queue_over_time",
    "queues_over_time",
    "rtt_over_time",
    "throughput_over_time",
]
