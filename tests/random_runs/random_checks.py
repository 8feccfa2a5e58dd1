"""A description that is run and checked, and a failing one made small."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from random_descriptions import Description
from run_invariants import violations

from dumbbell.backends import Failure, run_many
from dumbbell.errors import FailureKind, SpecError
from dumbbell.spec import Experiment
from dumbbell.tables import Run

MOST_TIMES_FORESEEN = 5
STOPPED = (FailureKind.TOO_MANY_EVENTS, FailureKind.OUT_OF_MEMORY)
"""How the watch may end a run whose cost was not foreseen."""
REPLICATIONS = 2
_MOST_TRIALS = 300


def faults(description: Description) -> list[str]:
    """Runs a description by two threads, and again by one; what does not hold of it.

    Nothing but an interruption leaves this function: whatever else is raised is a fault.
    """
    try:
        return _faults(description)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]


def _faults(description: Description) -> list[str]:
    experiment = Experiment.read(copy.deepcopy(description))
    found = _read_back(experiment)
    by_two, failures = _runs(experiment, REPLICATIONS, jobs=2)
    again, again_failures = _runs(experiment, 1, jobs=1)
    for replication, run in by_two.items():
        found += [f"replication {replication}: {fault}" for fault in violations(run)]
        found += [f"replication {replication}: {fault}" for fault in _cost(run)]
    for failure in (*failures, *again_failures):
        if failure.kind not in STOPPED:
            found.append(f"replication {failure.replication}: {failure.message}")
    if _identity(by_two.get(0)) != _identity(again.get(0)):
        found.append("replication 0 alone, by one thread, has another digest")
    return found


def _read_back(experiment: Experiment) -> list[str]:
    text = experiment.resolved_json()
    if Experiment.from_resolved(text).resolved_json() != text:
        return ["the resolved description, read back, resolves to another"]
    return []


def _runs(
    experiment: Experiment, replications: int, *, jobs: int
) -> tuple[dict[int, Run], list[Failure]]:
    failures: list[Failure] = []
    pairs = [(experiment, replication) for replication in range(replications)]
    done = dict(run_many(pairs, jobs=jobs, on_failure=failures.append))
    return done, failures


def _identity(run: Run | None) -> tuple[str, int] | None:
    return None if run is None else (run.meta["digest"], run.meta["events"])


def _cost(run: Run) -> Iterator[str]:
    """Events and memory are at most five times what was foreseen."""
    foreseen = run.provenance
    for what, took, expected in (
        ("events", run.meta["events"], foreseen["expected_events"]),
        ("bytes of memory", foreseen["memory_bytes"], foreseen["expected_memory_bytes"]),
    ):
        if took > MOST_TIMES_FORESEEN * expected:
            yield f"{took} {what}, {expected} were foreseen"


# --- a failing description made small -------------------------------------------------------


def shrunk(description: Description, fails: Callable[[Description], bool]) -> Description:
    """The description without whatever it fails without.

    Args:
        description: One that fails.
        fails: Whether one still does; also asked of some that are not valid.
    """
    trials = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for path in sorted(_paths(description), key=_breadth):
            trials += 1
            if trials > _MOST_TRIALS:
                return description
            smaller = _without(description, path)
            if smaller is not None and fails(smaller):
                description, is_smaller = smaller, True
    return description


_Path = tuple[str | int, ...]


def _paths(value: Any, path: _Path = ()) -> Iterator[_Path]:
    """Of all members of tables and of lists."""
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in members:
        yield (*path, key)
        if isinstance(member, dict | list):
            yield from _paths(member, (*path, key))


def _breadth(path: _Path) -> int:
    """Whole flows and links go before their members do."""
    return len(path)


def _without(description: Description, path: _Path) -> Description | None:
    """Without one member; None where an earlier step took it along."""
    smaller = copy.deepcopy(description)
    inside: Any = smaller
    try:
        for key in path[:-1]:
            inside = inside[key]
        del inside[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller


def is_valid(description: Description) -> bool:
    """Whether it describes an experiment at all."""
    try:
        Experiment.read(copy.deepcopy(description))
    except SpecError:
        return False
    return True


def kept(description: Description, folder: Path) -> tuple[Path, str]:
    """Writes a failing description as a file, as small as it still fails.

    Returns:
        The file, and its text.
    """
    was_valid = is_valid(description)

    def fails(smaller: Description) -> bool:
        return is_valid(smaller) == was_valid and bool(faults(smaller))

    text = as_toml(shrunk(description, fails))
    file = folder / f"{description['name']}.toml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file, text


def as_toml(description: Description) -> str:
    """A description as a file; a list of tables has one a line."""
    lines = []
    for key, value in description.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            members = "".join(f"    {_inline(member)},\n" for member in value)
            lines.append(f"{key} = [\n{members}]")
        else:
            lines.append(f"{key} = {_inline(value)}")
    return "\n".join(lines) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_inline(each) for each in value) + "]"
    # Words, numbers and truth are written as in JSON.
    return json.dumps(value)
