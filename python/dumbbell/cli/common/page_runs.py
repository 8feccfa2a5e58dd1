"""Options shared by the commands that run cells and write a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dumbbell.cli.common.store import StoreOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRuns:
    """Options for running, printing and storing.

    Attributes:
        backends: Names; empty if not given.
        jobs: Threads; 0 for one per core.
        memory: A size, as text.
        cluster: Address of a Dask scheduler or ``local``; None for this process.
        out: Folder of the page; None if not given.
        page: Whether to write the page; None if not given.
        replace: Whether another experiment's result there may be replaced.
        as_json: Whether to print JSON.
        yes: Whether to skip the confirmation of runs that take hours.
        storing: Options of the store.
    """

    backends: tuple[str, ...]
    jobs: int
    memory: str | None
    cluster: str | None
    out: Path | None
    page: bool | None
    replace: bool
    as_json: bool
    yes: bool
    storing: StoreOptions
