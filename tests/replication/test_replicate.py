from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from replication_samples import LONG, NumberingBackend, queue, sojourn, two_arms

from dumbbell.backends import registry
from dumbbell.errors import DumbbellError, SpecError
from dumbbell.replication import Progress, Quantity, Replications, replicate, replicate_groups
from dumbbell.stats import StatsError
from dumbbell.tables import Run
from waiting import PATIENCE_S


@pytest.fixture
def numbering(monkeypatch: pytest.MonkeyPatch) -> NumberingBackend:
    backend = NumberingBackend(set())
    module = type(sys)("numbering_backend")
    module.BACKEND = backend  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "numbering_backend", module)
    monkeypatch.setitem(registry._MODULES, "numbering", "numbering_backend")
    return backend


def number(run: Run) -> int:
    return run.replication


def test_the_result_does_not_depend_on_threads() -> None:
    def with_jobs(jobs: int) -> tuple[int, str, list[list[float]]]:
        done = replicate(
            two_arms(), sojourn, at_least=6, at_most=60, batch=5, precision=0.05, jobs=jobs
        )
        return done.n, done.stopped_because, [done.values(arm).tolist() for arm in done.arms]

    one = with_jobs(1)
    assert with_jobs(2) == one
    assert with_jobs(5) == one
    assert 6 < one[0] < 60
    assert "precise enough" in one[1]


def test_values_stand_in_replication_order(numbering: NumberingBackend) -> None:
    done = replicate(two_arms(), number, at_least=7, backend="numbering", jobs=3)
    assert done.values("slow").tolist() == list(range(7))
    assert (done.n, done.precise, done.interrupted, done.failed) == (7, True, False, ())
    assert done.stopped_because == "7 replications, as asked"


def test_the_first_replications_are_those_of_a_longer_campaign() -> None:
    short = replicate({"run": queue()}, sojourn, at_least=3)
    long = replicate({"run": queue()}, sojourn, at_least=8)
    assert short.values("run").tolist() == long.values("run")[:3].tolist()
    assert len(set(long.values("run").tolist())) == 8


def test_arms_see_the_same_random_numbers() -> None:
    same = replicate({"one": queue(), "two": queue()}, sojourn, at_least=3)
    np.testing.assert_array_equal(same.values("one"), same.values("two"))
    other = replicate({"one": queue(), "two": queue(name="other")}, sojourn, at_least=3)
    assert (other.values("one") != other.values("two")).all()


def test_the_seed_can_be_replaced() -> None:
    own = replicate({"run": queue().with_seed(9)}, sojourn, at_least=2)
    given = replicate({"run": queue()}, sojourn, at_least=2, seed=9)
    assert own.values("run").tolist() == given.values("run").tolist()
    assert replicate({"run": queue()}, sojourn, at_least=2).first("run") != own.values("run")[0]


@dataclass(frozen=True)
class Reduced:
    replication: int
    sojourn_s: float
    constant: float = 1.0


def reduced(run: Run) -> Reduced:
    return Reduced(run.replication, sojourn(run))


def twice(result: Reduced) -> float:
    return 2.0 * result.sojourn_s


def test_results_of_any_type_by_arm() -> None:
    one, two = ("queue", 1), ("queue", 2)
    done = replicate({one: queue("1mbit"), two: queue("2mbit")}, reduced, at_least=4)
    assert done.arms == [one, two]
    assert [each.replication for each in done.of(one)] == [0, 1, 2, 3]
    assert done.first(two) == done.of(two)[0]
    in_s = done.values(one, "sojourn_s")
    np.testing.assert_array_equal(done.values(one, twice), 2.0 * in_s)
    assert done.values(one, lambda each: np.array([1.0, 2.0])).shape == (4, 2)
    assert done.across([two, one], "sojourn_s").tolist() == [
        done.first(two).sojourn_s,
        done.first(one).sojourn_s,
    ]
    with pytest.raises(DumbbellError, match="'wait' is no quantity of a Reduced; there are repl"):
        done.values(one, "wait")


