"""A Gymnasium environment with one sender controlled by an agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from dumbbell.backends.agents import AgentDescription
from dumbbell.errors import SpecError
from dumbbell.learning.episodes import Episode
from dumbbell.learning.observing import DEFAULT_MEASURES, History
from dumbbell.learning.randomising import Randomise
from dumbbell.learning.rewards import Reward
from dumbbell.learning.rules import DEFAULT_MOST_FACTOR, Rules, info
from dumbbell.spec.refusal import one_of
from dumbbell.tables import Run

Observation = NDArray[np.float32]


class CongestionControl(gymnasium.Env[Observation, Any]):
    """An environment in which an agent sets the window or pacing rate of one flow.

    A step is a monitor interval. An observation is a `gymnasium.spaces.Box` of 32-bit floats, of
    shape (history, measures), oldest interval first; `Measure` has units and ranges. An action is a
    number from -1 to 1, of shape (1,): window or rate are multiplied by ``most_factor`` to that
    power; with ``factors`` it is the index of a factor. An episode is truncated at the experiment's
    end, and terminated when the flow has completed its transfer.

    Each `reset` draws the experiment and its replication from the environment's generator: after
    ``reset(seed=...)`` the same actions give the same episodes.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - no ClassVar in Gymnasium

    def __init__(
        self,
        experiment: str | Path | None = None,
        *,
        flow: str | None = None,
        randomise: Randomise = None,
        interval: str = "100ms",
        control: str = "cwnd",
        measures: Sequence[str] = DEFAULT_MEASURES,
        history: int = 8,
        most_factor: float = DEFAULT_MOST_FACTOR,
        factors: Sequence[float] | None = None,
        reward: str | Reward = "power",
        render_mode: None = None,
    ) -> None:
        """Set it up.

        Args:
            experiment: A file, or text in TOML; None for one of 10 Mbit/s and 40 ms. Its tables of
                questions (``[sweep]``, ``[[claim]]``, ``[[figure]]``) are ignored.
            flow: Name of the agent's flow; None for the only TCP flow.
            randomise: Parameters drawn for each episode: path to values, as in ``[sweep]``, where
                ``steps`` of a range may be omitted; or ``"sweep"`` for the file's own table.
            interval: Length of a step: a time (``100ms``), or a number of smoothed round-trip times
                (``1.5rtt``); 1 ms at least.
            control: ``cwnd`` or ``pacing_rate``. With a pacing rate the window is twice the rate
                times the smoothed round-trip time.
            measures: Names of `Measure`, the columns of an observation.
            history: Intervals in an observation, 1 to 1000.
            most_factor: Factor of a continuous action of 1; above 1, up to 100.
            factors: Factors of discrete actions, 0.01 to 100; None for continuous actions.
            reward: ``power``, ``aurora``, ``alpha_fairness``, or a function from an
                `dumbbell.learning.Interval` to a number.
            render_mode: Must be None.

        Raises:
            SpecError: An argument or the experiment is invalid.
        """
        self._rules = Rules.checked(
            experiment=experiment,
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
        self._flow = flow
        self._history = History(self._rules.measures, history)
        self._episode: Episode | None = None
        self._description: AgentDescription | None = None
        self.observation_space = self._rules.observation_space()
        self.action_space = self._rules.action_space()
        # Report an invalid experiment here, not at the first episode.
        self._one_flow(self._rules.described(np.random.default_rng(0), self._flows()))

    def _flows(self) -> list[str] | None:
        return None if self._flow is None else [self._flow]

    def _one_flow(self, description: AgentDescription) -> None:
        if len(description.flows) > 1:
            allowed = f"the name of the agent's flow, {one_of(list(description.flows))}"
            raise SpecError("flow", "None", allowed)

    @property
    def episode(self) -> Episode:
        """The current episode.

        Raises:
            gymnasium.error.ResetNeeded: There is no current episode.
        """
        if self._episode is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._episode

    @property
    def spec_of_run(self) -> Mapping[str, Any]:
        """The resolved description of the current episode, with the drawn values."""
        if self._description is None:
            raise gymnasium.error.ResetNeeded("call reset() first")
        return self._description.spec

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, and run it to the end of the handshake.

        Args:
            seed: Seed of the environment's random numbers; None to continue the sequence.
            options: ``replication``, a whole number from 0, fixes the replication instead of
                drawing it. The same number gives other controllers the same traffic. Other options
                are ignored.

        Raises:
            SpecError: The drawn experiment is invalid.
            RunError: The run failed.
        """
        super().reset(seed=seed)
        self._description, self._episode = self._rules.begin(self.np_random, self._flows(), options)
        self._history.clear()
        now_ns, last = self._episode.now_ns, self._episode.last[0]
        return self._history.observation(), info(now_ns, last)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply an action, and run one interval.

        Raises:
            RunError: The run failed.
        """
        episode = self.episode
        episode.act(0, self._rules.factor(action))
        episode.advance()
        (interval,) = episode.last
        self._history.add(interval)
        is_over = episode.is_over(0)
        return (
            self._history.observation(),
            float(self._rules.reward(interval)),
            is_over,
            not episode.goes_on and not is_over,
            info(episode.now_ns, interval),
        )

    def finished_run(self) -> Run:
        """Run the current episode to its end with the last window or rate, and return its tables;
        only once.

        Raises:
            RunError: The run failed.
        """
        run = self.episode.finish()
        self._episode = None
        return run

    def close(self) -> None:
        """Discard the episode."""
        self._episode = None
