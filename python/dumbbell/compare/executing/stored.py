"""An executor that takes results from a store where it can, and stores the others."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from dumbbell.backends import Cancellation
from dumbbell.backends.captures import asks_for_capture
from dumbbell.compare.cells import Cell
from dumbbell.compare.executing.executor import (
    Executor,
    FailedTask,
    FinishedTask,
    Task,
    TellDone,
    after,
)
from dumbbell.compare.executing.identity import Identities
from dumbbell.compare.executing.kept import Layouts, summary_from
from dumbbell.compare.summary import Summary
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, DumbbellError, SpecError
from dumbbell.spec import Experiment, Setting
from dumbbell.store import (
    CellName,
    Content,
    DamagedRunError,
    DamagedRunWarning,
    Digest,
    KeptTables,
    Reader,
    Shard,
    Store,
    StoreError,
    Writer,
)
from dumbbell.tables import Run

_NAMED_DAMAGED = 5


class ShareDone(DumbbellError):  # noqa: N818 - an end, not an error
    """A shard has done its share, but runs of other shards are still missing.

    Attributes:
        shard: The shard.
        done: Runs it performed now.
        there: Runs that are in the store.
        of: Number of all runs.
        failed: Its tasks that failed, and why.
    """

    def __init__(
        self,
        shard: Shard,
        done: int,
        there: int,
        of: int,
        failed: Sequence[tuple[Task, DumbbellError]],
    ) -> None:
        """Store the attributes."""
        self.shard = shard
        self.done = done
        self.there = there
        self.of = of
        self.failed = tuple(failed)
        self.exit_code = EXIT_CONTRADICTED_OR_FAILED if failed else EXIT_DONE
        super().__init__(f"shard {shard}: {done} runs done; {there} of all {of} are in the store")

    @classmethod
    def of_parts(cls, parts: Sequence[ShareDone], whole: int) -> ShareDone:
        """Sum over parts of the tasks, plus runs of parts that are complete."""
        return cls(
            parts[0].shard,
            sum(each.done for each in parts),
            whole + sum(each.there for each in parts),
            whole + sum(each.of for each in parts),
            [one for each in parts for one in each.failed],
        )


@dataclass(frozen=True, slots=True)
class NamedCell:
    """The cell under which runs are listed.

    Attributes:
        name: Its name.
        description: Description of its experiment; a run with another one is a member of an
            ensemble.
    """

    name: CellName
    description: str

    def of(self, task: Task) -> CellName:
        """The listing of a task."""
        return replace(self.name, is_ensemble=task.description != self.description)


def named(experiment: Experiment, settings: Sequence[Setting]) -> CellName:
    """The listing of an experiment with these settings."""
    return CellName(
        experiment.name, tuple((each.path, str(each).partition("=")[2]) for each in settings)
    )


def cell_names(cells: Sequence[Cell]) -> Mapping[str, NamedCell]:
    """The listings of cells, by label."""
    return {
        cell.label: NamedCell(
            named(cell.experiment, cell.settings), cell.experiment.resolved_json()
        )
        for cell in cells
    }


@dataclass
class _Work:
    """Tasks grouped by key, since several cells may ask for the same run."""

    tasks: Sequence[Task]
    identities: Sequence[tuple[Digest, str]]
    waiting: dict[Digest, list[int]] = field(default_factory=dict)
    unasked: list[tuple[Digest, CellName]] = field(default_factory=list)
    damaged: list[tuple[Task, DamagedRunError]] = field(default_factory=list)
    found: int = 0

    def own(self, shard: Shard | None) -> list[Digest]:
        """The keys to be done by this shard. All shards of a command number the keys alike."""
        if shard is None:
            return list(self.waiting)
        places = enumerate(dict.fromkeys(key for key, _ in self.identities))
        return [key for place, key in places if shard.has(place) and key in self.waiting]


class Stored:
    """Takes known results from a store, has an executor perform the others, and stores those."""

    def __init__(
        self,
        executor: Executor,
        store: Store,
        *,
        cells: Mapping[str, NamedCell] = MappingProxyType({}),
        tables_below: int = 0,
        keep_tables: bool = False,
        resume: bool = False,
        tell: Callable[[str], None] | None = None,
        on_found: Callable[[int, int], None] | None = None,
    ) -> None:
        """Configure it.

        Args:
            executor: Performs the missing tasks.
            store: The store. With a `Shard` only a share is performed, and `run` ends with
                `ShareDone` while other shards' runs are missing.
            cells: Listing of each cell, by label; others are listed under the experiment's name.
            tables_below: Replications below this number need their tables, and are repeated if only
                their numbers were stored.
            keep_tables: Whether tables are stored too. Captures are not.
            resume: Whether an empty store is an error.
            tell: Receives a sentence about what was found, and one for each damaged run, which is
                repeated and replaced; when None, a damaged run is a `DamagedRunWarning`.
            on_found: Receives the number of runs found, and of all, in place of a sentence.
        """
        self._executor = executor
        self._store = store
        self._cells = dict(cells)
        self._tables_below = tables_below
        self._keep_tables = keep_tables
        self._resume = resume
        self._tell = tell
        self._tell_found = tell
        self._on_found = on_found
        self._layouts = Layouts()
        self._identities = Identities()

    @property
    def place(self) -> Path:
        """Folder of the store."""
        return self._store.folder

    def check(self, task: Task) -> None:
        """See `Executor`."""
        self._executor.check(task)

    def there(self, tasks: Iterable[Task]) -> Iterator[bool]:
        """For each task, in order, whether `run` would take it from the store.

        Raises:
            StoreError: The store cannot be read.
        """
        with self._store.reader() as reader:
            for task in tasks:
                key, _ = self._identities.of(task)
                yield self._undamaged(reader, 0, task, key) is not None

    def run(
        self,
        tasks: Sequence[Task],
        *,
        cancel: Cancellation | None = None,
        on_progress: TellDone | None = None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """See `Executor`. Stored results come first.

        Raises:
            ShareDone: This share is done, and those of other shards are not.
            StoreError: The store cannot be used, or there is nothing to resume.
            OSError: The disk is full. Runs that finished at least half a second before are stored.
        """
        work = _Work(tasks, [self._identities.of(task) for task in tasks])
        with self._store.reader() as reader:
            yield from self._known(work, reader)
            if work.damaged:
                # Report damage that cannot be repaired before anything is run.
                reader.check_structure()
        self._say(work)
        shard = self._store.shard
        own = work.own(shard)
        failed: dict[Digest, tuple[Task, DumbbellError]] = {}
        for each in self._done(work, own, cancel, on_progress):
            if isinstance(each, FailedTask):
                failed[work.identities[each.index][0]] = tasks[each.index], each.error
            yield each
        if shard is not None and not (cancel is not None and cancel.is_set()):
            yield from self._of_others(work, shard, own, [*failed.values()])

    def _known(self, work: _Work, reader: Reader) -> Iterator[FinishedTask]:
        for index, (task, (key, _)) in enumerate(zip(work.tasks, work.identities, strict=True)):
            if key in work.waiting:
                work.waiting[key].append(index)
                continue
            finished = self._undamaged(reader, index, task, key, work.damaged)
            if finished is None:
                work.waiting[key] = [index]
                continue
            cell = self._cell(task)
            if not reader.is_asked(key, cell):
                work.unasked.append((key, cell))
            work.found += 1
            yield finished

    def _undamaged(
        self,
        reader: Reader,
        index: int,
        task: Task,
        key: Digest,
        damaged: list[tuple[Task, DamagedRunError]] | None = None,
    ) -> FinishedTask | None:
        """A run from the store; None if it is missing or damaged."""
        try:
            return self._finished(reader, index, task, key)
        except DamagedRunError as error:
            if damaged is not None:
                damaged.append((task, error))
            return None

    def _finished(self, reader: Reader, index: int, task: Task, key: Digest) -> FinishedTask | None:
        numbers = reader.numbers(key)
        if numbers is None:
            return None
        run = None
        if self._shows_tables(task) or self._must_keep_tables(task):
            kept = reader.kept_tables(key)
            if kept is None:
                return None
            if self._shows_tables(task):
                run = run_from(reader, kept, task, key)
        return FinishedTask(index, summary_from(numbers), run=run)

    def _shows_tables(self, task: Task) -> bool:
        return task.replication < self._tables_below

    def _must_keep_tables(self, task: Task) -> bool:
        return self._keep_tables and not asks_for_capture(task.description)

    def _done(
        self,
        work: _Work,
        own: Sequence[Digest],
        cancel: Cancellation | None,
        on_progress: TellDone | None,
    ) -> Iterator[FinishedTask | FailedTask]:
        """Perform this shard's tasks, and store each result as it arrives."""
        if not own:
            # The record of requests is for lists only: a read-only store or a full disk must not
            # fail here.
            with contextlib.suppress(StoreError, OSError):
                if work.unasked:
                    with self._store.writer() as writer:
                        _ask(writer, work.unasked)
            return
        with self._store.writer() as writer:
            _ask(writer, work.unasked)
            mine = [work.tasks[work.waiting[key][0]] for key in own]
            running = self._executor.run(
                mine, cancel=cancel, on_progress=after(on_progress, work.found)
            )
            for each in running:
                key = own[each.index]
                if isinstance(each, FinishedTask):
                    self._keep(writer, work, key, each)
                for index in work.waiting[key]:
                    yield replace(each, index=index)

    def _keep(self, writer: Writer, work: _Work, key: Digest, each: FinishedTask) -> None:
        places = work.waiting[key]
        task, version = work.tasks[places[0]], work.identities[places[0]][1]
        numbers = self._layouts.numbers(each.summary)
        content = Content(key, task.backend, task.replication, version, numbers)
        if self._must_keep_tables(task):
            if each.run is None:
                allowed = "an executor that gives tables back: Threads, or Dask with_tables"
                raise SpecError("keep_tables", type(self._executor).__name__, allowed)
            content = replace(content, run=_tables(each.run))
        writer.add(content, *(self._cell(work.tasks[index]) for index in places))

    def _of_others(
        self,
        work: _Work,
        shard: Shard,
        own: Sequence[Digest],
        failed: Sequence[tuple[Task, DumbbellError]],
    ) -> Iterator[FinishedTask]:
        """Results of other shards; without all of them there is no result."""
        mine = set(own)
        others = [key for key in work.waiting if key not in mine]
        with self._store.reader() as reader:
            there = [key for key in others if key in reader]
            missing = len(others) - len(there)
            if missing:
                of = len({key for key, _ in work.identities})
                raise ShareDone(
                    shard, len(own) - len(failed), of - missing - len(failed), of, failed
                )
            for key in others:
                numbers = reader.numbers(key)
                assert numbers is not None
                for index in work.waiting[key]:
                    yield FinishedTask(index, summary_from(numbers))

    def _say(self, work: _Work) -> None:
        resume, self._resume = self._resume, False
        for sentence in said_of_damage(work.damaged):
            (self._tell or _warn)(sentence)
        tell, self._tell_found = self._tell_found, None
        if self._on_found is not None:
            self._on_found(work.found, len(work.tasks))
        elif work.found and tell is not None:
            verb = "resumed" if resume else "not repeated"
            tell(f"{work.found} of {len(work.tasks)} runs are in {self._store.folder}: {verb}")
        if resume and not work.found:
            raise nothing_to_resume(
                self._store,
                {self._cell(task).experiment for task in work.tasks},
                {task.backend for task in work.tasks},
                {version for _, version in work.identities},
            )

    def _cell(self, task: Task) -> CellName:
        known = self._cells.get(task.cell)
        if known is None:
            return CellName(str(json.loads(task.description)["name"]))
        return known.of(task)


