"""A PettingZoo environment with several senders controlled by agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from pettingzoo import ParallelEnv  # type: ignore[import-untyped]

from dumbbell.errors import SpecError
from dumbbell.learning.environment import Observation
from dumbbell.learning.episodes import Episode
from dumbbell.learning.observing import DEFAULT_MEASURES, History
from dumbbell.learning.randomising import Randomise
from dumbbell.learning.rewards import Reward
from dumbbell.learning.rules import DEFAULT_LINE, DEFAULT_MOST_FACTOR, Rules, info
from dumbbell.tables import Run

DEFAULT_EXPERIMENT = f"""\
name = "learning-together"
{DEFAULT_LINE}
[[flows]]
name = "first"
from = "server"
to = "home"
source = {{ kind = "greedy" }}

[[flows]]
name = "second"
from = "server"
to = "home"
start = "2s"
source = {{ kind = "greedy" }}
"""
"""Two senders on `DEFAULT_LINE`, one 2 s after the other."""


class ParallelCongestionControl(ParallelEnv):  # type: ignore[misc]
    """An environment in which agents set the windows or rates of flows; an agent has its flow's
    name.

    Observations, actions and steps are those of `CongestionControl`, for each agent; a step in
    round trips uses the longest of all agents. An action has no effect before the flow has a
    connection. An agent leaves when its flow has completed its transfer; the others are truncated
    at the end.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "dumbbell_congestion_control_v0",
        "render_modes": [],
        "is_parallelizable": True,
    }

    def __init__(
        self,
        experiment: str | Path | None = None,
        *,
        flows: Sequence[str] | None = None,
        randomise: Randomise = None,
        interval: str = "100ms",
        control: str = "cwnd",
        measures: Sequence[str] = DEFAULT_MEASURES,
        history: int = 8,
        most_factor: float = DEFAULT_MOST_FACTOR,
        factors: Sequence[float] | None = None,
        reward: str | Reward = "alpha_fairness",
        shared_reward: bool = False,
        render_mode: None = None,
    ) -> None:
        """Set it up.

        Args:
            experiment: As for `CongestionControl`; None for two senders at 10 Mbit/s.
            flows: Names of the agents' flows; None for all TCP flows. Other flows keep their
                controllers.
            randomise: As for `CongestionControl`.
            interval: The same.
            control: The same.
            measures: The same.
            history: The same.
            most_factor: The same.
            factors: The same.
            reward: The same, of each agent's interval.
            shared_reward: Whether each agent gets the sum of the rewards of all present agents.
            render_mode: There is none.

        Raises:
            SpecError: One of them is not allowed, or the experiment cannot be run.
        """
        self._rules = Rules.checked(
            experiment=DEFAULT_EXPERIMENT if experiment is None else experiment,
            randomise=randomise,
            interval=interval,
            control=control,
            measures=measures,
            history=history,
            most_factor=most_factor,
            factors=factors,
            reward=reward,
        )
        if render_mode is not None:
            raise SpecError("render_mode", render_mode, "None")
        self.render_mode = None
        self._is_shared = shared_reward
        self._random = np.random.default_rng()
        self._flows = None if flows is None else list(flows)
        self._flows = list(self._rules.described(np.random.default_rng(0), self._flows).flows)
        self.possible_agents = list(self._flows)
        self.agents: list[str] = []
        self._histories = {
            name: History(self._rules.measures, history) for name in self.possible_agents
        }
        self._observation_spaces = {
            name: self._rules.observation_space() for name in self.possible_agents
        }
        self._action_spaces = {name: self._rules.action_space() for name in self.possible_agents}
        self._episode: Episode | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The observation space of an agent; the same object each time."""
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """The action space of an agent; the same object each time."""
        return self._action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observation], dict[str, dict[str, Any]]]:
        """Begin an episode; see `CongestionControl.reset`.

        Raises:
            SpecError: What was drawn cannot be run.
            RunError: The run failed.
        """
        if seed is not None:
            self._random, _ = np_random(seed)
        _, self._episode = self._rules.begin(self._random, self._flows, options)
        self.agents = list(self.possible_agents)
        for history in self._histories.values():
            history.clear()
        now_ns, last = self._episode.now_ns, self._episode.last
        observations = {name: self._histories[name].observation() for name in self.agents}
        infos = {
            name: info(now_ns, interval)
            for name, interval in zip(self.possible_agents, last, strict=True)
        }
        return observations, infos

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Observation],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Apply actions, and run one interval.

        Args:
            actions: The action of each present agent.

        Raises:
            RunError: The run failed.
        """
        episode = self._episode
        if episode is None:
            raise RuntimeError("call reset() first")
        known = enumerate(self.possible_agents)
        present = [(place, name) for place, name in known if name in self.agents]
        for place, name in present:
            episode.act(place, self._rules.factor(actions[name]))
        episode.advance()
        observations, rewards, infos = {}, {}, {}
        for place, name in present:
            interval, history = episode.last[place], self._histories[name]
            history.add(interval)
            observations[name] = history.observation()
            rewards[name] = float(self._rules.reward(interval))
            infos[name] = info(episode.now_ns, interval)
        if self._is_shared:
            rewards = dict.fromkeys(rewards, sum(rewards.values()))
        terminated = {name: episode.is_over(place) for place, name in present}
        truncated = {name: not episode.goes_on and not terminated[name] for _, name in present}
        self.agents = [name for _, name in present if not (terminated[name] or truncated[name])]
        return observations, rewards, terminated, truncated, infos

    def finished_run(self) -> Run:
        """The tables of the present episode; see `CongestionControl.finished_run`."""
        if self._episode is None:
            raise RuntimeError("call reset() first")
        run = self._episode.finish()
        self._episode = None
        return run

    def close(self) -> None:
        """Let go of the episode."""
        self._episode = None
