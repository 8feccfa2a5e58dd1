"""From the runs of both buffers to the numbers that the observations are about."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import percentile_range, share_better
from dumbbell.metrics import (
    base_rtts_s,
    completion_time_s,
    loss_ratio,
    mean_wait_s,
    repeated_share,
    slowdown,
    throughput_at_receiver_bps,
    transfer_loss_ratio,
    utilization_bits,
)
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.tables import Run

Floats = NDArray[np.float64]
SIZES = ("large", "small")
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""At which the quantiles of the loss are compared."""
LATE = 0.95
"""Of the transfers, when it is about the slow ones."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The flows of one run, as the source's capture behind the bottleneck shows them.

    Flows of which fewer than two packets arrived have no duration and are left out.

    Attributes:
        throughput_kbps: Bits on an Ethernet from the first to the last packet; shape (flows,).
        loss: By the source's rule: retransmissions over packets there.
        dropped: What was really dropped, over packets sent whose fate is known.
        is_large: More than 100 kB arrived.
        base_rtt_s: Of the flow's path.
        bytes: Asked for; -1 without an end.
        completion_s: NaN where it was not completed.
        slowdown: Completion time over the least that the path allows.
        end_to_end_kbps: The same bits from the start of the connection to its completion.
        left_out: Flows without duration.
        mean_wait_s: At the bottleneck.
    """

    throughput_kbps: Floats
    loss: Floats
    dropped: Floats
    is_large: NDArray[np.bool_]
    base_rtt_s: Floats
    bytes: NDArray[np.int64]
    completion_s: Floats
    slowdown: Floats
    end_to_end_kbps: Floats
    left_out: int
    mean_wait_s: float

    def of(self, size: str) -> NDArray[np.bool_]:
        """Which flows are ``large`` or ``small``."""
        return self.is_large if size == "large" else ~self.is_large


def seen(run: Run) -> Seen:
    """The flows of a run."""
    arrived = run.column("transfers", "received_bytes")
    packets = run.column("transfers", "received_pkts")
    # IP packets, and what an Ethernet adds to each.
    on_wire = (arrived + 14 * packets) / np.maximum(arrived, 1)
    completion = completion_time_s(run)
    throughput = throughput_at_receiver_bps(run) * on_wire / 1e3
    kept = np.isfinite(throughput)
    flow = run.column("transfers", "flow")
    whole = 8e-3 * (arrived + 14 * packets) / completion
    return Seen(
        throughput_kbps=throughput[kept],
        loss=repeated_share(run)[kept],
        dropped=transfer_loss_ratio(run)[kept],
        is_large=(arrived > published.LARGE_BYTES)[kept],
        base_rtt_s=base_rtts_s(run)[flow][kept],
        bytes=run.column("transfers", "bytes")[kept],
        completion_s=completion[kept],
        slowdown=slowdown(run)[kept],
        end_to_end_kbps=whole[kept],
        left_out=int((~kept).sum()),
        mean_wait_s=mean_wait_s(run, arms.BOTTLENECK),
    )


def measured(runs: Mapping[str, Run], flows: Mapping[str, Seen]) -> dict[str, float]:
    """Every number of one replication of the four experiments at one point of the grid.

    Args:
        runs: ``WORKLOAD BUFFER`` to its run.
        flows: The same, reduced.
    """
    values: dict[str, float] = {}
    for workload in arms.WORKLOADS:
        for buffer in arms.BUFFERS:
            run, of = runs[f"{workload} {buffer}"], flows[f"{workload} {buffer}"]
            values |= {
                f"{workload} {buffer} {name}": value for name, value in _of_one(run, of).items()
            }
        small, large = (flows[f"{workload} {buffer}"] for buffer in arms.BUFFERS)
        values |= {f"{workload} {name}": value for name, value in _of_both(small, large).items()}
    return values | _derived(values)


