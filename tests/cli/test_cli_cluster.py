"""``dumbbell run --cluster`` gives the same result on workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from host_processes import descendants, has_ended
from waiting import PATIENCE_S, wait_until

Dumbbell = Callable[..., tuple[int, str, str]]

LINE = """
name = "line"
duration = "2s"
links = [{ a = "server", b = "home", rate = "5mbit", delay = "10ms" }]
[[flows]]
name = "bulk"
from = "server"
to = "home"
start_jitter = "200ms"
source = { kind = "greedy" }
"""
LONG = LINE.replace('"2s"', '"10000s"').replace(
    '{ kind = "greedy" }', '{ kind = "poisson", rate = "100000pps", size = "100B" }'
)
PROGRAM = "from dumbbell.cli import main; import sys; sys.argv[0] = 'dumbbell'; main()"


@pytest.fixture
def line(tmp_path: Path) -> str:
    (tmp_path / "line.toml").write_text(LINE)
    return "line.toml"


def test_a_comparison_is_the_same_as_here(dumbbell: Dumbbell, line: str) -> None:
    several = ["run", line, "--set", "seed=1", "--set", "seed=2", "--replications", "3", "--json"]
    code, here, _ = dumbbell(*several)
    assert code == 0
    code, there, err = dumbbell(*several, "--cluster", "local", "--jobs", "2")
    assert (code, json.loads(there)) == (0, json.loads(here))
    assert "of 6 runs" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cluster", "local"], "allowed: a comparison"),
        (["--cluster", "nowhere", "--replications", "2"], "tcp://host:8786"),
        (["--cluster", "tcp://127.0.0.1:9", "--jobs", "3", "--replications", "2"], "--jobs: '3'"),
        (["--cluster", "local", "--backend", "kernel", "--replications", "2"], "no kernel"),
    ],
)
def test_what_cannot_be_done(dumbbell: Dumbbell, line: str, words: list[str], said: str) -> None:
    code, out, err = dumbbell("run", line, *words)
    assert (code, out) == (2, "")
    assert said in err and "Traceback" not in err


def test_without_dask_it_says_what_to_install(tmp_path: Path, line: str) -> None:
    without = "import sys; sys.modules['distributed'] = None; "
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            without + PROGRAM,
            "run",
            line,
            "--replications",
            "2",
            "--cluster",
            "local",
        ],
        cwd=tmp_path,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --cluster needs the extra 'cluster': pip install 'dumbbell[cluster]'\n"
    )


def test_ctrl_c_stops_the_workers_too(tmp_path: Path) -> None:
    """It reaches all that belong to the terminal, as when one types it."""
    (tmp_path / "long.toml").write_text(LONG)
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            PROGRAM,
            "run",
            "long.toml",
            "--replications",
            "2",
            "--cluster",
            "local",
            "--jobs",
            "2",
        ],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stderr is not None
        assert "minutes: " in process.stderr.readline()
        assert "0 of 2 runs" in process.stderr.readline()
        workers = descendants(process.pid)
        assert len(workers) >= 2
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    wait_until(lambda: all(map(has_ended, workers)), "the end of each worker")
