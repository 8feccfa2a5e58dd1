"""The study's runs: the four experiments over the grid, and buffers of all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics import goodput_bps, loss_ratio, mean_wait_s, utilization_bits
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.buffer_sizing import arms
from dumbbell.studies.buffer_sizing.arms import Point
from dumbbell.studies.buffer_sizing.measured import Seen, measured, seen
from dumbbell.studies.buffer_sizing.observations import derived
from dumbbell.studies.reproduction import every_run, replications
from dumbbell.tables import Run

Floats = NDArray[np.float64]
POOLED = 3
"""Replications whose flows the CDFs show."""


@dataclass(slots=True)
class Found:
    """What was found at one point of the grid.

    Attributes:
        values: Number to a value a replication.
        flows: ``WORKLOAD BUFFER`` to the flows of the first replications.
        first: ``WORKLOAD BUFFER`` to the first run; only where asked for.
        n: Replications.
    """

    values: Mapping[str, Floats]
    flows: dict[str, list[Seen]]
    first: Mapping[str, Run]
    n: int


@dataclass(slots=True)
class _Pool:
    replications: int
    flows: dict[str, dict[int, Seen]] = field(default_factory=dict)

    def measure(self, runs: Mapping[str, Run]) -> dict[str, float]:
        reduced = {name: seen(run) for name, run in runs.items()}
        for name, run in runs.items():
            if run.replication < self.replications:
                self.flows.setdefault(name, {})[run.replication] = reduced[name]
        values = measured(runs, reduced)
        return values | derived(values)

    def ordered(self) -> dict[str, list[Seen]]:
        return {name: [of[at] for at in sorted(of)] for name, of in self.flows.items()}


def collect(
    options: StudyOptions,
    point: Point,
    *,
    runs: int,
    duration_s: float,
    keep: int = 0,
    pooled: int = 0,
    backend: str = "sim",
) -> Found:
    """Run the four experiments at one point so many times.

    Args:
        options: Seed, threads, cancellation; its ``replications`` go before ``runs``.
        point: Of the grid.
        runs: Replications.
        duration_s: Of each run.
        keep: Replications whose runs are kept.
        pooled: Replications whose flows are kept, 2 MB each and experiment.
        backend: Where.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A replication failed.
    """
    experiments = {
        f"{workload} {buffer}": arms.experiment(
            point, workload, packets, seed=options.seed, duration_s=duration_s
        )
        for workload in arms.WORKLOADS
        for buffer, packets in arms.BUFFERS.items()
    }
    pool = _Pool(pooled)
    done = replications(
        options,
        experiments,
        pool.measure,
        at_least=options.replications or runs,
        task=f"{point.stack}, {point.load} load",
        backend=backend,
        complete=True,
        keep=keep,
    )
    first = done.runs[0] if done.runs else {}
    return Found(done.values, pool.ordered(), first, done.n)


@dataclass(frozen=True, slots=True)
class Sized:
    """What greedy flows get from a buffer of some size.

    Attributes:
        utilization: Of the bottleneck.
        loss: Packets dropped there over packets offered.
        wait_ms: Mean wait there.
        median_kbps: Goodput of the median flow.
        low_kbps: 5th percentile of the flows' goodputs.
    """

    utilization: float
    loss: float
    wait_ms: float
    median_kbps: float
    low_kbps: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """The buffers, numbers of flows and lengths of the extra figure."""

    buffers: tuple[int, ...]
    flows: tuple[int, ...]
    duration_s: float
    warm_up_s: float


CONTROLLERS = ("reno", "cubic", "bbr")


def sizes(*, quick: bool) -> Sizes:
    """What the extra figure runs."""
    if quick:
        return Sizes((5, 18, 100, 500, 1000), (10, 100), 16, 6)
    return Sizes((5, 10, 18, 40, 100, 200, 500, 1000), (10, 50, 200, 500), 90, 30)


def buffers_of_all_sizes(options: StudyOptions, wanted: Sizes) -> dict[tuple[str, int, int], Sized]:
    """(controller, flows, buffer in packets) to what the flows get; one run each.

    Raises:
        Interrupted: It was stopped before it was complete.
        RunError: A run failed.
    """
    cells = [
        (controller, count, packets)
        for controller in CONTROLLERS
        for count in wanted.flows
        for packets in wanted.buffers
    ]
    jobs = [(_sized(cell, wanted, options.seed), 0) for cell in cells]
    got = {
        cells[place]: _what_flows_get(run)
        for place, run in every_run(options, jobs, task="buffers of all sizes")
    }
    return {cell: got[cell] for cell in cells}


def _sized(cell: tuple[str, int, int], wanted: Sizes, seed: int) -> Experiment:
    controller, count, packets = cell
    return arms.network(
        arms.greedy_flows(count, controller),
        packets,
        hosts=18,
        seed=seed,
        duration_s=wanted.duration_s,
        warm_up_s=wanted.warm_up_s,
    )


def _what_flows_get(run: Run) -> Sized:
    flows = np.array([goodput_bps(run, name) for name in run.flow_names]) / 1e3
    return Sized(
        utilization=utilization_bits(run, arms.BOTTLENECK),
        loss=loss_ratio(run, arms.BOTTLENECK),
        wait_ms=1e3 * mean_wait_s(run, arms.BOTTLENECK),
        median_kbps=float(np.median(flows)),
        low_kbps=float(np.quantile(flows, 0.05)),
    )
