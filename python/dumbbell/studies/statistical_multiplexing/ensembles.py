"""Replications of one pair of arms, reduced to what the study says about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dumbbell.metrics import ping_rtt_ms
from dumbbell.stats import (
    Estimate,
    prediction_interval,
    prediction_quantiles,
    ratio_interval,
    replications_for_prediction,
)
from dumbbell.studies.statistical_multiplexing import published
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS
from dumbbell.tables import Run

Floats = NDArray[np.float64]

NORMAL_95 = 1.96
"""Half-width of a normal's central 95 %, in standard deviations."""


@dataclass(frozen=True, slots=True)
class PingEnsemble:
    """Round-trip times of many runs as published, both arms seeing the same arrivals.

    Attributes:
        rtt_ms: Arm to one array a run: the answered pings of both senders, pooled.
        first: Arm to the first run, whose curves are drawn.
    """

    rtt_ms: Mapping[str, Sequence[Floats]]
    first: Mapping[str, Run]

    @property
    def n_replications(self) -> int:
        """How many runs there are of each arm."""
        return len(self.rtt_ms["SM"])

    def quantiles(self, arm: str) -> dict[str, Floats]:
        """What R's ``quantile(rtt, probs=c(0.25, 0.5, 0.75, 1.0))`` prints of each run."""
        levels = published.RTT_QUANTILES
        return {
            name: np.array([np.quantile(rtt, level) for rtt in self.rtt_ms[arm]])
            for name, level in levels.items()
        }

    def predictions(self, arm: str) -> dict[str, Estimate]:
        """The 95 % prediction interval of each printed quantile for one more run.

        Host jitter is added in quadrature: the same error that the fit allows for.
        """
        quantiles = self.quantiles(arm)
        return {name: _with_jitter(predicted(q)) for name, q in quantiles.items()}

    def mean_rtt(self, arm: str) -> Floats:
        """The mean RTT of each run, milliseconds."""
        return np.array([float(rtt.mean()) for rtt in self.rtt_ms[arm]])

    def predicted_mean_ratio(self) -> Estimate:
        """Prediction interval of one run's mean RTT of SM over that of TDM."""
        return predicted(self.mean_rtt("SM") / self.mean_rtt("TDM"))

    def mean_ratio(self) -> Estimate:
        """Ratio of the mean RTTs over all runs, with its confidence interval."""
        return ratio_interval(self.mean_rtt("SM"), self.mean_rtt("TDM"))


def predicted(values: Floats) -> Estimate:
    """95 % prediction interval of one more run, for positive values.

    By order statistics, which assume no law, where there are the 39 runs that they need; else
    Student's interval of the logarithms, which are about normal (the fit relies on that too).
    """
    if values.size >= replications_for_prediction():
        return prediction_quantiles(values)
    logs = prediction_interval(np.log(values))
    return replace(
        logs, value=math.exp(logs.value), low=math.exp(logs.low), high=math.exp(logs.high)
    )


def _with_jitter(prediction: Estimate) -> Estimate:
    reach = NORMAL_95 * HOST_JITTER_MS
    value = prediction.value
    return replace(
        prediction,
        low=value - math.hypot(value - prediction.low, reach),
        high=value + math.hypot(prediction.high - value, reach),
    )


class PingCollector:
    """Takes the pings out of runs as they end, so that the runs can be let go of."""

    def __init__(self) -> None:
        """Nothing has been collected."""
        self._rtt_ms: dict[str, dict[int, Floats]] = {arm: {} for arm in published.ARMS}

    def measure(self, runs: Mapping[str, Run]) -> dict[str, float]:
        """The mean RTT of each arm, milliseconds; keeps all round-trip times aside."""
        means = {}
        for arm, run in runs.items():
            rtt = ping_rtt_ms(run)
            self._rtt_ms[arm][run.replication] = rtt
            means[f"mean_rtt_{arm}"] = float(rtt.mean())
        return means

    def ensemble(self, n: int, first: Mapping[str, Run]) -> PingEnsemble:
        """The first n replications, in order."""
        rtt = {arm: [each[i] for i in range(n)] for arm, each in self._rtt_ms.items()}
        return PingEnsemble(rtt, first)
