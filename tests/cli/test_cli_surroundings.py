"""Closed streams and limits on threads and memory give a message and a status, no traceback."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from dumbbell.cli import startup
from dumbbell.cli.terminal.errors import exit_code_of
from dumbbell.errors import EXIT_BAD_INPUT, EXIT_CONTRADICTED_OR_FAILED

pytestmark = pytest.mark.programs

COMMAND = [sys.executable, "-m", "dumbbell.cli"]


def closed(*streams: int) -> subprocess.CompletedProcess[str]:
    redirections = " ".join(f"{each}>&-" for each in streams)
    words = ["sh", "-c", f'exec "$@" {redirections}', "sh", *COMMAND, "studies"]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_closed_output_is_said() -> None:
    done = closed(1)
    assert done.returncode == EXIT_BAD_INPUT
    assert done.stderr == "error: standard output is closed (> /dev/null throws it away)\n"


@pytest.mark.parametrize("streams", [(1, 2), (0, 1, 2)])
def test_nothing_is_said_where_nothing_is_open(streams: tuple[int, ...]) -> None:
    assert closed(*streams).returncode == EXIT_BAD_INPUT


@pytest.mark.slow
@pytest.mark.parametrize("streams", [(2,), (0,), (0, 2)])
def test_other_closed_streams_do_no_harm(streams: tuple[int, ...]) -> None:
    done = closed(*streams)
    assert done.returncode == 0
    assert done.stdout == closed().stdout
    assert not done.stderr


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NPROC, (3, 3))
if os.getuid() == 0:  # no limit is the superuser's
    os.setuid(65533)
import dumbbell.cli
sys.argv = ["dumbbell", "studies"]
dumbbell.cli.main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count threads in other ways")
def test_too_few_threads_are_said() -> None:
    if os.getuid() == 0:
        # What is loaded must be readable by whom it becomes.
        modules = "import dumbbell.cli.startup, dumbbell.errors, encodings.idna\n"
    else:
        modules = ""
    done = subprocess.run(
        [sys.executable, "-c", modules + LIMITED], capture_output=True, text=True, check=False
    )
    assert done.returncode == EXIT_CONTRADICTED_OR_FAILED
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: too few threads can be started (ulimit -u")


def test_there_is_room_for_threads_here() -> None:
    assert startup.has_room_for_threads()


def test_a_library_without_room_in_memory_is_no_fault_of_ours(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = "libpolars.so: failed to map segment from shared object"
    assert exit_code_of(ImportError(words)) == EXIT_CONTRADICTED_OR_FAILED
    assert "not enough memory (ulimit -v" in capsys.readouterr().err
    assert exit_code_of(ImportError("No module named 'x'")) is None
