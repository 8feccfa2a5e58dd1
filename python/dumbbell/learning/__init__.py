"""Gymnasium and PettingZoo environments for congestion control by learning agents.

``import dumbbell.learning`` registers ``dumbbell/CongestionControl-v0``; `parallel_env` creates an
environment of several senders. Both need the extra ``gym``::

    import gymnasium
    import dumbbell.learning

    env = gymnasium.make("dumbbell/CongestionControl-v0", experiment="experiment.toml")
"""

from __future__ import annotations

from typing import Any, Final

from dumbbell._engine import Interval
from dumbbell.errors import MissingExtraError

try:
    import gymnasium
    import pettingzoo  # type: ignore[import-untyped] # noqa: F401 - said here, before one is made
except ImportError as error:
    raise MissingExtraError("dumbbell.learning", "gym") from error

from dumbbell.learning.environment import CongestionControl
from dumbbell.learning.observing import DEFAULT_MEASURES, Measure
from dumbbell.learning.parallel import ParallelCongestionControl
from dumbbell.learning.rewards import AlphaFairness, Aurora, Power, Reward

__all__ = [
    "DEFAULT_MEASURES",
    "ENVIRONMENT",
    "AlphaFairness",
    "Aurora",
    "CongestionControl",
    "Interval",
    "Measure",
    "ParallelCongestionControl",
    "Power",
    "Reward",
    "parallel_env",
]

ENVIRONMENT: Final = "dumbbell/CongestionControl-v0"
"""Its name for `gymnasium.make`."""


def parallel_env(*arguments: Any, **options: Any) -> ParallelCongestionControl:
    """Create an environment of several senders, in PettingZoo's way; see
    `ParallelCongestionControl`."""
    return ParallelCongestionControl(*arguments, **options)


if ENVIRONMENT not in gymnasium.registry:
    gymnasium.register(
        id=ENVIRONMENT, entry_point="dumbbell.learning.environment:CongestionControl"
    )
