"""The loop of replications under `replicate` (studies) and `compare` (run, check, judge).

Replications are run in rounds, up to the counts at which a stopping rule looks, until every arm has
enough. Whoever asks for them says what an arm is, runs a round, and says what is kept of a run.
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
"""What says why a run failed."""
Place: TypeAlias = tuple[A, int]
"""An arm and the number of a replication."""


@dataclass(frozen=True)
class StoppingPolicy(Generic[A, R]):
    """When arms have enough replications.

    Attributes:
        rule: For the numbers that are watched.
        watched: From an arm and its results, in order of the replications, to the numbers that must
            be precise, by their names; none where the rule only counts.
        is_joint: Whether all arms stop after the same number, when all are precise, and one that
            fails ends all; else each stops and fails by itself.
    """

    rule: StoppingRule
    watched: Callable[[A, Sequence[R]], Mapping[str, NDArray[np.float64]]]
    is_joint: bool

    def points(self, results: Mapping[A, Sequence[R]]) -> dict[A, StoppingPoint]:
        """Where arms stop, of those that have enough.

        Args:
            results: Of the arms that go on, replications 0, 1, ... without gaps.
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
    """Replications that are run side by side.

    Attributes:
        places: They, replication after replication, so that what was stopped has pairs.
        begun: Replications that each of these arms has.
        look: Replications that each of these arms will have.
        done_before: Places of earlier rounds.
        known_in_all: Places of all rounds of the arms that have not failed, as far as is known: an
            arm that is not precise then goes on.
    """

    places: Sequence[Place[A]]
    begun: int
    look: int
    done_before: int
    known_in_all: int


RunRound: TypeAlias = Callable[[Round[A], Callable[[int, F], None]], Iterator[DoneUnit[R]]]
"""Runs a round. Each place gives a result, with its index among the places, or a call with that
index and why it failed; or neither, where it was cancelled."""


class ReplicationEngine(Generic[A, R, F]):
    """Runs replications of arms until each has enough, fails, or is stopped.

    Attributes:
        stopped: Where arms stopped, of those that had enough.
        failed: Each failed replication and why, in the order in which they failed.
        interrupted: Whether it was stopped before every arm that did not fail had enough.
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
            arms: What is replicated.
            policy: When it is enough.
            run_round: Runs a round.
            cancel: Set it to stop within a second and keep the finished replications.
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
        """Of its replications 0, 1, ... without gaps."""
        own = self._results[arm]
        n = 0
        while n in own:
            n += 1
        return tuple(own[replication] for replication in range(n))

    def kept(self, arm: A, n: int) -> tuple[tuple[Run, ...], ...]:
        """Runs of its first ``n`` replications, of those whose runs came with their results."""
        own = self._kept[arm]
        return tuple(own[replication] for replication in range(n) if replication in own)

    def run(self) -> None:
        """Do it.

        Raises:
            KeyboardInterrupt: After Ctrl-C; with ``cancel`` what has finished can be had instead.
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
