"""Options of every command that runs cells and writes a page of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dumbbell.cli.common.store import StoreOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRuns:
    """What was typed of running, printing and keeping.

    Attributes:
        backends: Names; empty where not said.
        jobs: Threads; 0 for one a core.
        memory: A size, as text.
        cluster: Whose workers run it: an address or ``local``; None for here.
        out: Folder of the page; None where not said.
        page: Whether to write it; None where not said.
        replace: Whether another experiment's result there may be replaced.
        as_json: Whether to print JSON.
        yes: Whether to run what takes hours without asking.
        storing: What was said about the store.
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