def nothing_to_resume(
    store: Store, names: Collection[str], backends: Collection[str], versions: Collection[str]
) -> StoreError:
    """The message if a command is to resume and the store has none of its runs.

    Args:
        store: The store that was searched.
        names: Names of the command's experiments.
        backends: Backends of the command.
        versions: Versions that determine the results, as stored with runs.
    """
    with store.reader() as reader:
        there = [each for each in reader.listed() if each.cell.experiment in names]
    # A backend's contents are part of its version; the version of another backend does not matter.
    known = {each.version for each in there if each.backend in backends}
    reason = "no runs of this name are stored"
    if there:
        reason = f"{len(there)} runs of this name are stored, of other values or backends"
        if known and known.isdisjoint(versions):
            reason = f"{len(there)} runs of this name are stored, of another version of dumbbell"
    allowed = "the same command as the one that was stopped, or without --resume"
    return StoreError("--resume", store.folder, allowed, reason=reason)


def run_from(reader: Reader, kept: KeptTables, task: Task, key: Digest) -> Run:
    """A run whose tables were stored.

    Raises:
        StoreError: The tables are damaged.
    """
    return Run(
        origin=kept.origin,
        replication=task.replication,
        spec=json.loads(task.description),
        tables=reader.tables(key, kept),
        meta=kept.meta,
        provenance=kept.provenance,
    )


