"""Who does the runs of a comparison, by what was typed."""

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
    """The executor that was asked for, for as long as the context lasts.

    Args:
        cluster: Address of a Dask scheduler or ``local``; None for this process.
        jobs: Threads, or processes of ``local``; 0 for one a core.
        may_use_bytes: What the runs may use together; on somebody's cluster, each.
        with_tables: Whether tables come back from a cluster, to be kept here.
        with_numbers: Whether runs are reduced to their summaries.

    Raises:
        MissingExtraError: Dask is asked for and not installed.
        SpecError: Nobody answers at that address, or things do not go together.
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
