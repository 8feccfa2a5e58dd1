"""The numbers of live figures, computed from a run of the command line's simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from token_levels import replay

from dumbbell.metrics import (
    loss_ratio,
    max_sojourn_s,
    mean_sojourn_s,
    mean_wait_s,
    ping_rtt_ms,
    utilization,
)
from dumbbell.metrics.ccperf.flow import mean_srtt_l4, mean_throughput_l7
from dumbbell.report.live import LiveArm
from dumbbell.stats import histogram_quantile
from dumbbell.studies.buffer_sizing import arms as sizing
from dumbbell.studies.buffer_sizing.measures import compared
from dumbbell.studies.pie_rrul.live import SETTLED
from dumbbell.studies.pie_rrul.measures import measured
from dumbbell.studies.traffic_policing import arms as policing
from dumbbell.studies.traffic_policing.live import CLIFF_S
from dumbbell.tables import Run

Number = Callable[[Run, LiveArm], float]
Together = Callable[[Mapping[str, Run], LiveArm], float]
"""Of an arm, from the runs of all by their ids."""


def queues(run: Run, arm: LiveArm) -> list[str]:
    """Those that are looked at, of the variant that was run."""
    of = zip(arm.variants, arm.queues, strict=True)
    return next(list(names) for each, names in of if each.queue_names == run.queue_names)


def sojourn_quantile_ms(run: Run, arm: LiveArm, share: float) -> float:
    """Over the packets of all its queues together."""
    own = queues(run, arm)
    low, high, weight = (
        np.concatenate(
            [run.column("distributions", name, queue=q, quantity="sojourn") for q in own]
        )
        for name in ("low", "high", "weight")
    )
    greatest = max(float(run.column("queues", "sojourn_max_ns", queue=q)[0]) for q in own)
    return min(float(histogram_quantile(low, high, weight, share)), greatest) / 1e6


def first_loss_s(run: Run, arm: LiveArm) -> float:
    """Time of the first sample that counts a loss; NaN without one."""
    (queue,) = queues(run, arm)
    t_ns, dropped = (run.column("queue_samples", n, queue=queue) for n in ("t_ns", "dropped_pkts"))
    return float(t_ns[np.argmax(dropped > 0)]) / 1e9 if dropped[-1] else math.nan


def lost_pkts(run: Run, until_s: float = math.inf) -> int:
    """Dropped at the policed end, for whatever reason."""
    t_ns = run.column("packets", "t_ns", queue=policing.QUEUE, event="drop")
    return int(np.sum(t_ns / 1e9 <= until_s))


NUMBERS: dict[str, dict[str, Number]] = {
    "statistical-multiplexing": {
        "load": lambda run, arm: max(utilization(run, each) for each in queues(run, arm)),
        "median_ms": lambda run, arm: sojourn_quantile_ms(run, arm, 0.5),
        "mean_ms": lambda run, arm: 1e3 * mean_sojourn_s(run, queues(run, arm)),
    },
    "queue-size-delay": {
        "longest_ms": lambda run, arm: 1e3 * max_sojourn_s(run, queues(run, arm)[0]),
        "longest_ping_ms": lambda run, _: float(np.max(ping_rtt_ms(run))),
        "full_s": first_loss_s,
        "lost": lambda run, arm: loss_ratio(run, queues(run, arm)[0]),
    },
    "buffer-sizing": {
        "mean_wait_ms": lambda run, arm: 1e3 * mean_wait_s(run, queues(run, arm)[0]),
        "utilization": lambda run, arm: utilization(run, queues(run, arm)[0]),
        "lost": lambda run, arm: loss_ratio(run, queues(run, arm)[0]),
    },
    "traffic-policing": {
        "dry_s": lambda run, _: replay(run, policing.QUEUE).dry_s,
        "cliff_pkts": lambda run, _: lost_pkts(run, CLIFF_S),
        "dropped_pkts": lambda run, _: lost_pkts(run),
        "used": lambda run, _: replay(run, policing.QUEUE).used,
        "goodput_mbps": lambda run, _: mean_throughput_l7(run, policing.FLOW),
        "srtt_ms": lambda run, _: mean_srtt_l4(run, policing.FLOW),
    },
    "pie-rrul": {
        "latency_ms": lambda run, _: measured(run, SETTLED).latency_ms,
        "latency_sd_ms": lambda run, _: measured(run, SETTLED).latency_sd_ms,
        "upload_mbps": lambda run, _: measured(run, SETTLED).upload_mbps,
        "upload_sd_mbps": lambda run, _: measured(run, SETTLED).upload_sd_mbps,
        "queue_delay_ms": lambda run, _: measured(run, SETTLED).queue_delay_ms,
        "drops_per_s": lambda run, _: measured(run, SETTLED).drops_per_s,
    },
}
"""Study to the numbers of its table."""


def better_here(runs: Mapping[str, Run], arm: LiveArm, size: str) -> float:
    """Share of the flows that get more from this arm's buffer, %; as the study measures it."""
    found = compared({buffer: runs[buffer] for buffer in sizing.BUFFERS})
    share = found.large_better if size == "large" else found.small_better
    return 100 * (share if arm.id == "large" else 1 - share)


TOGETHER: dict[str, dict[str, Together]] = {
    "buffer-sizing": {
        "large_more": lambda runs, arm: better_here(runs, arm, "large"),
        "small_more": lambda runs, arm: better_here(runs, arm, "small"),
    },
}
"""The same of numbers that take the runs of all arms."""
