"""Progress: bars on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TextIO

from dumbbell.cli.terminal.consoles import PrintingConsole
from dumbbell.cli.terminal.output import say
from dumbbell.replication.progress import Progress, ProgressCallback

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

BETWEEN_LINES_S = 5.0


@contextlib.contextmanager
def shown_progress(stream: TextIO | None = None) -> Iterator[ProgressCallback]:
    """Give a callback that shows progress for as long as the context lasts.

    Args:
        stream: The stream; standard error when None.
    """
    out = stream or sys.stderr
    console = PrintingConsole(out)
    if not console.is_terminal:
        yield PlainLines(out)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    with bars:
        yield _on_bars(bars)


def _on_bars(bars: Bars) -> ProgressCallback:
    ids: dict[str, TaskID] = {}

    def show(progress: Progress) -> None:
        for task, earlier in list(ids.items()):
            if task != progress.task:  # a previous task is finished
                bars.remove_task(earlier)
                del ids[task]
        if progress.task not in ids:
            ids[progress.task] = bars.add_task(progress.task, detail="")
        bars.update(
            ids[progress.task],
            # Show whole replications; the bar does not need a finer resolution.
            completed=int(progress.done) if progress.total > 1 else progress.done,
            total=progress.total,
            detail=progress.detail,
        )

    return show


class PlainLines:
    """Prints a line when a task begins, then one every few seconds."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """Print to ``out``; ``clock`` returns seconds."""
        self._out = out
        self._clock = clock
        self._task = ""
        self._last = clock()

    def __call__(self, progress: Progress) -> None:
        """Print a line, if enough time has passed."""
        now = self._clock()
        if progress.task == self._task and now - self._last < BETWEEN_LINES_S:
            return
        self._task, self._last = progress.task, now
        detail = f" ({progress.detail})" if progress.detail else ""
        done = f"{progress.done:.1f}".removesuffix(".0")
        amount = f"{done} of {progress.total:g} {progress.unit}"
        say(f"{progress.task}: {amount}{detail}", file=self._out, flush=True)