def test_arms_are_paired_by_replication() -> None:
    done = replicate({1: queue("1mbit"), 2: queue("2mbit")}, reduced, at_least=12)
    less = done.values(1, twice) - done.values(2, twice)
    paired = done.difference(1, 2, twice)
    assert paired.value == pytest.approx(less.mean())
    # Seeing the same arrivals, the two vary together.
    assert paired.half_width < done.estimate(1, twice).half_width
    of_means = done.values(1, twice).mean() / done.values(2, twice).mean()
    assert done.ratio(1, 2, twice).value == pytest.approx(of_means, rel=0.01)


def test_runs_of_a_group_are_reduced_together() -> None:
    def slower_by(runs: Mapping[str, Run]) -> float:
        assert list(runs) == ["fast", "slow"]
        assert len({run.replication for run in runs.values()}) == 1
        return sojourn(runs["slow"]) - sojourn(runs["fast"])

    done = replicate_groups(
        {True: two_arms(), False: two_arms()}, slower_by, at_least=3, jobs=3, keep=1
    )
    alone = replicate(two_arms(), sojourn, at_least=3)
    less = alone.values("slow") - alone.values("fast")
    assert done.values(True).tolist() == done.values(False).tolist() == less.tolist()
    assert [sojourn(run) for run in done.kept[True][0]] == [
        alone.first("fast"),
        alone.first("slow"),
    ]


def test_precision_of_one_quantity_and_the_most_that_is_allowed() -> None:
    def watching(*quantities: Quantity[Reduced]) -> Replications[str, Reduced]:
        return replicate(
            two_arms(),
            reduced,
            at_least=3,
            at_most=7,
            batch=2,
            precision=1e-6,
            precision_of=quantities,
        )

    done = watching("constant", twice)
    assert done.n == 7
    assert not done.precise
    assert "the most allowed" in done.stopped_because
    assert "for twice of fast, twice of slow" in done.stopped_because
    assert (watching("constant").n, watching("constant").precise) == (3, True)
    with pytest.raises(DumbbellError, match="'quick' is no quantity of a Reduced"):
        watching("quick")


def test_runs_are_kept_as_asked_and_no_more() -> None:
    done = replicate(two_arms(), sojourn, at_least=4, keep=2)
    assert {arm: [run.replication for (run,) in kept] for arm, kept in done.kept.items()} == {
        "fast": [0, 1],
        "slow": [0, 1],
    }
    assert sojourn(done.run("slow", 1)) == done.values("slow")[1]
    assert replicate(two_arms(), sojourn, at_least=1).kept == {"fast": (), "slow": ()}


