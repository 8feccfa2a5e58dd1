"""How much does the router's driver hold? The one parameter that is fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.stats import Estimate, student_interval
from dumbbell.studies.pie_rrul import arms, published
from dumbbell.studies.pie_rrul.campaigns import Arm


@dataclass(frozen=True, slots=True)
class Fit:
    """What the printed latencies are above ours without a ring.

    Attributes:
        excess_ms: Mean over the settings, with Student's interval over them.
        bytes: That time at the line's rate.
        packets: The same in full packets.
    """

    excess_ms: Estimate
    bytes: float
    packets: float


def fit_ring(without: Mapping[arms.Setting, Arm]) -> Fit:
    """The ring that explains the printed latencies.

    A ring that is always full adds its bytes at the line's rate to every packet's way, and PIE
    neither sees nor shortens that. So the least squares of one constant are the mean excess.

    Args:
        without: Settings, two or more, to their runs without a ring.
    """
    printed = {
        arms.setting_of(*row): numbers["latency"] for row, numbers in published.TABLES.items()
    }
    excess = [
        printed[setting] - float(np.mean(arm.values["latency_ms"]))
        for setting, arm in without.items()
    ]
    found = student_interval(excess)
    ring_bytes = found.value * published.LINE_MBPS * 1e3 / 8
    return Fit(found, ring_bytes, ring_bytes / published.WIRE_BYTES)
