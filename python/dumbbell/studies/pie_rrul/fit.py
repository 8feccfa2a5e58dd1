"""Estimation of the size of the driver's ring, the only fitted parameter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dumbbell.stats import Estimate, student_interval
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.measures import Floats


@dataclass(frozen=True, slots=True)
class LatencyFit:
    """Excess of the printed latencies over ours without a ring.

    Attributes:
        excess_ms: Mean over the settings, with Student's interval over them.
    """

    excess_ms: Estimate

    @property
    def ring_kb(self) -> Estimate:
        """Return the bytes of that time at the line's rate."""
        found = self.excess_ms
        kb_per_ms = published.LINE_MBPS / 8
        ends = (kb_per_ms * end for end in (found.value, found.low, found.high))
        value, low, high = ends
        return replace(found, value=value, low=low, high=high)

    @property
    def packets(self) -> float:
        """Return the number of full packets."""
        return 1e3 * self.ring_kb.value / published.WIRE_BYTES


def fit_ring(latency_ms: Mapping[arms.Setting, Floats]) -> LatencyFit:
    """Fit the ring that explains the printed latencies.

    A ring that is always full delays every packet by its bytes at the line's rate; PIE neither sees
    nor reduces this delay. The least-squares constant is therefore the mean excess.

    Args:
        latency_ms: Mean latency of each run without a ring, by setting; at least two settings.
    """
    printed = {
        arms.setting_of(*row): numbers["latency"] for row, numbers in published.TABLES.items()
    }
    excess = [printed[setting] - float(np.mean(runs)) for setting, runs in latency_ms.items()]
    return LatencyFit(student_interval(excess))
