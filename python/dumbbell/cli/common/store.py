"""The store of ``dumbbell run``: its location, and messages about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from dumbbell.cli.terminal.errors import print_error, print_warning
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say, tell
from dumbbell.errors import SpecError

if TYPE_CHECKING:
    from dumbbell.compare import Cell, Summary
    from dumbbell.compare.executing import Executor, ShareDone
    from dumbbell.spec import Experiment, Setting
    from dumbbell.store import Store
    from dumbbell.tables import Run

DEFAULT = Path("results") / ".store"
NONE = "no"
"""Value of the environment variable that disables the store."""
VARIABLE = "DUMBBELL_STORE"


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """Options of the store.

    Attributes:
        folder: The store's folder; None if not given.
        is_wanted: Whether a store is used.
        resume: Whether the store must contain runs of this command.
        keep_tables: Whether runs' tables are stored.
        shard: A share of the runs, as text.
    """

    folder: Path | None = None
    is_wanted: bool = True
    resume: bool = False
    keep_tables: bool = False
    shard: str | None = None

    @property
    def place(self) -> Path | None:
        """The folder; None without a store."""
        if not self.is_wanted or str(self.folder) == NONE:
            return None
        return self.folder or DEFAULT

    def check(self, *, is_comparison: bool) -> None:
        """Refuse options that conflict.

        Raises:
            SpecError: Options conflict.
        """
        needing = {
            "--resume": self.resume,
            "--keep-tables": self.keep_tables,
            "--shard": self.shard,
        }
        for option, value in needing.items():
            if value and self.place is None:
                allowed = f"only with a store: without --no-store and {VARIABLE}=no"
                raise SpecError(option, self.shard or "", allowed)
        for option in ("--resume", "--shard"):
            if needing[option] and not is_comparison:
                allowed = "only of several runs (--replications, --set, several files)"
                raise SpecError(option, self.shard or "", allowed)


def stored_executor(
    storing: StoreOptions,
    executor: Executor,
    cells: Sequence[Cell],
    *,
    tables_below: int,
    on_found: Callable[[int, int], None] | None = None,
) -> Executor:
    """The executor with the requested store, if any.

    Args:
        storing: The options.
        executor: Performs the runs that are missing.
        cells: Listing of the runs, by cell.
        tables_below: Number of replications whose tables are shown.
        on_found: Receives the number of runs found, and of all, in place of a sentence about them;
            for a command that has many executors.
    """
    from dumbbell.compare.executing import Stored, cell_names
    from dumbbell.store import Shard, Store

    found = asked_store(storing)
    if found is None:
        return executor
    shard = None if storing.shard is None else Shard.parse(storing.shard)
    return Stored(
        executor,
        Store(found.folder, shard),
        cells=cell_names(cells),
        tables_below=tables_below,
        keep_tables=storing.keep_tables,
        resume=storing.resume,
        tell=tell,
        on_found=on_found,
    )


def asked_store(storing: StoreOptions) -> Store | None:
    """The store that was requested or is the default; None without one."""
    place = storing.place
    if place is None or not _can_be_used(storing, place):
        return None
    from dumbbell.store import Store

    return Store(place)


def stored_run(
    storing: StoreOptions,
    experiment: Experiment,
    settings: Sequence[Setting],
    task: tuple[int, str],
    made: Callable[[], Run],
) -> tuple[Run, Summary]:
    """A single run: from the store if its tables are there, otherwise made and stored.

    Args:
        storing: The options.
        experiment: The experiment.
        settings: Values that replace those of the file.
        task: Replication and backend.
        made: Makes the run.

    Returns:
        The run and its summary.

    Raises:
        StoreError: The requested store cannot be used.
        OSError: The disk is full.
    """
    from dumbbell.compare import summary_of

    store = asked_store(storing)
    if store is None:
        run = made()
        return run, summary_of(run)
    from dumbbell.compare.executing import Task
    from dumbbell.compare.executing.stored import keep_run, kept_run, named

    asked = Task(experiment.resolved_json(), *task)
    kept = kept_run(store, asked, print_warning)
    if kept is not None:
        return kept, summary_of(kept)
    store.check()  # checked before a long run, not after it
    run = made()
    summary = summary_of(run)
    name = named(experiment, settings)
    keep_run(store, asked, (run, summary), keep_tables=storing.keep_tables, name=name)
    return run, summary


def say_share(share: ShareDone, console: Console, *, as_json: bool) -> int:
    """Print what a shard has done, and how to continue.

    Args:
        share: Result of the shard.
        console: Console for the sentences.
        as_json: Whether the numbers are also printed as JSON.

    Returns:
        The exit status.
    """
    for task, error in share.failed:
        where = f"{task.cell} ({task.backend}, replication {task.replication})"
        print_error(error, of=f"{where}: ")
    if as_json:
        numbers = {name: getattr(share, name) for name in ("done", "there", "of")}
        say(json_text({"shard": str(share.shard), **numbers, "failed": len(share.failed)}))
    console.print(str(share), markup=False, soft_wrap=True)
    console.print("when all are, the same command without --shard shows them", soft_wrap=True)
    return share.exit_code


def _can_be_used(storing: StoreOptions, place: Path) -> bool:
    """Whether the default store can be used; a requested store must be usable."""
    if storing.folder is not None or place.exists():
        return True
    there = next(each for each in place.absolute().parents if each.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return True
    print_warning(f"{place}: no folder can be made there, so no run is kept (--store DIR)")
    return False
