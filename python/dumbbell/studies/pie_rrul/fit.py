"""How much does the router's driver hold? The one parameter that is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from dumbbell.stats import Estimate, student_interval
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.measures import Floats


@dataclass(frozen=True, slots=True)
class LatencyFit:
    """What the printed latencies are above ours without a ring.

    Attributes:
        excess_ms: Mean over the settings, with Student's interval over them.
    """

    excess_ms: Estimate

    @property
    def ring_kb(self) -> Estimate:
        """That time at the line's rate."""
        found = self.excess_ms
        kb_per_ms = published.LINE_MBPS / 8
        ends = (kb_per_ms * end for end in (found.value, found.low, found.high))
        value, low, high = ends
        return replace(found, value=value, low=low, high=high)

    @property
    def packets(self) -> float:
        """The same in full packets."""
        return 1e3 * self.ring_kb.value / published.WIRE_BYTES


def fit_ring(latency_ms: Mapping[arms.Setting, Floats]) -> LatencyFit:
    """The ring that explains the printed latencies.

    A ring that is always full adds its bytes at the line's rate to every packet's way, and PIE
    neither sees nor shortens that. So the least squares of one constant are the mean excess.

    Args:
        latency_ms: Settings, two or more, to the mean latency of each run without a ring.
    """
    printed = {
        arms.setting_of(*row): numbers["latency"] for row, numbers in published.TABLES.items()
    }
    excess = [printed[setting] - float(np.mean(runs)) for setting, runs in latency_ms.items()]
    return LatencyFit(student_interval(excess))
