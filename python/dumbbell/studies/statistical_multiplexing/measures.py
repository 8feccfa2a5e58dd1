"""Reduction of a run: mean sojourn times with the ideal source, RTTs as published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics import mean_sojourn_s, mean_system_pkts, ping_rtt_ms
from dumbbell.metrics.path import resolved_of
from dumbbell.replication import Replications
from dumbbell.stats import Estimate, difference_interval
from dumbbell.studies.statistical_multiplexing import arms, external_measurements, published
from dumbbell.tables import Run

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class IdealSourceRun:
    """A run with the ideal source.

    Attributes:
        sojourn_s: Mean time in the system, over the packets of all shaped queues.
        queue_pkts: Mean number of packets in a shaped queue, the one in transmission included.
    """

    sojourn_s: float
    queue_pkts: float


@dataclass(frozen=True, slots=True, eq=False)
class PublishedRun:
    """A run as published.

    Attributes:
        rtt_ms: The answered pings of both senders, pooled; shape (pings,).
    """

    rtt_ms: Floats

    @property
    def mean_ms(self) -> float:
        """Return their mean."""
        return float(self.rtt_ms.mean())

    def quantile_ms(self, level: float) -> float:
        """Return their quantile as R's ``quantile`` computes it."""
        return float(np.quantile(self.rtt_ms, level))


@dataclass(frozen=True, slots=True, eq=False)
class DelayComparison:
    """A mean delay on the kernel and in the simulator, one value per replication.

    Attributes:
        name: Short, unique in the study.
        what: Completes a sentence, such as ``the mean round-trip time of SM``.
        label: Name in a figure.
        kernel_ms: On the kernel, shape (replications,).
        sim_ms: In the simulator, the same replications.
    """

    name: str
    what: str
    label: str
    kernel_ms: Floats
    sim_ms: Floats

    @property
    def difference_ms(self) -> Estimate:
        """Return the mean of kernel minus simulator, by pairs."""
        return difference_interval(self.kernel_ms, self.sim_ms)


Ideal = Replications[str, IdealSourceRun]
AsPublished = Replications[str, PublishedRun]


def shaped_queues(run: Run) -> list[str]:
    """Return the names of the shaped queues: one for SM, one per stream for TDM."""
    return [name for name in run.queue_names if name.startswith(arms.SHAPED)]


def stayed(run: Run) -> IdealSourceRun:
    """Return the mean sojourn times of a run with the ideal source."""
    queues = shaped_queues(run)
    lengths = [mean_system_pkts(run, queue) for queue in queues]
    return IdealSourceRun(mean_sojourn_s(run, queues), float(np.mean(lengths)))


def pinged(run: Run) -> PublishedRun:
    """Return the round-trip times of a run as published."""
    return PublishedRun(ping_rtt_ms(run))


def quartiles_ms(run: Run) -> Floats:
    """Return the three printed quartiles of a run's round-trip times, shape (3,)."""
    return np.quantile(ping_rtt_ms(run), [0.25, 0.5, 0.75])


def means_behind_buckets_ms(run: Run) -> dict[str, float]:
    """Return the mean RTT behind each shaper measured on a real kernel, by its name.

    The run has `netem rate` there, which has no bucket.
    """
    rtt_ms = ping_rtt_ms(run)
    rate_bps = resolved_of(run).queue(shaped_queues(run)[0]).qdisc.rate_bps
    return {
        shaper.name: float(
            external_measurements.through_token_bucket(rtt_ms, shaper.burst_bytes, rate_bps).mean()
        )
        for shaper in external_measurements.SHAPERS
    }


def one_run_ms(found: AsPublished, printed: published.Printed) -> Floats:
    """Return what each replication would have printed, shape (n,)."""
    return found.values(printed.arm, lambda run: run.quantile_ms(printed.level))


def one_run_ratio(found: AsPublished) -> Floats:
    """Return the mean RTT of SM over that of TDM, from two separate runs; shape (n,).

    The source measured its arms one after the other, with independent arrivals, whereas arms of one
    replication have the same arrivals. So SM of a replication is divided by TDM of the next.
    """
    return found.values("SM", "mean_ms") / np.roll(found.values("TDM", "mean_ms"), -1)
