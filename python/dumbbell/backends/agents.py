"""Runs controlled by agents: the caller sets windows or pacing rates of flows between intervals."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from dumbbell import _engine
from dumbbell._engine import format_time
from dumbbell.backends.base import Cost
from dumbbell.backends.batch import Resolvable
from dumbbell.backends.guard import threads_that_fit
from dumbbell.backends.host import host_provenance, package_version
from dumbbell.backends.memory import MemoryLimit
from dumbbell.backends.sim import BACKEND, spec_error
from dumbbell.errors import RunError, SpecError
from dumbbell.spec.refusal import nearest, one_of
from dumbbell.tables import Run

_MANY_CONNECTIONS: Final = "arrivals"
"""The source that opens several connections at a time."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class AgentDescription:
    """An experiment, parsed and checked once for all its runs with agents.

    Attributes:
        resolved_json: The resolved description.
        spec: The description, parsed.
        cost: Estimated cost of a run.
        flows: Names of the agents' flows.
        places: Indices of these among all flows.
    """

    resolved_json: str
    spec: dict[str, Any]
    cost: Cost
    flows: tuple[str, ...]
    places: tuple[int, ...]

    @classmethod
    def of(cls, experiment: Resolvable, flows: Sequence[str] | None = None) -> AgentDescription:
        """A description with the flows that agents control.

        Args:
            experiment: The experiment.
            flows: Names of TCP flows with one connection at a time; None for all of them.

        Raises:
            SpecError: The experiment cannot be run, or an agent cannot control a flow.
        """
        text = experiment.resolved_json()
        cost = BACKEND.check(text)
        spec = json.loads(text)
        threads_that_fit(
            cost, 1, format_time(spec["duration_ns"]), MemoryLimit(None).of_new_runs_bytes()
        )
        places = {
            flow["name"]: place
            for place, flow in enumerate(spec["flows"])
            if flow["tcp"] is not None and flow["source"]["kind"] != _MANY_CONNECTIONS
        }
        chosen = tuple(places if flows is None else flows)
        known = list(places)
        if not chosen:
            allowed = "at least one flow over TCP with one connection at a time"
            raise SpecError("flows", "none", allowed)
        for place, name in enumerate(chosen):
            if name not in places:
                allowed = f"a flow over TCP with one connection at a time: {one_of(known)}"
                raise SpecError(f"flows[{place}]", name, allowed, nearest(name, known))
            if name in chosen[:place]:
                raise SpecError(f"flows[{place}]", name, "each flow once")
        return cls(text, spec, cost, chosen, tuple(places[name] for name in chosen))

    @property
    def duration_ns(self) -> int:
        """Duration of a run."""
        duration_ns: int = self.spec["duration_ns"]
        return duration_ns

    @property
    def start_ns(self) -> int:
        """Earliest start of the agents' flows."""
        starts: list[int] = [self.spec["flows"][place]["start_ns"] for place in self.places]
        return min(starts)


class AgentRun:
    """One replication, in which some flows' windows or pacing rates are set from outside.

    The description's controllers for these flows are not used. Agents are numbered in the order of
    `AgentDescription.flows`.
    """

    def __init__(
        self, description: AgentDescription, replication: int, *, paced: bool = False
    ) -> None:
        """Start the run.

        Args:
            description: The description.
            replication: Selects the random numbers, together with the experiment's seed.
            paced: Whether pacing rates are set instead of windows.

        Raises:
            SpecError: Another flow uses a controller that is not built into the simulator.
        """
        self._description = description
        self._replication = replication
        self._paced = paced
        try:
            self._run = _engine.AgentRun(
                description.resolved_json, replication, list(description.places), paced=paced
            )
        except _engine.SpecInvalid as error:
            raise spec_error(error) from None
        self.interval = self._run.interval
        """Statistics of an agent's flow since the last call; see `_engine.AgentRun`."""
        self.set_cwnd = self._run.set_cwnd
        self.set_pacing_rate = self._run.set_pacing_rate
        self.has_begun = self._run.has_begun
        self.is_over = self._run.is_over

    def advance_through(self, until_ns: int) -> bool:
        """Simulate up to and including an instant. Returns whether the run continues.

        Raises:
            RunError: The run failed.
        """
        # Inlined, because it is called for every step of an agent.
        try:
            return self._run.advance_through(until_ns)
        except RuntimeError as error:
            raise RunError(str(error)) from None

    def finish(self) -> Run:
        """Run to the end with the last windows or rates, and return the tables; once only.

        Raises:
            RunError: The run failed.
        """
        done = _or_run_error(self._run.finish)
        if done.error is not None:
            raise RunError(done.error)
        description = self._description
        return Run(
            origin=BACKEND.origin,
            replication=self._replication,
            spec=description.spec,
            tables=done.take_tables(),
            meta={
                "name": description.spec["name"],
                "seed": description.spec["seed"],
                "replication": self._replication,
                "backend": BACKEND.name,
                "versions": {
                    "dumbbell": package_version(),
                    **BACKEND.versions(description.spec),
                },
                "agents": {
                    "flows": list(description.flows),
                    "control": "pacing_rate" if self._paced else "cwnd",
                },
                "events": done.events,
                "digest": done.digest,
            },
            provenance={**host_provenance(), "memory_bytes": done.memory_bytes},
        )


def _or_run_error(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except RuntimeError as error:
        raise RunError(str(error)) from None
