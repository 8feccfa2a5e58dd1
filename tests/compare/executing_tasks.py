"""Short tasks, and checks of their outcomes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dumbbell.compare.executing import Executor, FailedTask, FinishedTask, Task
from dumbbell.spec import Experiment

LINE: dict[str, Any] = {
    "name": "line",
    "duration": "1s",
    "links": [{"a": "server", "b": "home", "rate": "5mbit", "delay": "10ms"}],
    "flows": [
        {
            "name": "bulk",
            "count": 2,
            "from": "server",
            "to": "home",
            "start_jitter": "200ms",
            "source": {"kind": "greedy"},
        }
    ],
    # Without an answer its times are NaN.
    "probes": [
        {"name": "ping", "from": "home", "to": "server", "interval": "5s", "start": "999ms"}
    ],
}


def line(**changes: Any) -> Experiment:
    return Experiment.read(LINE).with_(**changes)


def tasks(count: int, **changes: Any) -> list[Task]:
    text = line(**changes).resolved_json()
    return [Task(text, replication, "sim") for replication in range(count)]


def endless(replication: int = 0) -> Task:
    """One that takes hours."""
    source = {"kind": "poisson", "rate": "100000pps", "size": "100B"}
    flow = {"name": "f", "from": "server", "to": "home", "source": source}
    text = line(duration="10000s", flows=[flow]).resolved_json()
    return Task(text, replication, "sim")


def by_place(found: Iterable[FinishedTask | FailedTask]) -> dict[int, Any]:
    """What must be the same whoever did it: to the bit, NaN included."""
    said: dict[int, Any] = {}
    for each in found:
        assert each.index not in said, "yielded twice"
        if isinstance(each, FailedTask):
            said[each.index] = str(each.error)
            continue
        summary = each.summary
        said[each.index] = (
            each.digest,
            summary.quantities,
            summary.numbers.tobytes(),
            dict(summary.groups),
        )
    return said


def done(executor: Executor, wanted: list[Task], **how: Any) -> dict[int, Any]:
    return by_place(executor.run(wanted, **how))


def assert_same(found: dict[int, Any], expected: dict[int, Any]) -> None:
    """The same at every place; else which differ, and how: the numbers alone fill pages."""
    differ = {
        place: _shortly(found.get(place, "missing"))
        for place in sorted(found.keys() | expected.keys())
        if found.get(place) != expected.get(place)
    }
    assert not differ, f"{len(differ)} of {len(expected)} differ: {differ}"


def _shortly(outcome: Any) -> str:
    """Why it failed; of what has numbers the digest."""
    return str(outcome if isinstance(outcome, str) else outcome[0])
