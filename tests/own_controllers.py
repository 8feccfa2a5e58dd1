"""One download with a controller of one's own, and the pages on them."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dumbbell.cli.app import app

EXAMPLES = Path(__file__).parents[1] / "examples" / "controllers"


def toml(
    controller: str,
    more: str = "",
    *,
    duration: str = "4s",
    qdisc: str = "pfifo limit 20",
    top: str = 'name = "own"',
) -> str:
    """A greedy flow over 10 Mbit/s and 20 ms.

    Args:
        controller: Its `congestion_control`.
        more: Further lines of its `tcp`.
        duration: Of the run.
        qdisc: Of the bottleneck's queue.
        top: Further lines at the top.
    """
    return f"""
{top}
duration = "{duration}"
[[links]]
a = "server"
b = "router"
rate = "1gbit"
[[links]]
a = "router"
b = "home"
rate = "10mbit"
delay = "10ms"
qdisc = "{qdisc}"
[[flows]]
name = "download"
from = "server"
to = "home"
source = {{ kind = "greedy" }}
[flows.tcp]
congestion_control = "{controller}"
{more}
"""


def run_command_lines(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three with which a page begins, in a folder that has the examples; shortened."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    shutil.copytree(EXAMPLES, folder / "examples" / "controllers")
    lines = re.findall(r"^    (dumbbell .*)$", page, re.MULTILINE)
    assert len(lines) == 3
    for line in lines:
        words = [*shlex.split(line)[1:], "--no-page", "--no-store", "--set", "duration=8s"]
        if words.count("--set") > 1:
            words += ["--replications", "1"]
        done = CliRunner().invoke(app, words, catch_exceptions=False)
        assert done.exit_code == 0, done.output
