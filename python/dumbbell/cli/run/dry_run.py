"""``dumbbell run --dry-run``: estimate runs, time and memory without running anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console

from dumbbell.backends import Cost, get_backend, threads_for
from dumbbell.backends.guard import usable_threads
from dumbbell.cli.common.store import StoreOptions, stored_executor
from dumbbell.cli.terminal.json_text import json_text
from dumbbell.cli.terminal.output import say
from dumbbell.compare import Cell, FailedCell, ensemble_for
from dumbbell.compare.comparison import MOST_REPLICATIONS, REPLICATIONS
from dumbbell.compare.executing import Stored, Threads
from dumbbell.compare.replicating import task_of
from dumbbell.errors import EXIT_CONTRADICTED_OR_FAILED, EXIT_DONE, DumbbellError

if TYPE_CHECKING:
    from dumbbell.cli.run.planning import PlannedCells

_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_TIMES = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))


@dataclass(frozen=True, slots=True)
class CostForecast:
    """Estimated cost of cells on a backend.

    Attributes:
        backend: The backend.
        n_cells: Number of cells that it can run.
        least_runs: Number of runs of all cells together.
        most_runs: The same if the requested precision is not reached; otherwise equal to
            ``least_runs``.
        least_left: How many of ``least_runs`` are not in the store.
        most_left: How many of ``most_runs`` are not in the store.
        threads: Number of parallel runs.
        least_cpu_s: CPU time for ``least_left``, by the backend's estimate.
        most_cpu_s: CPU time for ``most_left``.
        run_bytes: Memory of the largest run.
        memory_bytes: Memory of the largest runs that can exist at a time, two per thread.
    """

    backend: str
    n_cells: int
    least_runs: int
    most_runs: int
    least_left: int
    most_left: int
    threads: int
    least_cpu_s: float
    most_cpu_s: float
    run_bytes: int
    memory_bytes: int

    @property
    def least_wall_s(self) -> float:
        """Wall time for ``least_left`` on that number of threads."""
        return self.least_cpu_s / self.threads

    @property
    def most_wall_s(self) -> float:
        """Wall time for ``most_left``."""
        return self.most_cpu_s / self.threads

    @property
    def stored(self) -> int:
        """Number of runs in the store."""
        return self.most_runs - self.most_left


def dry_run(
    planned: PlannedCells,
    backends: Sequence[str],
    *,
    jobs: int,
    may_use_bytes: int | None,
    storing: StoreOptions,
    tables_below: int,
    as_json: bool,
    console: Console,
) -> int:
    """Print what would be run.

    Args:
        planned: The requested cells.
        backends: Names of the backends.
        jobs: Threads; 0 for one per core.
        may_use_bytes: Memory that all runs may use together.
        storing: Options of the store.
        tables_below: Number of replications whose tables would be shown, as in `stored_executor`.
        as_json: Whether to print JSON.
        console: Console for the text.

    Returns:
        The exit status: 1 if a cell would be refused.
    """
    refused = list(planned.refused)
    store = _Store(planned, storing, jobs, may_use_bytes, tables_below)
    found = [
        _foreseen(planned, backend, store, jobs=jobs, may_use_bytes=may_use_bytes, refused=refused)
        for backend in backends
    ]
    if as_json:
        say(json_text(_as_json(planned, found, refused)))
    else:
        for line in _lines(planned, found, store):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    from dumbbell.cli.run.sweep import print_failed_cells

    print_failed_cells(refused)
    return EXIT_CONTRADICTED_OR_FAILED if refused else EXIT_DONE


def foreseen(
    planned: PlannedCells,
    backends: Sequence[str],
    *,
    jobs: int,
    may_use_bytes: int | None,
    storing: StoreOptions,
    tables_below: int,
) -> list[CostForecast]:
    """The cost of a plan on each backend; see `dry_run` for the arguments."""
    store = _Store(planned, storing, jobs, may_use_bytes, tables_below)
    return [
        _foreseen(planned, backend, store, jobs=jobs, may_use_bytes=may_use_bytes, refused=[])
        for backend in backends
    ]


class _Store:
    """Looks up which runs of a plan are stored."""

    def __init__(
        self,
        planned: PlannedCells,
        storing: StoreOptions,
        jobs: int,
        may_use_bytes: int | None,
        tables_below: int,
    ) -> None:
        self._first = planned.first
        self.least, self.most = _runs_of_each(planned)
        # A single run, possibly selected by number, is not a member of an ensemble.
        self.ensemble = (
            ensemble_for({cell.label: cell.experiment for cell in planned.cells})
            if self.most > 1
            else None
        )
        threads = Threads(jobs, may_use_bytes)
        executor = stored_executor(storing, threads, planned.cells, tables_below=tables_below)
        self._stored = executor if isinstance(executor, Stored) else None
        self.folder = None if self._stored is None else self._stored.place

    def left(self, cell: Cell, backend: str) -> tuple[int, int]:
        """Number of runs of a cell to perform: for the least and the most replications."""
        if self._stored is None:
            return self.least, self.most
        numbers = range(self._first, self._first + self.most)
        tasks = (task_of(cell, number, backend, self.ensemble) for number in numbers)
        there = [*self._stored.there(tasks)]
        return self.least - sum(there[: self.least]), self.most - sum(there)


def _foreseen(
    planned: PlannedCells,
    backend: str,
    store: _Store,
    *,
    jobs: int,
    may_use_bytes: int | None,
    refused: list[FailedCell],
) -> CostForecast:
    """The cost of the cells; those that cannot be run there are added to the refused ones."""
    fitting: list[tuple[Cost, int, int]] = []
    threads = usable_threads(jobs)
    for cell in planned.cells:
        try:
            cost = get_backend(backend).check(cell.experiment.resolved_json())
            may = threads_for(
                [cell.experiment], backend=backend, jobs=jobs, memory_bytes=may_use_bytes
            )
        except DumbbellError as error:
            refused.append(
                FailedCell(cell.label, cell.settings, cell.source, error, None, backend, cell.place)
            )
            continue
        fitting.append((cost, *store.left(cell, backend)))
        threads = min(threads, may)
    most_left = sum(most for _, _, most in fitting)
    run_bytes = max((cost.memory_bytes for cost, _, most in fitting if most), default=0)
    threads = max(1, min(threads, most_left))
    return CostForecast(
        backend=backend,
        n_cells=len(fitting),
        least_runs=store.least * len(fitting),
        most_runs=store.most * len(fitting),
        least_left=sum(least for _, least, _ in fitting),
        most_left=most_left,
        threads=threads,
        least_cpu_s=sum(least * cost.wall_s for cost, least, _ in fitting),
        most_cpu_s=sum(most * cost.wall_s for cost, _, most in fitting),
        run_bytes=run_bytes,
        memory_bytes=run_bytes * min(2 * threads, most_left),
    )


def _runs_of_each(planned: PlannedCells) -> tuple[int, int]:
    if planned.precision is not None:
        least = planned.at_least or REPLICATIONS
        return least, max(least, MOST_REPLICATIONS)
    n = planned.replications or REPLICATIONS
    return n, n


def _lines(planned: PlannedCells, found: Sequence[CostForecast], store: _Store) -> Iterator[str]:
    several, n = len(found) > 1, len(planned.cells) + len(planned.refused)
    if planned.grid is not None:
        for axis in planned.grid.axes:
            yield f"{axis.path}: {_values(axis.labels)} {axis.unit}".rstrip()
    for each in found:
        where = f"{each.backend}: " if several else ""
        of = f" of {n}" if each.n_cells < n else ""
        cells = f"{each.n_cells}{of} cell{'s' if n != 1 else ''}"
        runs = _from_to(str(each.least_runs), str(each.most_runs))
        yield f"{where}{cells}, {runs} run{'s' if each.most_runs != 1 else ''}{_why(planned)}"
        if each.stored:
            are = "is" if each.stored == 1 else "are"
            left = _from_to(str(each.least_left), str(each.most_left))
            yield f"  {each.stored} of them {are} in {store.folder}: {left} would be done"
        if not each.most_left:
            continue
        yield (
            f"  time: at most about {_from_to(_time(each.least_wall_s), _time(each.most_wall_s))} "
            f"on {each.threads} thread{'s' if each.threads > 1 else ''}, "
            f"{_from_to(_time(each.least_cpu_s), _time(each.most_cpu_s))} of CPU"
        )
        yield (
            f"  memory: {_size(each.memory_bytes)} for {each.threads} at a time, and those that "
            f"wait to be read ({_size(each.run_bytes)} the largest run)"
        )
    if store.ensemble is not None:
        n = len(store.ensemble.because)
        yield (
            f"Nothing is random in {n} cell{'s' if n > 1 else ''}: {'their' if n > 1 else 'its'} "
            "runs are members of an ensemble."
        )
    yield "Nothing was run."


def _values(labels: Sequence[str]) -> str:
    shown = labels if len(labels) <= 8 else [*labels[:6], "...", labels[-1]]
    return ", ".join(shown)


def _why(planned: PlannedCells) -> str:
    if planned.precision is None:
        return ""
    return f", until each is within {100 * planned.precision:g} %"


def _from_to(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _time(time_s: float) -> str:
    for size, name in _TIMES:
        if time_s >= 2 * size:
            return f"{time_s / size:.2g} {name}"
    return f"{time_s:.2g} s" if time_s >= 1 else "1 s"


def _size(size_bytes: float) -> str:
    for size, name in _SIZES:
        if size_bytes >= size:
            return f"{size_bytes / size:.3g} {name}"
    return f"{size_bytes:.0f} B"


def _as_json(
    planned: PlannedCells, found: Sequence[CostForecast], refused: Sequence[FailedCell]
) -> dict[str, Any]:
    return {
        "cells": len(planned.cells) + len(planned.refused),
        "replications": planned.replications,
        "precision": planned.precision,
        "backends": [
            {
                "backend": each.backend,
                "cells": each.n_cells,
                "least_runs": each.least_runs,
                "most_runs": each.most_runs,
                "runs_in_store": each.stored,
                "least_runs_left": each.least_left,
                "most_runs_left": each.most_left,
                "threads": each.threads,
                "least_cpu_s": each.least_cpu_s,
                "most_cpu_s": each.most_cpu_s,
                "least_wall_s": each.least_wall_s,
                "most_wall_s": each.most_wall_s,
                "run_bytes": each.run_bytes,
                "memory_bytes": each.memory_bytes,
            }
            for each in found
        ],
        "refused": [
            {"cell": each.label, "error": str(each.error), "again": each.command}
            for each in refused
        ],
    }
