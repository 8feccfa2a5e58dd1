"""Reduction of the runs with both buffers to the numbers in the observations."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dumbbell.claims import relative_spread, share_better
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
from dumbbell.replication import Replications
from dumbbell.studies.buffer_sizing import arms, published
from dumbbell.studies.buffer_sizing.arms import Buffer, Case
from dumbbell.tables import Run
from dumbbell.theory import reno_mean_window

Floats = NDArray[np.float64]
Size = Literal["large", "small"]
SIZES: tuple[Size, ...] = ("large", "small")
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantile levels at which loss is compared."""
LATE = 0.95
"""Quantile of completion times that represents slow transfers."""


@dataclass(frozen=True, slots=True, eq=False)
class Flows:
    """The flows of one run, as seen in the source's capture behind the bottleneck.

    Flows with fewer than two packets have no duration and are left out.

    Attributes:
        throughput_kbps: Bits on an Ethernet from the first to the last packet; shape (flows,).
        loss: Loss by the source's rule: retransmissions over packets in the capture.
        dropped: Actual drops, over packets sent whose fate is known.
        is_large: Whether more than 100 kB arrived.
        base_rtt_s: Base round-trip time of the flow's path.
        bytes: Transfer size; -1 if unlimited.
        completion_s: Completion time; NaN if not completed.
        slowdown: Completion time over the least that the path allows.
        end_to_end_kbps: Throughput of the same bits from the start of the connection to its
            completion.
        left_out: Number of flows without duration.
        mean_wait_s: Mean wait at the bottleneck.
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

    def of(self, size: Size) -> NDArray[np.bool_]:
        """Return which flows are large or small."""
        return self.is_large if size == "large" else ~self.is_large


@dataclass(frozen=True, slots=True)
class FlowsOfSize:
    """Large or small flows of one run; NaN where there are none.

    Attributes:
        flows: Number of flows.
        throughput_kbps: Median throughput.
        spread: 5th to 95th percentile of the throughput, relative to the median.
        loss: Median loss, by the source's rule.
        greatest_loss: Maximum loss of any flow.
        without_loss: Share of flows without loss.
        dropped: Median of actual drops.
        seen_over_whole: Median ratio of throughput at the middlebox to end-to-end throughput, over
            completed flows.
        late_completion_s: 95th percentile of the completion times.
    """

    flows: int
    throughput_kbps: float = math.nan
    spread: float = math.nan
    loss: float = math.nan
    greatest_loss: float = math.nan
    without_loss: float = math.nan
    dropped: float = math.nan
    seen_over_whole: float = math.nan
    late_completion_s: float = math.nan


@dataclass(frozen=True, slots=True)
class BufferRun:
    """One run, with one buffer.

    Attributes:
        utilization: Utilization of the bottleneck, share of its rate.
        drop_share: Share of the packets arriving there that were dropped.
        mean_wait_ms: Mean wait there.
        left_out: Number of flows with fewer than two packets.
        steps: Share of the variance of the large flows' log throughput between groups of RTT.
        large: Flows of more than 100 kB.
        small: Other flows.
        over_law: Median, over persistent flows, of throughput relative to the square-root law at
            each flow's loss rate; NaN without such flows.
    """

    utilization: float
    drop_share: float
    mean_wait_ms: float
    left_out: int
    steps: float
    large: FlowsOfSize
    small: FlowsOfSize
    over_law: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class BufferComparison:
    """One replication of a case: the same arrivals with both buffers.

    Attributes:
        small: Run with B_s.
        large: Run with B_l.
        large_better: Share of large flows with higher throughput with B_l; NaN without large flows.
        small_better: The same share of small flows.
        loss_gaps: Quantiles of the large flows' loss with B_s less those with B_l, at `LEVELS`.
        flows: Flows by buffer, for the figures; only if requested.
        runs: Runs by buffer, for the report; only if requested.
    """

    small: BufferRun
    large: BufferRun
    large_better: float
    small_better: float
    loss_gaps: Floats
    flows: Mapping[Buffer, Flows]
    runs: Mapping[Buffer, Run]


Found = Replications[Case, BufferComparison]


def compared(
    runs: Mapping[Buffer, Run], *, keep_flows: bool = False, keep_runs: bool = False
) -> BufferComparison:
    """Return the numbers of one replication of a case.

    Args:
        runs: Runs by buffer.
        keep_flows: Whether the figures need the single flows, 2 MB of each run.
        keep_runs: Whether the report needs the runs.
    """
    flows = {buffer: flows_of(run) for buffer, run in runs.items()}
    small, large = (_ran(runs[buffer], flows[buffer]) for buffer in arms.BUFFERS)
    return BufferComparison(
        small,
        large,
        _better_with_large(flows, "large"),
        _better_with_large(flows, "small"),
        _loss_gaps(flows),
        flows if keep_flows else {},
        runs if keep_runs else {},
    )


def flows_of(run: Run) -> Flows:
    """Return the flows of a run."""
    arrived = run.column("transfers", "received_bytes")
    packets = run.column("transfers", "received_pkts")
    # IP packets, and the Ethernet overhead of each.
    on_wire = (arrived + 14 * packets) / np.maximum(arrived, 1)
    completion = completion_time_s(run)
    throughput = throughput_at_receiver_bps(run) * on_wire / 1e3
    kept = np.isfinite(throughput)
    flow = run.column("transfers", "flow")
    whole = 8e-3 * (arrived + 14 * packets) / completion
    return Flows(
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


def _ran(run: Run, flows: Flows) -> BufferRun:
    return BufferRun(
        utilization=utilization_bits(run, arms.BOTTLENECK),
        drop_share=loss_ratio(run, arms.BOTTLENECK),
        mean_wait_ms=1e3 * flows.mean_wait_s,
        left_out=flows.left_out,
        steps=between_groups(flows),
        large=_of_size(flows, "large"),
        small=_of_size(flows, "small"),
        over_law=_over_law(flows),
    )


def under_the_law(of: Flows) -> NDArray[np.bool_]:
    """Return persistent flows with at least one loss: without loss the law gives no rate."""
    return of.is_large & (of.bytes < 0) & (of.dropped > 0) & (of.dropped < 1)


def by_the_law_kbps(of: Flows, these: NDArray[np.bool_]) -> Floats:
    """R = 0.87/(T sqrt(p)) packets as they are on an Ethernet; shape (flows,).

    p is the share of the flow's packets that were dropped, T its base round-trip time and the mean
    wait at the bottleneck.

    Args:
        of: Flows of one run.
        these: Selected flows; each has at least one loss.
    """
    windows = [reno_mean_window(p, packets_per_ack=2) for p in of.dropped[these].tolist()]
    rtt_s = of.base_rtt_s[these] + of.mean_wait_s
    rates: Floats = 8e-3 * arms.PACKET_BYTES * np.array(windows) / rtt_s
    return rates


def _over_law(of: Flows) -> float:
    these = under_the_law(of)
    if not these.any():
        return math.nan
    return float(np.median(of.throughput_kbps[these] / by_the_law_kbps(of, these)))


def _of_size(of: Flows, size: Size) -> FlowsOfSize:
    these = of.of(size)
    if not these.any():
        return FlowsOfSize(0)
    throughput, loss = of.throughput_kbps[these], of.loss[these]
    done = these & np.isfinite(of.completion_s)
    seen = late = math.nan
    if done.any():
        seen = float(np.median(of.throughput_kbps[done] / of.end_to_end_kbps[done]))
        late = float(np.quantile(of.completion_s[done], LATE))
    return FlowsOfSize(
        flows=int(these.sum()),
        throughput_kbps=float(np.median(throughput)),
        spread=relative_spread(throughput),
        loss=float(np.median(loss)),
        greatest_loss=float(loss.max()),
        without_loss=float((loss == 0).mean()),
        dropped=float(np.median(of.dropped[these])),
        seen_over_whole=seen,
        late_completion_s=late,
    )


def _better_with_large(flows: Mapping[Buffer, Flows], size: Size) -> float:
    small, large = (
        of.throughput_kbps[of.of(size)] for of in (flows[buffer] for buffer in arms.BUFFERS)
    )
    if not (small.size and large.size):
        return math.nan
    return share_better(large, small, better="higher")


def _loss_gaps(flows: Mapping[Buffer, Flows]) -> Floats:
    small, large = (of.loss[of.is_large] for of in (flows[buffer] for buffer in arms.BUFFERS))
    if not (small.size and large.size):
        return np.full(len(LEVELS), math.nan)
    gaps: Floats = np.quantile(small, LEVELS) - np.quantile(large, LEVELS)
    return gaps


def between_groups(of: Flows) -> float:
    """Share of the variance of the large flows' log throughput that lies between RTT groups.

    1 if all flows of one RTT have the same throughput: the CDF has steps. 0 if the groups do not
    differ. NaN with fewer than two flows.
    """
    large = of.is_large
    logs = np.log(of.throughput_kbps[large])
    if logs.size < 2 or not logs.var():
        return math.nan
    groups = of.base_rtt_s[large]
    means = {group: logs[groups == group].mean() for group in np.unique(groups)}
    fitted = np.array([means[group] for group in groups])
    return float(fitted.var() / logs.var())


def persistent_levels(of: BufferComparison) -> published.PersistentLevels:
    """Return what one replication with persistent flows would have printed."""
    return published.PersistentLevels(
        large_better_with_large=of.large_better,
        small_better_with_small=1 - of.small_better,
        large_loss=of.large.large.loss,
        small_without_loss_small=of.small.small.without_loss,
        small_without_loss_large=of.large.small.without_loss,
    )


def closed_loop_levels(of: BufferComparison) -> published.ClosedLoopLevels:
    """Return what one replication with users in closed loops would have printed."""
    return published.ClosedLoopLevels(
        large_better_with_large=of.large_better,
        small_better_with_large=of.small_better,
        large_without_loss_large=of.large.large.without_loss,
        large_greatest_loss_small=of.small.large.greatest_loss,
        small_greatest_loss_small=of.small.small.greatest_loss,
    )