def test_runs_are_let_go_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many replications there are, a few runs are there at one time."""
    alive: weakref.WeakSet[Run] = weakref.WeakSet()
    most = 0

    def watched(run: Run) -> float:
        nonlocal most
        alive.add(run)
        most = max(most, len(alive))
        return sojourn(run)

    monkeypatch.setattr(Run, "__hash__", object.__hash__)
    replicate(two_arms(), watched, at_least=100, jobs=1, keep=1)
    assert most <= 6  # two are kept, two wait for their turn


def test_an_interval_over_the_replications() -> None:
    done = replicate({"run": queue()}, sojourn, at_least=10)
    estimate = done.estimate("run", level=0.9)
    assert (estimate.n, estimate.level) == (10, 0.9)
    assert estimate.value == pytest.approx(done.values("run").mean())


def test_a_failed_replication_ends_the_values_before_it(numbering: NumberingBackend) -> None:
    numbering.fails_at = {4, 6}
    done = replicate(
        two_arms(), number, at_least=3, at_most=30, batch=5, precision=0.1, backend="numbering"
    )
    assert done.values("slow").tolist() == [0, 1, 2, 3]
    assert "replication 4 failed: out of luck" in done.stopped_because
    assert {failure.replication for failure in done.failed} == {4, 6}
    assert max(numbering.started) == 7  # the batch under way, no further one


def test_cancelling_keeps_the_finished_ones_in_order() -> None:
    stop = threading.Event()
    seen: set[int] = set()

    def stop_after_three(run: Run) -> float:
        seen.add(run.replication)
        if {0, 1, 2} <= seen:  # they end in any order
            stop.set()
        return sojourn(run)

    done = replicate({"run": queue(duration="3000s")}, stop_after_three, at_least=400, jobs=2,
                     cancel=stop)  # fmt: skip
    assert done.interrupted
    assert 3 <= done.n < 400
    whole = replicate({"run": queue(duration="3000s")}, sojourn, at_least=done.n)
    assert done.values("run").tolist() == whole.values("run").tolist()
    assert done.stopped_because == f"interrupted after {done.n} replications"


def test_cancelling_before_anything_finished() -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    began = time.monotonic()
    done = replicate({"run": queue(duration=LONG)}, sojourn, at_least=2, cancel=stop)
    assert time.monotonic() - began < PATIENCE_S
    assert (done.n, done.of("run"), done.interrupted) == (0, (), True)


def test_cancelled_beforehand_nothing_is_run(numbering: NumberingBackend) -> None:
    stop = threading.Event()
    stop.set()
    done = replicate(two_arms(), number, at_least=2, backend="numbering", cancel=stop)
    assert (done.n, done.interrupted, numbering.started) == (0, True, [])


STOPPED = {
    "replicate": """
from dumbbell.replication import replicate
def tell(run):
    print(run.replication, flush=True)
    return sojourn(run)
def work():
    replicate({"run": queue(duration="20000s")}, tell, at_least=5000, jobs=2)
""",
    "compare": """
from dumbbell.compare import Cell, compare
def work():
    cells = [Cell("run", queue(duration="20000s"))]
    compare(cells, replications=5000, jobs=2, on_progress=lambda done: print(0, flush=True))
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("function", STOPPED)
def test_ctrl_c_reaches_whoever_called(function: str) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from replication_samples import queue, sojourn
{STOPPED[function]}
try:
    work()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as it:
        assert it.stdout is not None
        while int(it.stdout.readline()) != 0:
            pass  # the other thread's may end first
        assert it.stdout.readline()  # the next is begun, so the first is entered
        it.send_signal(signal.SIGINT)
        asked = time.monotonic()
        rest = it.stdout.read().splitlines()
        assert rest[-1] == "stopped"
        assert time.monotonic() - asked < PATIENCE_S
        assert it.wait(timeout=PATIENCE_S) == 0


def test_progress_grows_to_the_next_look() -> None:
    told: list[Progress] = []
    replicate(two_arms(), sojourn, at_least=4, at_most=8, batch=4, precision=1e-6,
              task="warming", on_progress=told.append)  # fmt: skip
    assert {each.task for each in told} == {"warming"}
    assert [each.done for each in told] == sorted(each.done for each in told)
    assert {each.total for each in told} == {4, 8}
    assert told[-1].done == 8
    assert "asked for ±0.0001 %" in told[-1].detail


def test_what_makes_no_sense_is_refused_before_a_run() -> None:
    with pytest.raises(StatsError, match="at_least"):
        replicate(two_arms(), sojourn, at_least=1, at_most=5, precision=0.1)
    with pytest.raises(SpecError, match="at most a day"):
        replicate({"ok": queue(), "slow": queue(duration="14000000s", pps=200_000)}, sojourn,
                  at_least=2)  # fmt: skip
    with pytest.raises(SpecError, match="one of sim"):
        replicate(two_arms(), sojourn, at_least=2, backend="ns3")


def test_nothing_to_run_is_refused() -> None:
    with pytest.raises(SpecError, match="at least one experiment"):
        replicate({}, sojourn, at_least=2)
    with pytest.raises(SpecError, match="at least one experiment"):
        replicate_groups({"none": {}}, len, at_least=2)
