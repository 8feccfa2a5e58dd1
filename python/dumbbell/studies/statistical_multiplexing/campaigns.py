"""Replications of the study's experiments on one backend, reduced to numbers as they end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.metrics import mean_sojourn_s, mean_system_pkts
from dumbbell.spec import Experiment
from dumbbell.studies.base import StudyOptions
from dumbbell.studies.reproduction import Measured, replications
from dumbbell.studies.statistical_multiplexing import arms, published
from dumbbell.studies.statistical_multiplexing.ensembles import PingCollector, PingEnsemble
from dumbbell.sweep import Interrupted
from dumbbell.tables import Run


@dataclass(frozen=True, slots=True)
class IdealSize:
    """How much is run with the ideal source.

    Attributes:
        packets: Packets of a replication, all streams together; the same for any number of
            streams, since the precision of a mean delay depends on packets.
        at_least: Replications before the precision is looked at.
        at_most: Replications after which to stop anyhow.
        precision: Relative half-width of the means' intervals to reach; None runs ``at_least``.
        enlarged: Factor on sizes and rates, as `arms.ideal` has it.
    """

    packets: float
    at_least: int
    at_most: int
    precision: float | None
    enlarged: int = 1


def ideal_experiments(streams: int, size: IdealSize, seed: int) -> dict[str, Experiment]:
    """Arm to the experiment with the ideal source."""
    seconds = size.packets / (published.PACKETS_PER_SECOND * streams)
    return {
        arm: arms.ideal(arm, streams, seconds, seed, enlarged=size.enlarged)
        for arm in published.ARMS
    }


def published_experiments(seed: int, settings: Mapping[str, float]) -> dict[str, Experiment]:
    """Arm to the testbed's run, with some of its parameters changed."""
    return {
        arm: arms.as_published(arm, seed, **settings)  # type: ignore[arg-type]
        for arm in published.ARMS
    }


@dataclass(slots=True)
class Campaign:
    """Runs replications as the options say, until somebody stops it.

    Attributes:
        options: Seed, threads, cancellation.
        backend: Where.
        interrupted: Whether it was stopped; nothing more is begun then.
    """

    options: StudyOptions
    backend: str
    interrupted: bool = False

    def ideal(self, streams: int, size: IdealSize, *, times: int = 1) -> Measured:
        """Mean time in the system (s) and mean number per queue, one value a replication.

        ``T_SM``, ``T_TDM``, ``N_SM`` and ``N_TDM``, the last per queue.

        Args:
            streams: Number of streams m.
            size: How much.
            times: So many times as many replications.
        """

        def measure(runs: Mapping[str, Run]) -> dict[str, float]:
            values = {}
            for arm, run in runs.items():
                queues = arms.queues(arm, streams)
                values[f"T_{arm}"] = mean_sojourn_s(run, queues)
                lengths = [mean_system_pkts(run, queue) for queue in queues]
                values[f"N_{arm}"] = float(np.mean(lengths))
            return values

        options = self.options
        done = replications(
            options,
            ideal_experiments(streams, size, options.seed),
            measure,
            at_least=times * (options.replications or size.at_least),
            at_most=times * (options.replications or size.at_most),
            batch=8,
            precision=size.precision,
            precision_of=[
                lambda of, name=f"{quantity}_{arm}": of[name]
                for quantity in "TN"
                for arm in published.ARMS
            ],
            backend=self.backend,
            task=f"ideal source, {streams} streams",
        )
        self.interrupted = done.interrupted
        return done

    def pings(self, task: str, settings: Mapping[str, float], runs: int) -> PingEnsemble:
        """Replications of the testbed's run, with some of its parameters changed.

        Stopped early, it keeps the replications that had finished, and what comes next is not
        begun.
        """
        if self.interrupted:
            raise Interrupted(f"{task}: not begun")
        options = self.options
        collector = PingCollector()
        done = replications(
            options,
            published_experiments(options.seed, settings),
            collector.measure,
            at_least=options.replications or runs,
            task=task,
            backend=self.backend,
            keep=1,
        )
        self.interrupted = done.interrupted
        return collector.ensemble(done.n, done.runs[0])
