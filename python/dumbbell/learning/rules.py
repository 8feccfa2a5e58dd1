"""Checked settings of both environments; their spaces and infos."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.random import Generator

from dumbbell._engine import Interval
from dumbbell.backends.agents import AgentDescription
from dumbbell.errors import SpecError
from dumbbell.learning.episodes import Control, Episode, StepTime, control_of
from dumbbell.learning.observing import History, Measure, measures_of
from dumbbell.learning.randomising import Experiments, Randomise
from dumbbell.learning.rewards import Reward, reward_of

DEFAULT_LINE: Final = """\
duration = "30s"

[[links]]
a = "server"
b = "router"
rate = "1gbit"

[[links]]
a = "router"
b = "home"
rate = "10mbit"
delay = "20ms"
qdisc = "pfifo limit 50"
"""
"""The default network: 10 Mbit/s, 40 ms, a buffer of 50 packets."""

DEFAULT_EXPERIMENT: Final = f"""\
name = "learning"
{DEFAULT_LINE}
[[flows]]
name = "download"
from = "server"
to = "home"
source = {{ kind = "greedy" }}
"""
"""One sender on `DEFAULT_LINE`."""

DEFAULT_MOST_FACTOR: Final = 1.5
LARGEST_FACTOR: Final = 100.0
LARGEST_REPLICATION: Final = 2**62
REPLICATION: Final = "replication"
"""The only option of `reset`."""


@dataclass(frozen=True)
class Rules:
    """Settings of an environment, checked.

    Attributes:
        experiments: The experiments.
        control: The controlled quantity, multiplied by actions.
        step: Length of a step.
        measures: Measures of an interval.
        history: Number of intervals in an observation.
        most_factor: Factor of a continuous action of 1.
        factors: Factors of discrete actions; empty for continuous ones.
        reward: Reward of an interval.
    """

    experiments: Experiments
    control: Control
    step: StepTime
    measures: tuple[Measure, ...]
    history: int
    most_factor: float
    factors: tuple[float, ...]
    reward: Reward
    _checked: dict[tuple[str, ...] | None, AgentDescription] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def checked(
        cls,
        *,
        experiment: str | Path | None,
        randomise: Randomise,
        interval: str,
        control: str,
        measures: Sequence[str],
        history: int,
        most_factor: float,
        factors: Sequence[float] | None,
        reward: str | Reward,
    ) -> Rules:
        """Check the arguments of `CongestionControl`.

        Raises:
            SpecError: One of them is not allowed.
        """
        if not 1.0 < most_factor <= LARGEST_FACTOR:
            raise SpecError("most_factor", most_factor, f"above 1, up to {LARGEST_FACTOR:g}")
        if factors is not None and len(factors) < 2:
            raise SpecError("factors", list(factors), "two or more, or None")
        for place, factor in enumerate(factors or ()):
            if not 1.0 / LARGEST_FACTOR <= factor <= LARGEST_FACTOR:
                allowed = f"{1.0 / LARGEST_FACTOR:g} to {LARGEST_FACTOR:g}"
                raise SpecError(f"factors[{place}]", factor, allowed)
        source = DEFAULT_EXPERIMENT if experiment is None else experiment
        found = measures_of(measures)
        History(found, history)
        return cls(
            Experiments.read(source, randomise),
            control_of(control),
            StepTime.parse(interval),
            found,
            history,
            float(most_factor),
            tuple(float(each) for each in factors or ()),
            reward_of(reward),
        )

    def begin(
        self, random: Generator, flows: Sequence[str] | None, options: Mapping[str, Any] | None
    ) -> tuple[AgentDescription, Episode]:
        """Begin an episode: draw its experiment, then its replication.

        Args:
            random: The random generator.
            flows: Names of the agents' flows.
            options: Options of `reset`: ``replication`` fixes the replication.

        Raises:
            SpecError: The drawn experiment is invalid, or the replication is out of range.
            RunError: The run failed.
        """
        description = self.described(random, flows)
        replication = int(random.integers(LARGEST_REPLICATION))
        # PettingZoo's checker passes its own option, so unknown options are ignored.
        chosen = (options or {}).get(REPLICATION)
        if chosen is not None:
            if not isinstance(chosen, int) or not 0 <= chosen < LARGEST_REPLICATION:
                allowed = f"0 up to {LARGEST_REPLICATION - 1}"
                raise SpecError(f"options.{REPLICATION}", chosen, allowed)
            replication = chosen
        return description, Episode(description, replication, self.control, self.step)

    def described(self, random: Generator, flows: Sequence[str] | None) -> AgentDescription:
        """A drawn experiment; without randomisation the one checked before."""
        if self.experiments.drawn:
            return AgentDescription.of(self.experiments.draw(random), flows)
        names = None if flows is None else tuple(flows)
        if names not in self._checked:
            self._checked[names] = AgentDescription.of(self.experiments.draw(random), flows)
        return self._checked[names]

    def observation_space(self) -> spaces.Space[Any]:
        """The space of observations, shape (history, measures)."""
        history = History(self.measures, self.history)
        return spaces.Box(history.low, history.high, dtype=np.float32)

    def action_space(self) -> spaces.Space[Any]:
        """The space of actions: a number from -1 to 1, or the index of a factor."""
        if self.factors:
            return spaces.Discrete(len(self.factors))
        return spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)

    def factor(self, action: Any) -> float:
        """The factor of an action.

        Raises:
            ValueError: The action is invalid.
        """
        if self.factors:
            return self.factors[int(action)]
        number = float(action[0])
        if not math.isfinite(number):
            raise ValueError(f"action {number}: a number from -1 to 1 is allowed")
        power: float = self.most_factor ** min(max(number, -1.0), 1.0)
        return power


def info(now_ns: int, interval: Interval) -> dict[str, Any]:
    """Numbers of an interval with units, for people."""
    return {
        "time_s": now_ns * 1e-9,
        "send_rate_bps": interval.send_rate_bps,
        "delivery_rate_bps": interval.delivery_rate_bps,
        "rtt_s": interval.rtt_s or 0.0,
        "loss": interval.loss,
        "cwnd_pkts": interval.cwnd_pkts,
    }
