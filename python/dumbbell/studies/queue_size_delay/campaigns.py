"""Replications of the study's runs, reduced to the numbers that claims and figures are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics import loss_ratio, max_delay_s, ping_rtt_ms, sojourn_cdf
from dumbbell.metrics.path import resolved_of
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.queue_size_delay import arms, published
from dumbbell.studies.queue_size_delay.limits import largest_delay_ms
from dumbbell.studies.reproduction import replications
from dumbbell.tables import NO_INSTANT, Run

Floats = NDArray[np.float64]

LATE = 0.9
"""Of m/mu: a packet that is delayed for longer counts as one that found the queue nearly full."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Many runs of one experiment, a value a run.

    Attributes:
        peak_ms: Greatest one-way delay of any packet of the stream, exact.
        ping_peak_ms: Greatest round-trip time that ping saw; NaN when none came back.
        loss: Share of packets that the queue turned away.
        late: Share of the packets taken that were delayed for more than `LATE` of m/mu.
        rtt_ms: Round-trip time of each ping, shape (runs, pings); NaN where lost.
        first: The first run.
    """

    peak_ms: Floats
    ping_peak_ms: Floats
    loss: Floats
    late: Floats
    rtt_ms: Floats
    first: Run

    @property
    def n(self) -> int:
        """How many runs."""
        return self.peak_ms.size


def collect(
    options: StudyOptions,
    experiments: Mapping[str, Experiment],
    runs: int,
    task: str,
    backend: str = "sim",
) -> dict[str, Arm]:
    """Run every experiment so many times; the same replication has the same arrivals in all.

    Args:
        options: Seed, threads, cancellation; its ``replications`` go before ``runs``.
        experiments: Name to experiment.
        runs: Replications.
        task: Name in the progress.
        backend: Where.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A replication failed.
    """
    rtt: dict[str, dict[int, Floats]] = {name: {} for name in experiments}

    def measure(done: Mapping[str, Run]) -> dict[str, float]:
        values = {}
        for name, run in done.items():
            rtt[name][run.replication] = _rtt_by_number(run)
            for quantity, value in _numbers(run).items():
                values[f"{quantity} {name}"] = value
        return values

    done = replications(
        options,
        experiments,
        measure,
        at_least=options.replications or runs,
        task=task,
        backend=backend,
        keep=1,
    )
    return {
        name: Arm(
            peak_ms=done.values[f"peak_ms {name}"],
            ping_peak_ms=done.values[f"ping_peak_ms {name}"],
            loss=done.values[f"loss {name}"],
            late=done.values[f"late {name}"],
            rtt_ms=np.array([rtt[name][i] for i in range(done.n)]),
            first=done.runs[0][name],
        )
        for name in experiments
    }


def _numbers(run: Run) -> dict[str, float]:
    answered = ping_rtt_ms(run)
    limit_bytes = resolved_of(run).queue(arms.QUEUE).limit_bytes or 0
    edges, share = sojourn_cdf(run, arms.QUEUE)
    level_s = LATE * largest_delay_ms(limit_bytes) / 1e3
    below = float(np.interp(level_s, edges, share)) if edges.size else float("nan")
    return {
        "peak_ms": 1e3 * max_delay_s(run, arms.FLOW),
        "ping_peak_ms": float(answered.max()) if answered.size else float("nan"),
        "loss": loss_ratio(run, arms.QUEUE),
        "late": 1.0 - below,
    }


def _rtt_by_number(run: Run) -> Floats:
    """Of each ping in order, milliseconds."""
    rtt_ms = np.full(published.PING_COUNT, np.nan)
    if run.probe_names:
        found = run.column("probes", "rtt_ns", probe=arms.PING)
        rtt_ms[: found.size] = np.where(found == NO_INSTANT, np.nan, found / 1e6)
    return rtt_ms
