"""The loop of replications under `replicate` (studies) and `compare` (run, check, judge).

Replications are run in rounds, up to the counts at which the stopping rule is evaluated, until
every arm has enough. The caller defines the arms, runs a round, and reduces a run to a result.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dumbbell.backends import Cancellation
from dumbbell.replication.performing import DoneUnit
from dumbbell.stats import StoppingPoint, StoppingRule
from dumbbell.tables import Run

A = TypeVar("A", bound=Hashable)
R = TypeVar("R")
F = TypeVar("F")
"""Reason of a failed run."""
Place: TypeAlias = tuple[A, int]
"""An arm and a replication number."""


@dataclass(frozen=True)
class StoppingPolicy(Generic[A, R]):
    """When arms have enough replications.

    Attributes:
        rule: Stopping rule for the watched numbers.
        watched: Maps an arm and its results, in order of replications, to the numbers that must be
            precise, by name; none if the rule only counts.
        is_joint: Whether all arms stop together when all are precise, and a failure ends all;
            otherwise each arm stops and fails separately.
    """

    rule: StoppingRule
    watched: Callable[[A, Sequence[R]], Mapping[str, NDArray[np.float64]]]
    is_joint: bool

    def points(self, results: Mapping[A, Sequence[R]]) -> dict[A, StoppingPoint]:
        """The stopping points of arms that have enough replications.

        Args:
            results: Results of the unfinished arms, replications 0, 1, ... without gaps.
        """
        together = [list(results)] if self.is_joint else [[arm] for arm in results]
        found: dict[A, StoppingPoint] = {}
        for arms in together:
            values: dict[str, NDArray[np.float64]] = {}
            for arm in arms:
                values |= self.watched(arm, results[arm])
            n = min(len(results[arm]) for arm in arms)
            point = self.rule.stopping_point(values or np.zeros(n))
            if point is not None:
                found |= dict.fromkeys(arms, point)
        return found


@dataclass(frozen=True, slots=True)
class Round(Generic[A]):
    """Replications that are run in parallel.

    Attributes:
        places: The replications in order of their number, so that an interrupted round has pairs.
        begun: Replications that each arm has.
        look: Replications that each arm will have.
        done_before: Number of replications in earlier rounds.
        known_in_all: Known total of replications of the arms that have not failed; it grows while
            an arm is not precise.
    """

    places: Sequence[Place[A]]
    begun: int
    look: int
    done_before: int
    known_in_all: int


RunRound: TypeAlias = Callable[[Round[A], Callable[[int, F], None]], Iterator[DoneUnit[R]]]
"""Runs a round: yields the index and the result of each place, or calls the failure function with
the index and the reason; neither for cancelled places."""


class ReplicationEngine(Generic[A, R, F]):
    """Runs replications of arms until each has enough, fails, or is cancelled.

    Attributes:
        stopped: Stopping points of the arms that had enough.
        failed: Each failed replication and its reason, in order of failure.
        interrupted: Whether it was cancelled before every arm that did not fail had enough.
    """

    def __init__(
        self,
        arms: Sequence[A],
        policy: StoppingPolicy[A, R],
        run_round: RunRound[A, F, R],
        cancel: Cancellation | None = None,
    ) -> None:
        """Set it up.

        Args:
            arms: The arms.
            policy: The stopping policy.
            run_round: Runs a round.
            cancel: Event that stops within a second and keeps the finished replications.
        """
        self._policy = policy
        self._run_round = run_round
        self._cancel = cancel
        self._results: dict[A, dict[int, R]] = {arm: {} for arm in arms}
        self._kept: dict[A, dict[int, tuple[Run, ...]]] = {arm: {} for arm in arms}
        self.stopped: dict[A, StoppingPoint] = {}
        self.failed: list[tuple[Place[A], F]] = []
        self.interrupted = False

    def results(self, arm: A) -> tuple[R, ...]:
        """Results of an arm's replications 0, 1, ... without gaps."""
        own = self._results[arm]
        n = 0
        while n in own:
            n += 1
        return tuple(own[replication] for replication in range(n))

    def kept(self, arm: A, n: int) -> tuple[tuple[Run, ...], ...]:
        """Runs of the first ``n`` replications, if they were yielded with their results."""
        own = self._kept[arm]
        return tuple(own[replication] for replication in range(n) if replication in own)

    def run(self) -> None:
        """Run all rounds.

        Raises:
            KeyboardInterrupt: After Ctrl-C without ``cancel``; with ``cancel`` the finished
                replications are kept.
        """
        begun = done = 0
        while going := self._going():
            look = self._policy.rule.next_look(begun)
            if look is None:
                raise AssertionError("a stopping rule ends at its last look")
            if self._cancel is not None and self._cancel.is_set():
                self.interrupted = True
                return
            places = [(arm, number) for number in range(begun, look) for arm in going]
            ended = sum(point.n for point in self.stopped.values())
            self._run(Round(places, begun, look, done, ended + look * len(going)))
            done += len(places)
            begun = look
            if self._policy.is_joint and self.failed:
                return
            results = {arm: self.results(arm) for arm in self._going()}
            if any(len(each) < look for each in results.values()):
                self.interrupted = True
                return
            if results:
                self.stopped |= self._policy.points(results)

    def _going(self) -> list[A]:
        failed = {arm for (arm, _), _ in self.failed}
        return [arm for arm in self._results if arm not in failed and arm not in self.stopped]

    def _run(self, of: Round[A]) -> None:
        def fail(index: int, why: F) -> None:
            self.failed.append((of.places[index], why))

        for done in self._run_round(of, fail):
            arm, replication = of.places[done.index]
            self._results[arm][replication] = done.result
            if done.runs:
                self._kept[arm][replication] = done.runs
