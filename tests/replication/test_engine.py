"""The loop of replications: rounds, when arms stop, and what a failure ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import numpy as np
import pytest

from dumbbell.replication.engine import ReplicationEngine, Round, StoppingPolicy
from dumbbell.replication.performing import DoneUnit
from dumbbell.stats import StoppingRule
from dumbbell.tables import Run

Engine = ReplicationEngine[str, float, str]
RULE = StoppingRule(at_least=3, at_most=9, batch=3, relative_half_width=0.1)


def watched(arm: str, results: Sequence[float]) -> dict[str, np.ndarray]:
    """The results themselves."""
    return {arm: np.array(results)}


class Numbers:
    """Rounds whose results are those of an arm in turn; noted as they are asked for."""

    def __init__(self, of_arms: dict[str, list[float]], fails: tuple[str, int] = ("", -1)) -> None:
        self.of_arms = of_arms
        self.fails = fails
        self.rounds: list[Round[str]] = []

    def run(
        self, of: Round[str], on_failure: Callable[[int, str], None]
    ) -> Iterator[DoneUnit[float]]:
        """The last place first: the order in which they end must not matter."""
        self.rounds.append(of)
        for index, (arm, replication) in reversed([*enumerate(of.places)]):
            if (arm, replication) == self.fails:
                on_failure(index, "broken")
            else:
                values = self.of_arms[arm]
                yield DoneUnit(index, values[replication % len(values)])


STEADY, SCATTERED = [10.0, 10.1, 9.9], [1.0, 10.0, 30.0]


def engine_of(numbers: Numbers, *, is_joint: bool, rule: StoppingRule = RULE) -> Engine:
    """One of all its arms, run."""
    policy = StoppingPolicy(rule, watched, is_joint=is_joint)
    engine: Engine = ReplicationEngine(list(numbers.of_arms), policy, numbers.run)
    engine.run()
    return engine


def test_each_arm_stops_when_it_is_precise() -> None:
    numbers = Numbers({"steady": STEADY, "scattered": SCATTERED})
    engine = engine_of(numbers, is_joint=False)
    assert {arm: point.n for arm, point in engine.stopped.items()} == {"steady": 3, "scattered": 9}
    assert engine.stopped["steady"].precise
    assert not engine.stopped["scattered"].precise
    assert engine.results("steady") == tuple(STEADY)
    assert engine.results("scattered") == tuple(SCATTERED * 3)
    assert [(each.begun, each.look, each.done_before) for each in numbers.rounds] == [
        (0, 3, 0), (3, 6, 6), (6, 9, 9),
    ]  # fmt: skip
    # The steady arm has its three; the other goes on as far as is known.
    assert [each.known_in_all for each in numbers.rounds] == [6, 9, 12]


def test_joint_arms_go_on_until_all_are_precise() -> None:
    numbers = Numbers({"steady": STEADY, "scattered": SCATTERED})
    engine = engine_of(numbers, is_joint=True)
    assert {arm: point.n for arm, point in engine.stopped.items()} == {"steady": 9, "scattered": 9}
    assert "for scattered" in engine.stopped["steady"].reason
    # Replication after replication, so that what is stopped has pairs.
    assert numbers.rounds[0].places[:3] == [("steady", 0), ("scattered", 0), ("steady", 1)]


@pytest.mark.parametrize(("is_joint", "left"), [(False, 9), (True, 3)])
def test_a_failure_ends_its_own_arm_or_all(is_joint: bool, left: int) -> None:
    numbers = Numbers({"broken": STEADY, "scattered": SCATTERED}, fails=("broken", 1))
    engine = engine_of(numbers, is_joint=is_joint)
    assert engine.failed == [(("broken", 1), "broken")]
    assert engine.results("broken") == (10.0,)  # there is a gap behind it
    assert len(engine.results("scattered")) == left
    assert "broken" not in engine.stopped
    assert not engine.interrupted


def test_what_was_cancelled_in_a_round_is_kept_as_far_as_it_came() -> None:
    stop = threading.Event()

    def one(of: Round[str], _: Callable[[int, str], None]) -> Iterator[DoneUnit[float]]:
        yield DoneUnit(0, 1.0)
        stop.set()

    policy = StoppingPolicy(StoppingRule(at_least=2, at_most=2), watched, is_joint=False)
    engine: Engine = ReplicationEngine(["arm"], policy, one, stop)
    engine.run()
    assert engine.interrupted
    assert engine.results("arm") == (1.0,)
    assert engine.stopped == {}


def test_runs_are_kept_that_come_with_their_results() -> None:
    run = cast("Run", "a run")  # it is only passed on

    def two(of: Round[str], _: Callable[[int, str], None]) -> Iterator[DoneUnit[float]]:
        yield DoneUnit(0, 1.0, (run,))
        yield DoneUnit(1, 2.0)

    policy = StoppingPolicy(StoppingRule(at_least=2, at_most=2), watched, is_joint=True)
    engine: Engine = ReplicationEngine(["arm"], policy, two)
    engine.run()
    assert engine.kept("arm", 2) == ((run,),)
    assert engine.kept("arm", 0) == ()