def kept_run(store: Store, task: Task, tell: Callable[[str], None] | None = None) -> Run | None:
    """A single run from the store; None if its tables are missing.

    Args:
        store: The store.
        task: The task.
        tell: Receives a sentence if they are damaged, which counts as missing; when None, that is a
            `DamagedRunWarning`.

    Raises:
        StoreError: The store cannot be read.
    """
    key, _ = Identities().of(task)
    with store.reader() as reader:
        try:
            kept = reader.kept_tables(key)
            return None if kept is None else run_from(reader, kept, task, key)
        except DamagedRunError as error:
            reader.check_structure()
            for sentence in said_of_damage([(task, error)]):
                (tell or _warn)(sentence)
            return None


def said_of_damage(damaged: Sequence[tuple[Task, DamagedRunError]]) -> Iterator[str]:
    """Sentences about damaged runs that are repeated; only the first few by name."""
    for task, error in damaged[:_NAMED_DAMAGED]:
        of = f"{task.cell} " if task.cell else ""
        yield (
            f"{error.path}: {error.value} ({of}{task.backend}, replication {task.replication}): "
            f"{error.reason}; it is made again"
        )
    if len(damaged) > _NAMED_DAMAGED:
        yield f"and {len(damaged) - _NAMED_DAMAGED} damaged runs more, which are made again too"


def _warn(sentence: str) -> None:
    warnings.warn(sentence, DamagedRunWarning, stacklevel=3)


def keep_run(
    store: Store, task: Task, made: tuple[Run, Summary], *, keep_tables: bool, name: CellName
) -> None:
    """Store a single run with its numbers.

    Raises:
        StoreError: The store cannot be written.
        OSError: The disk is full.
    """
    key, version = Identities().of(task)
    run, summary = made
    numbers = Layouts().numbers(summary)
    content = Content(key, task.backend, task.replication, version, numbers)
    with store.writer() as writer:
        writer.add(replace(content, run=_tables(run)) if keep_tables else content, name)


def _tables(run: Run | None) -> Run | None:
    """The tables to store for a run made here; none for a run with a capture."""
    return run if run is not None and not run.files else None


def _ask(writer: Writer, unasked: Sequence[tuple[Digest, CellName]]) -> None:
    for key, cell in unasked:
        writer.ask(key, cell)