def _of_one(run: Run, of: Seen) -> dict[str, float]:
    values = {
        "utilization": utilization_bits(run, arms.BOTTLENECK),
        "drop ratio": loss_ratio(run, arms.BOTTLENECK),
        "mean wait ms": 1e3 * mean_wait_s(run, arms.BOTTLENECK),
        "flows": float(of.loss.size),
        "flows without duration": float(of.left_out),
    }
    for size in SIZES:
        these = of.of(size)
        found = _of_flows(of, these) if these.any() else {}
        # Every run has the same numbers, also the one without such flows.
        values |= {f"{size} {name}": found.get(name, math.nan) for name in _OF_FLOWS}
        values[f"{size} flows"] = float(these.sum())
    values["steps"] = between_groups(of)
    return values


_OF_FLOWS = (
    "throughput range",
    "throughput",
    "loss",
    "greatest loss",
    "without loss",
    "dropped",
    "there over end to end",
    "late completion",
)


def _of_flows(of: Seen, these: NDArray[np.bool_]) -> dict[str, float]:
    """What `_OF_FLOWS` names, of some flows; the last two only where some were completed."""
    throughput, loss = of.throughput_kbps[these], of.loss[these]
    values = {
        "throughput range": percentile_range(throughput),
        "throughput": float(np.median(throughput)),
        "loss": float(np.median(loss)),
        "greatest loss": float(loss.max()),
        "without loss": float((loss == 0).mean()),
        "dropped": float(np.median(of.dropped[these])),
    }
    done = these & np.isfinite(of.completion_s)
    if done.any():
        relative = of.throughput_kbps[done] / of.end_to_end_kbps[done]
        values["there over end to end"] = float(np.median(relative))
        values["late completion"] = float(np.quantile(of.completion_s[done], LATE))
    return values


def _of_both(small: Seen, large: Seen) -> dict[str, float]:
    values = {}
    for size in SIZES:
        ours, theirs = (each.throughput_kbps[each.of(size)] for each in (large, small))
        losses = [each.loss[each.of(size)] for each in (small, large)]
        better, gaps = math.nan, np.full(len(LEVELS), math.nan)
        if ours.size and theirs.size:
            better = share_better(ours, theirs, better="higher")
            gaps = np.subtract(*(np.quantile(each, LEVELS) for each in losses))
        values[f"{size} better with large"] = better
        for level, gap in zip(LEVELS, gaps, strict=True):
            values[f"{size} loss gap {level:g}"] = float(gap)
    return values


def between_groups(of: Seen) -> float:
    """Share of the variance of the large flows' log throughput that lies between RTT groups.

    1 when flows of one round-trip time all get the same: a CDF of steps. 0 when the groups do not
    differ. NaN with fewer than two flows.
    """
    large = of.is_large
    logs = np.log(of.throughput_kbps[large])
    if logs.size < 2 or not logs.var():
        return float("nan")
    groups = of.base_rtt_s[large]
    means = {group: logs[groups == group].mean() for group in np.unique(groups)}
    fitted = np.array([means[group] for group in groups])
    return float(fitted.var() / logs.var())


def _derived(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers made of the others, of one replication at one point."""
    made = {}
    for workload in ("persistent", "closed-loop"):
        for size in ("large", "small"):
            better = values[f"{workload} {size} better with large"]
            made[f"{workload} {size} better with small"] = 1 - better
        small, large = (f"{workload} {buffer}" for buffer in ("small", "large"))
        made[f"{workload} delay saved"] = (
            values[f"{large} mean wait ms"] - values[f"{small} mean wait ms"]
        )
        made[f"{workload} drops added"] = (
            values[f"{small} drop ratio"] - values[f"{large} drop ratio"]
        )
        made[f"{workload} utilization lost"] = (
            values[f"{large} utilization"] - values[f"{small} utilization"]
        )
        for size in ("large", "small"):
            name = f"{size} there over end to end"
            made[f"{large} {size} there beyond end to end"] = values[f"{large} {name}"] - 1
    both = ("persistent", "closed-loop")
    made["utilization lost with small"] = max(made[f"{each} utilization lost"] for each in both)
    # Not Python's min, which does not see that one of them is not a number.
    of_both = [values[f"{each} large better with large"] for each in both]
    made["large better with large"] = float(np.min(of_both))
    for buffer in ("small", "large"):
        ranges = [values[f"{each} {buffer} large throughput range"] for each in both]
        made[f"{buffer} spread product"] = ranges[0] * ranges[1]
    made["persistent steps gained"] = (
        values["persistent small steps"] - values["persistent large steps"]
    )
    return made
