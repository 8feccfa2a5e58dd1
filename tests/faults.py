"""Every change of a file fails once, in turn, as SQLite tests it (sqlite.org/testing.html, 3.2).

A program is run with `faults.c` loaded before the C library. It does its work again and again: with
a fault at the first call that changes a file, at the second, until there are no more; and after
each it says whether what was promised holds.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCE = HERE / "faults.c"
ERRORS = (errno.EIO, errno.ENOSPC)


def run_with_faults(program: Path, folder: Path, *words: str) -> None:
    """Run a program that calls `each_fault`; where it fails the test does, with what it said."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        why = "faults are put in by a C library's calls: install a C compiler (cc), on Linux"
        assert "CI" not in os.environ, why
        pytest.skip(why)
    library = folder / "faults.so"
    built = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    subprocess.run(built, check=True)
    (folder / "work").mkdir()
    done = subprocess.run(
        [sys.executable, str(program), str(folder / "work"), *words],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def each_fault(
    folder: Path,
    begin: Callable[[Path], None],
    work: Callable[[Path], None],
    check: Callable[[Path, bool], None],
    errors: tuple[type[Exception], ...],
) -> int:
    """In the program: do work with each fault, and check what came of it.

    Args:
        folder: Empty; each time another folder in it is used.
        begin: Lays out what is there before.
        work: Is done with one fault in it: it succeeds, or raises one of `errors`.
        check: Gets whether it succeeded; then, with no more faults, all is to be as promised.
        errors: What `work` may raise.

    Returns:
        How many faults there were.
    """
    library = ctypes.CDLL(None)
    count = 0
    for number in ERRORS:
        for is_lasting in (0, 1):
            calls, has_failed = 0, True
            while has_failed:
                place = folder / f"{number}-{is_lasting}-{calls}"
                place.mkdir()
                begin(place)
                library.faults_begin(os.fsencode(place), ctypes.c_long(calls), is_lasting, number)
                try:
                    work(place)
                    succeeded = True
                except errors:
                    succeeded = False
                finally:
                    has_failed = bool(library.faults_end())
                assert succeeded or has_failed
                try:
                    check(place, succeeded)
                except BaseException:
                    print(f"fault {place.name}", file=sys.stderr)
                    raise
                shutil.rmtree(place)
                calls += 1
                count += has_failed
    return count
