"""``dumbbell run --watch``: run again whenever a file is saved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dumbbell.cli.terminal.errors import exit_code_of
from dumbbell.cli.terminal.output import tell
from dumbbell.errors import EXIT_DONE, EXIT_STOPPED, SpecError
from dumbbell.replication.interrupted import Interrupted

if TYPE_CHECKING:
    from dumbbell.cli.run.options import RunOptions

BETWEEN_LOOKS_S = 0.25

Stamp = tuple[int, int, int] | None
"""Modification time, size and inode of a file; None if it does not exist."""


def watch(
    asked: RunOptions,
    run: Callable[[RunOptions], int],
    pause: Callable[[], None] = lambda: time.sleep(BETWEEN_LOOKS_S),
) -> int:
    """Run, and again each time one of the files is saved, until Ctrl-C.

    Only one run at a time: files saved during a run cause one more run after it. After an error it
    waits for the next save.

    Args:
        asked: The options.
        run: Performs the run; returns its exit status.
        pause: Called between two checks of the files.

    Returns:
        The exit status: 130, whether Ctrl-C came during a run or between runs.

    Raises:
        SpecError: A file cannot be watched, or JSON was requested.
    """
    if asked.as_json:
        raise SpecError("--watch", "--json", "one of them: standard output is one JSON document")
    for file in asked.files:
        if not file.is_file():
            raise SpecError("--watch", file, "a file that is there, and no pipe")
    try:
        while True:
            seen = _stamps(asked.files)
            status = _run_once(asked, run)
            if status == EXIT_STOPPED:
                return status
            if status == EXIT_DONE:
                # A browser already shows the page; it is not opened again.
                asked = replace(asked, opens=False)
            tell(f"watching {', '.join(map(str, asked.files))}; Ctrl-C ends it")
            _wait_for_a_save(asked.files, seen, pause)
            tell("saved: run again")
    except KeyboardInterrupt:
        tell("\nstopped watching")
        return EXIT_STOPPED


def _run_once(asked: RunOptions, run: Callable[[RunOptions], int]) -> int:
    try:
        return run(asked)
    except (BrokenPipeError, Interrupted):
        raise
    except Exception as error:
        code = exit_code_of(error)
        if code is None:
            raise  # a bug in dumbbell
        return code


def _wait_for_a_save(files: tuple[Path, ...], seen: list[Stamp], pause: Callable[[], None]) -> None:
    """Wait until the files differ from the last state, all exist, and none is being written."""
    before = seen
    while True:
        pause()
        now = _stamps(files)
        if now != seen and now == before and None not in now:
            return
        before = now


def _stamps(files: tuple[Path, ...]) -> list[Stamp]:
    return [_stamp(file) for file in files]


def _stamp(file: Path) -> Stamp:
    try:
        found = file.stat()
    except OSError:  # an editor is replacing the file
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
