"""Harm: how much worse a flow performs beside another one than alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dumbbell.stats import Estimate, ratio_interval


def harm(alone: ArrayLike, beside: ArrayLike, *, more_is_better: bool = True) -> Estimate:
    """Harm by Ware, Mukerjee, Seshan and Sherry (HotNets 2019): 0 is none, 1 the maximum.

    If more is better, as for throughput, it is (alone - beside) / alone; if less is better, as for
    delay or completion time, (beside - alone) / beside. A negative harm is a benefit.

    Args:
        alone: Performance of the flow alone on the link, one number per replication.
        beside: Its performance in the same replications beside the other flow; same shape as
            ``alone``.
        more_is_better: Whether large numbers are good.

    Returns:
        The harm from the ratio of the means, with its 95 % interval.

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
