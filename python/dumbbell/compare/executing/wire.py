"""Tasks and outcomes as JSON: everything that crosses to another process or machine.

JSON is safe to read: it holds numbers and names and executes nothing. Numbers are exact to the last
bit, because Python's `repr` of a float is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from dumbbell.compare.executing.executor import FailedTask, FinishedTask, Task
from dumbbell.compare.executing.tables_on_wire import run_as_json, run_from_json
from dumbbell.compare.quantity import Quantity
from dumbbell.compare.summary import Summary, shared
from dumbbell.errors import DumbbellError, FailureKind, RunError, SpecError

Json: TypeAlias = Mapping[str, Any]
_SPEC_FIELDS = ("path", "value", "allowed", "hint", "reason")


def tasks_as_json(tasks: Iterable[Task]) -> Json:
    """Tasks as JSON, with each description once."""
    descriptions: dict[str, int] = {}
    rows = [
        (
            descriptions.setdefault(task.description, len(descriptions)),
            task.replication,
            task.backend,
        )
        for task in tasks
    ]
    return {"descriptions": list(descriptions), "tasks": rows}


def tasks_from_json(message: Json) -> list[Task]:
    """Restore tasks from `tasks_as_json`."""
    descriptions = message["descriptions"]
    return [
        Task(descriptions[place], replication, backend)
        for place, replication, backend in message["tasks"]
    ]


class Sender:
    """Encodes outcomes; sends the list of quantities once, then only numbers."""

    def __init__(self) -> None:
        """Start a stream of messages, to be read in order by one `Receiver`."""
        self._said: dict[tuple[Any, ...], int] = {}

    def message(self, outcome: FinishedTask | FailedTask) -> Json:
        """Encode an outcome; if its tables cannot be sent, encode a failure."""
        if isinstance(outcome, FailedTask):
            return {"index": outcome.index, "error": _error_as_json(outcome.error)}
        try:
            run = None if outcome.run is None else run_as_json(outcome.run)
        except RunError as error:
            return {"index": outcome.index, "error": _error_as_json(error)}
        summary = outcome.summary
        groups = {name: list(members) for name, members in summary.groups.items()}
        key = (summary.quantities, tuple((name, *members) for name, members in groups.items()))
        message: dict[str, Any] = {
            "index": outcome.index,
            "of": self._said.get(key, len(self._said)),
            "numbers": summary.numbers.tolist(),
            "digest": outcome.digest,
        }
        if run is not None:
            message["run"] = run
        if key not in self._said:
            self._said[key] = len(self._said)
            message["paths"] = [each.path for each in summary.quantities]
            message["groups"] = groups
        return message


class Receiver:
    """Decodes the messages of one `Sender`."""

    def __init__(self) -> None:
        """Start a stream."""
        self._said: list[tuple[tuple[Quantity, ...], Mapping[str, tuple[str, ...]]]] = []

    def outcome(self, message: Json, tasks: Sequence[Task] = ()) -> FinishedTask | FailedTask:
        """Decode a message; if it may have tables, they belong to one of these tasks.

        Raises:
            RunError: Its tables are malformed.
        """
        if "error" in message:
            return FailedTask(message["index"], _error_from_json(message["error"]))
        if "paths" in message:
            members = tuple((name, tuple(names)) for name, names in message["groups"].items())
            quantities = tuple(Quantity.parse(path) for path in message["paths"])
            self._said.append(shared(quantities, members))
        quantities, groups = self._said[message["of"]]
        numbers = np.array(message["numbers"], dtype=np.float64)
        index = message["index"]
        run = run_from_json(message["run"], tasks[index]) if "run" in message else None
        return FinishedTask(index, Summary(quantities, numbers, groups), message["digest"], run)


def _error_as_json(error: DumbbellError) -> Json:
    if isinstance(error, SpecError):
        return {name: getattr(error, name) for name in _SPEC_FIELDS}
    kind = error.kind if isinstance(error, RunError) else FailureKind.FAILED
    return {"message": str(error), "failure": kind.value}


def _error_from_json(message: Json) -> DumbbellError:
    if "message" in message:
        return RunError(message["message"], FailureKind(message["failure"]))
    return SpecError(*(message[name] for name in _SPEC_FIELDS))
