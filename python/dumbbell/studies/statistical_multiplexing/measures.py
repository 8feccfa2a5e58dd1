"""What a run is reduced to: mean stays with the ideal source, round-trip times as published."""

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
        """Their mean."""
        return float(self.rtt_ms.mean())

    def quantile_ms(self, level: float) -> float:
        """What R's ``quantile`` prints of them."""
        return float(np.quantile(self.rtt_ms, level))


@dataclass(frozen=True, slots=True, eq=False)
class DelayComparison:
    """A mean delay on the kernel and in the simulator, one value a replication.

    Attributes:
        name: Short, unique in the study.
        what: Completes a sentence, such as ``the mean round-trip time of SM``.
        label: For a figure.
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
        """Mean of kernel less simulator, by pairs."""
        return difference_interval(self.kernel_ms, self.sim_ms)


Ideal = Replications[str, IdealSourceRun]
AsPublished = Replications[str, PublishedRun]


def shaped_queues(run: Run) -> list[str]:
    """Names of the queues that hold packets back: one of SM, one a stream of TDM."""
    return [name for name in run.queue_names if name.startswith(arms.SHAPED)]


def stayed(run: Run) -> IdealSourceRun:
    """Mean stays of a run with the ideal source."""
    queues = shaped_queues(run)
    lengths = [mean_system_pkts(run, queue) for queue in queues]
    return IdealSourceRun(mean_sojourn_s(run, queues), float(np.mean(lengths)))


def pinged(run: Run) -> PublishedRun:
    """Round-trip times of a run as published."""
    return PublishedRun(ping_rtt_ms(run))


def quartiles_ms(run: Run) -> Floats:
    """The three printed quartiles of a run's round-trip times, shape (3,)."""
    return np.quantile(ping_rtt_ms(run), [0.25, 0.5, 0.75])


def means_behind_buckets_ms(run: Run) -> dict[str, float]:
    """Mean round-trip time behind each shaper that was measured elsewhere, by its name.

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
    """What each replication would have printed there, shape (n,)."""
    return found.values(printed.arm, lambda run: run.quantile_ms(printed.level))


def one_run_ratio(found: AsPublished) -> Floats:
    """Mean round-trip time of SM over that of TDM, as two separate runs give it; shape (n,).

    The source measured its arms one after the other, each with arrivals of its own, whereas arms
    of one replication share theirs. So SM of a replication stands over TDM of the next.
    """
    return found.values("SM", "mean_ms") / np.roll(found.values("TDM", "mean_ms"), -1)
