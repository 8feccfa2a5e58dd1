"""Running studies by the executors and the store of comparisons.

For a unit (a replication of an arm) the store keeps its reduced result, and the runs that the study
shows. Its key covers everything that determines them: description, replication, backend and
versions of each run, as in a comparison, and the reducing function with its arguments and code.
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, Self, TypeVar

from dumbbell.backends import Failure
from dumbbell.compare.executing import Executor, FailedTask, Task
from dumbbell.compare.executing.identity import Identities, python_sha256
from dumbbell.compare.executing.stored import nothing_to_resume, said_of_damage
from dumbbell.errors import FailureKind, RunError
from dumbbell.replication.arm_keys import plain_key
from dumbbell.replication.performing import DoneUnit, SingleRunUnit, Unit, UnitCollector, Work
from dumbbell.spec import Experiment
from dumbbell.store import (
    CellName,
    Content,
    DamagedRunError,
    Digest,
    NotKeptError,
    Reader,
    Store,
    Writer,
    numbers_of,
    value_from,
)

R = TypeVar("R")
_FORMAT = "dumbbell reduced 2"
_REDUCING = ("studies", "claims", "theory")
"""Packages with reducing code, in addition to those of `code_sha256`."""


class ExecutorPerformer:
    """Performs units by an executor, and stores their results; use it in a ``with`` statement.

    It adapts the interface of studies (`Performer`) to that of comparisons (`Executor`).

    Attributes:
        found: Number of runs found in the store so far.
        made: Number of runs performed so far.
    """

    def __init__(
        self,
        executor: Executor,
        store: Store | None = None,
        *,
        study: str = "",
        resume: bool = False,
        tell: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """Set it up.

        Args:
            executor: Performs the runs, and returns their tables.
            store: Store of results; None for no store.
            study: Name under which results are listed and removed.
            resume: Whether it is an error if the store has none of the first requested results.
            tell: Called with a message about each damaged result, which is repeated and replaced.
        """
        self._executor = executor
        self._store = store
        self._study = study
        self._resume = resume
        self._tell = tell
        self._identities = Identities()
        self._open = ExitStack()
        self._reader: Reader | None = None
        self._writer: Writer | None = None
        self.found = 0
        self.made = 0

    def __enter__(self) -> Self:
        """Open the store to read.

        Raises:
            StoreError: It cannot be used.
        """
        if self._store is not None:
            self._store.check()
            self._reader = self._open.enter_context(self._store.reader())
        return self

    def __exit__(self, *_: object) -> None:
        """Write the remaining results, and close the store.

        Raises:
            OSError: The disk is full.
        """
        self._open.close()
        self._reader = self._writer = None

    def check(self, experiments: Iterable[Experiment], backend: str) -> None:
        """See `Performer`."""
        for experiment in experiments:
            self._executor.check(Task(experiment.resolved_json(), 0, backend))

    def perform(self, work: Work[R]) -> Iterator[DoneUnit[R]]:
        """See `Performer`. Stored results are yielded first.

        Raises:
            StoreError: The store cannot be used.
            OSError: The disk is full. Results that finished half a second earlier are stored.
        """
        described = _descriptions(work.units)
        tasks = [_tasks(unit, described, work) for unit in work.units]
        keys = self._keys(work, tasks)
        waiting: list[int] = []
        damaged: list[tuple[Task, DamagedRunError]] = []
        runs_found = 0
        for index, key in enumerate(keys):
            try:
                kept = self._kept(work, index, key)
            except DamagedRunError as error:
                damaged.append((tasks[index][0], error))
                kept = None
            if kept is None:
                waiting.append(index)
                continue
            self.found += len(tasks[index])
            runs_found += len(tasks[index])
            yield kept
        if damaged and self._reader is not None:
            # Report results that cannot be replaced in this file before anything is run.
            self._reader.check_structure()
            for sentence in said_of_damage(damaged):
                self._tell(sentence)
        self._check_resumed(keys, work)
        yield from self._made(work, waiting, tasks, keys, runs_found)

    def _check_resumed(self, keys: list[tuple[Digest, str] | None], work: Work[Any]) -> None:
        resume, self._resume = self._resume, False
        if resume and not self.found and self._store is not None:
            versions = {key[1] for key in keys if key is not None}
            raise nothing_to_resume(self._store, {self._study}, {work.backend}, versions)

    def _made(
        self,
        work: Work[R],
        waiting: list[int],
        tasks: list[tuple[Task, ...]],
        keys: list[tuple[Digest, str] | None],
        runs_found: int,
    ) -> Iterator[DoneUnit[R]]:
        collecting = UnitCollector(replace(work, units=[work.units[index] for index in waiting]))
        asked = [task for index in waiting for task in tasks[index]]
        running = self._executor.run(
            asked, cancel=work.cancel, on_progress=lambda done: work.on_progress(runs_found + done)
        )
        for each in running if asked else ():
            if isinstance(each, FailedTask):
                replication = asked[each.index].replication
                kind = each.error.kind if isinstance(each.error, RunError) else FailureKind.FAILED
                unit = waiting[collecting.places[each.index][0]]
                work.on_failure(Failure(unit, replication, str(each.error), kind))
                continue
            if each.run is None:
                raise TypeError("an executor that gives tables back: Threads, or Dask with_tables")
            self.made += 1
            done = collecting.take(each.index, each.run)
            if done is not None:
                done = replace(done, index=waiting[done.index])
                self._keep(work, done, tasks[done.index][0], keys[done.index])
                yield done

    def _keys(
        self, work: Work[Any], tasks: list[tuple[Task, ...]]
    ) -> list[tuple[Digest, str] | None]:
        """Key and version of each unit; None for a unit that cannot be stored."""
        name = reduction_name(work.reduce)
        if self._reader is None or name is None:
            return [None] * len(tasks)
        by_one = isinstance(work.reduce, SingleRunUnit)
        found: list[tuple[Digest, str] | None] = []
        for unit, of_unit in zip(work.units, tasks, strict=True):
            identities = [self._identities.of(task) for task in of_unit]
            parts = [
                _FORMAT,
                name,
                python_sha256(*_REDUCING),
                unit.replication < work.keep,
                [key.hex() for key, _ in identities],
                [] if by_one else [plain_key(key) for key in unit.experiments],
            ]
            digest = hashlib.sha256(json.dumps(parts).encode()).digest()
            found.append((digest, _version(identities[0][1])))
        return found

    def _kept(
        self, work: Work[R], index: int, key: tuple[Digest, str] | None
    ) -> DoneUnit[R] | None:
        if key is None or self._reader is None:
            return None
        numbers = self._reader.numbers(key[0])
        if numbers is None:
            return None
        result, runs = value_from(numbers, _function_of(work.reduce).__module__)
        return DoneUnit(index, result, runs)

    def _keep(
        self, work: Work[R], done: DoneUnit[R], task: Task, key: tuple[Digest, str] | None
    ) -> None:
        if key is None or self._store is None:
            return
        try:
            numbers = numbers_of((done.result, done.runs))
        except NotKeptError:  # captures are never stored
            return
        if self._writer is None:
            self._writer = self._open.enter_context(self._store.writer())
        content = Content(key[0], task.backend, task.replication, key[1], numbers)
        self._writer.add(content, CellName(self._study, (("part", work.task),)))


def reduction_name(reduce: Callable[..., object]) -> str | None:
    """Identification of a reducing function and its arguments; None if it has none.

    Module-level functions can be identified, and `functools.partial` of them with storable
    arguments. Lambdas and methods cannot, because they depend on the place of their creation.
    """
    if isinstance(reduce, SingleRunUnit):
        inner = reduction_name(reduce.reduce)
        return inner and f"one run: {inner}"
    function = _function_of(reduce)
    try:
        found = operator.attrgetter(function.__qualname__)(sys.modules[function.__module__])
        values = (reduce.args, reduce.keywords) if isinstance(reduce, functools.partial) else ()
        numbers = numbers_of(values)
    except (AttributeError, KeyError, NotKeptError):
        return None
    # A bound method is not the function of its class.
    if found is not function:
        return None
    arguments = hashlib.sha256(numbers.layout.encode() + numbers.values.tobytes()).hexdigest()
    return f"{function.__module__}.{function.__qualname__} {arguments}"


def _function_of(reduce: Callable[..., object]) -> Callable[..., object]:
    if isinstance(reduce, SingleRunUnit):
        return _function_of(reduce.reduce)
    return reduce.func if isinstance(reduce, functools.partial) else reduce


@functools.cache
def _version(of_runs: str) -> str:
    """Versions of the runs and of the reducing code, as JSON."""
    return json.dumps({**json.loads(of_runs), "reducing_sha256": python_sha256(*_REDUCING)})


def _descriptions(units: Iterable[Unit]) -> dict[int, str]:
    """Descriptions by identity of the experiment, resolved once for all its replications."""
    experiments = {id(each): each for unit in units for each in unit.experiments.values()}
    return {identity: each.resolved_json() for identity, each in experiments.items()}


def _tasks(unit: Unit, described: dict[int, str], work: Work[Any]) -> tuple[Task, ...]:
    return tuple(
        Task(described[id(each)], unit.replication, work.backend, work.task)
        for each in unit.experiments.values()
    )
