"""The executor for a comparison, by the options given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from dumbbell.compare.executing import Executor, Threads
from dumbbell.errors import SpecError


@contextlib.contextmanager
def executor_for(
    cluster: str | None,
    jobs: int,
    may_use_bytes: int | None,
    *,
    with_tables: bool = False,
    with_numbers: bool = True,
) -> Iterator[Executor]:
    """A context manager for the executor that was asked for.

    Args:
        cluster: Address of a Dask scheduler or ``local``; None for this process.
        jobs: Threads, or processes of ``local``; 0 for one per core.
        may_use_bytes: Memory that all runs may use together; on a remote cluster, each run.
        with_tables: Whether a cluster returns tables, to be stored here.
        with_numbers: Whether runs are reduced to their summaries.

    Raises:
        MissingExtraError: Dask is needed and not installed.
        SpecError: No scheduler answers at that address, or options conflict.
    """
    if cluster is None:
        yield Threads(jobs, may_use_bytes, with_numbers=with_numbers)
        return
    from dumbbell.compare.executing.dask import LOCAL, Dask

    if jobs and cluster != LOCAL:
        raise SpecError("--jobs", jobs, "without --cluster ADDRESS: its workers say how many")
    with Dask(
        cluster,
        jobs=jobs,
        memory_bytes=may_use_bytes,
        with_tables=with_tables,
        with_numbers=with_numbers,
    ) as executor:
        yield executor
