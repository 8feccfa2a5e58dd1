"""An episode: a run in steps of monitor intervals, shared by the environments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from dumbbell._engine import FASTEST_BYTES_PER_S, LARGEST_CWND_PKTS, Interval
from dumbbell.backends.agents import AgentDescription, AgentRun
from dumbbell.errors import SpecError
from dumbbell.spec.refusal import one_of
from dumbbell.tables import Run
from dumbbell.units import UnitError, parse_time_ns

Control: TypeAlias = Literal["cwnd", "pacing_rate"]
"""The quantities that an action can multiply."""

CONTROLS: Final[tuple[Control, ...]] = ("cwnd", "pacing_rate")
LEAST_INTERVAL_NS: Final = 1_000_000
LEAST_RATE_BYTES_PER_S: Final = 1000
"""Minimum pacing rate, a packet of 1448 bytes every 1.4 s: without packets an agent would get no
feedback."""
_NS_PER_S: Final = 1e9
_MOST_ROUND_TRIPS: Final = 1000.0
_ROUND_TRIPS = re.compile(r"\s*(?P<number>[0-9]*\.?[0-9]+)\s*rtt\s*")
_AN_INTERVAL = (
    "a time of 1 ms or more, such as '100ms', or a number of round trips, such as '1.5rtt'"
)


@dataclass(frozen=True, slots=True)
class StepTime:
    """Length of a step.

    Attributes:
        time_ns: A time; None for round trips.
        round_trips: A number of smoothed round-trip times, of the agent with the largest.
    """

    time_ns: int | None = None
    round_trips: float = 1.0

    @classmethod
    def parse(cls, text: str) -> StepTime:
        """Parse ``100ms`` or ``1.5rtt``.

        Raises:
            SpecError: The text is neither a time nor a number of round trips.
        """
        match = _ROUND_TRIPS.fullmatch(text) if isinstance(text, str) else None
        if match is not None:
            round_trips = float(match["number"])
            if 0.0 < round_trips <= _MOST_ROUND_TRIPS:
                return cls(round_trips=round_trips)
            raise SpecError("interval", text, f"up to {_MOST_ROUND_TRIPS:g} round trips, above 0")
        try:
            time_ns = parse_time_ns(text)
        except (UnitError, TypeError, ValueError):
            raise SpecError("interval", text, _AN_INTERVAL) from None
        if time_ns < LEAST_INTERVAL_NS:
            raise SpecError("interval", text, _AN_INTERVAL)
        return cls(time_ns)

    def length_ns(self, srtts_s: Sequence[float | None]) -> int:
        """Length of the next step, from the agents' latest smoothed round-trip times."""
        if self.time_ns is not None:
            return self.time_ns
        longest_s = max((srtt_s or 0.0 for srtt_s in srtts_s), default=0.0)
        return max(round(self.round_trips * longest_s * _NS_PER_S), LEAST_INTERVAL_NS)


class Episode:
    """A run in which agents multiply their windows or rates by factors, step by step.

    Attributes:
        now_ns: Present time of the run.
        goes_on: Whether the run continues.
        last: The last interval of each agent.
    """

    def __init__(
        self, description: AgentDescription, replication: int, control: Control, step: StepTime
    ) -> None:
        """Start the run, and run it until the first connection of an agent's flow is established.

        Raises:
            SpecError: The description is invalid, or no agent's flow established a connection.
            RunError: The run failed.
        """
        self._run = AgentRun(description, replication, paced=control == "pacing_rate")
        self._step = step
        self._is_paced = control == "pacing_rate"
        self._duration_ns = description.duration_ns
        agents = range(len(description.flows))
        self.now_ns = description.start_ns
        self.goes_on = True
        while self.goes_on and not any(map(self._run.has_begun, agents)):
            self.now_ns += LEAST_INTERVAL_NS
            self.goes_on = self._run.advance_through(self.now_ns)
        if not self.goes_on:
            raise SpecError("duration", "too short", "time for the connection of an agent's flow")
        self.last: list[Interval] = [self._run.interval(agent) for agent in agents]
        # The value of each agent as a float, so that small factors accumulate; None before its
        # connection.
        self._levels: list[float | None] = [None for _ in agents]

    def act(self, agent: int, factor: float) -> None:
        """Multiply an agent's window or rate; no effect before its flow has a connection."""
        level = self._levels[agent]
        if level is None:
            seen = self.last[agent]
            if not seen.mss_bytes:
                return
            level = seen.pacing_rate_bps / 8.0 if self._is_paced else float(seen.cwnd_pkts)
        if self._is_paced:
            level = min(max(level * factor, LEAST_RATE_BYTES_PER_S), FASTEST_BYTES_PER_S)
            self._run.set_pacing_rate(agent, int(level))
        else:
            level = min(max(level * factor, 1.0), LARGEST_CWND_PKTS)
            self._run.set_cwnd(agent, int(level))
        self._levels[agent] = level

    def advance(self) -> None:
        """Run the next step."""
        last = self.last
        self.now_ns += self._step.length_ns([each.srtt_s for each in last])
        self.now_ns = min(self.now_ns, self._duration_ns)
        self.goes_on = self._run.advance_through(self.now_ns) and self.now_ns < self._duration_ns
        self.last = [self._run.interval(agent) for agent in range(len(last))]

    def is_over(self, agent: int) -> bool:
        """Whether the agent's flow has completed its transfer."""
        return self._run.is_over(agent)

    def finish(self) -> Run:
        """Run to the end with the last windows or rates, and return the run; only once."""
        return self._run.finish()


def control_of(control: str) -> Control:
    """The controlled quantity of a name.

    Raises:
        SpecError: There is no quantity of that name.
    """
    for each in CONTROLS:
        if control == each:
            return each
    raise SpecError("control", control, one_of(list(CONTROLS)))
