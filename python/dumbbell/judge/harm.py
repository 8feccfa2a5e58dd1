"""Harm: how much worse a flow fares beside another than alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats import Estimate, ratio_interval


def harm(alone: ArrayLike, beside: ArrayLike, *, more_is_better: bool = True) -> Estimate:
    """Harm by Ware, Mukerjee, Seshan and Sherry (HotNets 2019): 0 is none, 1 the most.

    Of what should be large, such as throughput, it is (alone - beside) / alone; of what should be
    small, such as delay or completion time, (beside - alone) / beside. Below zero it fares better.

    Args:
        alone: The flow's performance with the link to itself, one number a replication.
        beside: That of the same replications beside the other flow, shape as ``alone``.
        more_is_better: Whether large numbers are good.

    Returns:
        Of the ratio of the means, with its 95 % interval.

    Raises:
        StatsError: There are fewer than two replications, or the divisor is about zero.
    """
    with_whole = (beside, alone) if more_is_better else (alone, beside)
    kept = ratio_interval(np.asarray(with_whole[0], float), np.asarray(with_whole[1], float))
    return Estimate(
        1.0 - kept.value,
        1.0 - kept.high,
        1.0 - kept.low,
        kept.level,
        kept.n,
        kept.kind,
        kept.freedom,
    )
