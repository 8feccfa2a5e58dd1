"""Do the simulator and the Linux kernel agree, replication by replication?

The margin was written before the two were compared: a tenth of a millisecond, the jitter that this
study allows a real host anyhow (`fit.HOST_JITTER_MS`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dumbbell.claims.legacy import Claim, Judged, Kind, judge_hardly_matters
from dumbbell.stats import Estimate, difference_interval
from dumbbell.studies.statistical_multiplexing.ensembles import Floats, PingEnsemble
from dumbbell.studies.statistical_multiplexing.fit import HOST_JITTER_MS

MARGIN_MS = HOST_JITTER_MS
SOURCE = "One description, two backends that draw the same random numbers"


@dataclass(frozen=True, slots=True)
class Pair:
    """A mean delay on the kernel and in the simulator, one value a replication.

    Attributes:
        id: Of the claim.
        what: Completes the sentence, such as ``the mean round-trip time of SM``.
        label: For a figure.
        kernel_ms: On the kernel, shape (replications,).
        sim_ms: In the simulator, the same replications.
    """

    id: str
    what: str
    label: str
    kernel_ms: Floats
    sim_ms: Floats

    @property
    def difference(self) -> Estimate:
        """Mean of kernel less simulator, milliseconds, over the replications both have."""
        n = min(self.kernel_ms.size, self.sim_ms.size)
        return difference_interval(self.kernel_ms[:n], self.sim_ms[:n])


def ideal_pair(
    arm: str, streams: int, kernel: Mapping[str, Floats], sim: Mapping[str, Floats]
) -> Pair:
    """Mean time in the system with the ideal source; values in seconds under ``T_ARM``."""
    return Pair(
        f"agreement-ideal-t-{arm.lower()}-m{streams}",
        f"the mean time in the system of {arm} (ideal source, m = {streams})",
        f"ideal, m = {streams}: {arm}",
        1e3 * kernel[f"T_{arm}"],
        1e3 * sim[f"T_{arm}"],
    )


def rtt_pair(arm: str, kernel: PingEnsemble, sim: PingEnsemble) -> Pair:
    """Mean round-trip time of a run as published."""
    return Pair(
        f"agreement-rtt-{arm.lower()}",
        f"the mean round-trip time of {arm} (ITGSend's law, as published)",
        f"as published: {arm}",
        kernel.mean_rtt(arm),
        sim.mean_rtt(arm),
    )


def judge(pair: Pair) -> Judged:
    """Equivalence of the paired difference with zero, at `MARGIN_MS`."""
    claim = Claim(
        id=pair.id,
        statement=f"The simulator and the Linux kernel agree on {pair.what}",
        source=SOURCE,
        kind=Kind.HARDLY_MATTERS,
        margin=MARGIN_MS,
        unit="ms",
    )
    difference = pair.difference
    n = difference.n
    each = pair.kernel_ms[:n] - pair.sim_ms[:n]
    largest = float(each[np.argmax(np.abs(each))])
    note = (
        f"kernel less simulator, replication by replication; means {pair.kernel_ms[:n].mean():.4f} "
        f"and {pair.sim_ms[:n].mean():.4f} ms, largest difference of a replication "
        f"{1e3 * largest:+.2g} µs"
    )
    return judge_hardly_matters(claim, difference, backend="kernel", note=note)
