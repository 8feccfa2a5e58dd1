"""Rewards of a monitor interval, from the literature; or any function of one.

A reward is a function from an `Interval` to a number. Those here are dataclasses with their
parameters; the environments also take their names, for the usual parameters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from dumbbell._engine import Interval
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import nearest, one_of

Reward: TypeAlias = Callable[[Interval], float]
"""Maps an interval to a number; larger is better."""

BITS_PER_MBIT: Final = 1e6
LEAST_RATE_MBPS: Final = 1e-3
"""Minimum rate in logarithms and negative powers, which are unbounded at 0."""


@dataclass(frozen=True, slots=True)
class Power:
    """Power: throughput to a power, over delay (Giessler et al. 1978; Kleinrock, ICC 1979).

    In Mbit/s over seconds; 0 before the first round-trip time.

    Attributes:
        exponent: Exponent of the throughput; above 1 throughput has more weight than delay.
    """

    exponent: float = 1.0

    def __call__(self, interval: Interval) -> float:
        """Of an interval."""
        rtt_s = interval.rtt_s
        if not rtt_s:
            return 0.0
        rate: float = (interval.delivery_rate_bps / BITS_PER_MBIT) ** self.exponent
        return rate / rtt_s


@dataclass(frozen=True, slots=True)
class Aurora:
    """10 throughput - 1000 latency - 2000 loss (Jay et al., ICML 2019), times a scale.

    Throughput in delivered packets a second, latency the mean round-trip time in seconds, loss a
    share.

    Attributes:
        throughput: Weight of a packet per second.
        latency: Weight of a second.
        loss: Weight of a loss ratio of 1.
        scale: Factor of the sum; 0.001 in the authors' code.
    """

    throughput: float = 10.0
    latency: float = 1000.0
    loss: float = 2000.0
    scale: float = 0.001

    def __call__(self, interval: Interval) -> float:
        """Of an interval."""
        duration_s = interval.duration_s
        pps = interval.delivered_pkts / duration_s if duration_s else 0.0
        good = self.throughput * pps
        return self.scale * (
            good - self.latency * (interval.rtt_s or 0.0) - self.loss * interval.loss
        )


@dataclass(frozen=True, slots=True)
class AlphaFairness:
    """Utility of alpha-fairness (Mo and Walrand, IEEE/ACM Transactions on Networking 8(5), 2000).

    ``x**(1 - alpha) / (1 - alpha)`` of the delivery rate x in Mbit/s, its logarithm for an alpha
    of 1; less than `LEAST_RATE_MBPS` counts as that. Its sum over all senders is greatest at the
    alpha-fair shares: the environment of several senders adds up with ``shared_reward=True``.

    Attributes:
        alpha: 0 for throughput alone, 1 for proportional fairness, large for max-min fairness.
        delay_weight: Weight of the logarithm of the round-trip time in seconds, which is
            subtracted; 0 for the paper's utility. With 1 and an alpha of 1 it is the logarithm of
            power.
    """

    alpha: float = 1.0
    delay_weight: float = 0.0

    def __call__(self, interval: Interval) -> float:
        """Of an interval."""
        rate = max(interval.delivery_rate_bps / BITS_PER_MBIT, LEAST_RATE_MBPS)
        if self.alpha == 1.0:
            utility = math.log(rate)
        else:
            utility = rate ** (1.0 - self.alpha) / (1.0 - self.alpha)
        rtt_s = interval.rtt_s
        if not self.delay_weight or not rtt_s:
            return utility
        return utility - self.delay_weight * math.log(rtt_s)


REWARDS: Final[Mapping[str, Reward]] = MappingProxyType(
    {"power": Power(), "aurora": Aurora(), "alpha_fairness": AlphaFairness()}
)
"""Rewards by name, with their usual parameters."""


def reward_of(reward: str | Reward) -> Reward:
    """A reward from its name; a function is returned unchanged.

    Raises:
        SpecError: There is no reward of that name.
    """
    if callable(reward):
        return reward
    if reward not in REWARDS:
        names = list(REWARDS)
        allowed = f"{one_of(names)}, or a function of an interval"
        raise SpecError("reward", reward, allowed, nearest(reward, names))
    return REWARDS[reward]
