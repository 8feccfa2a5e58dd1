"""Ctrl-C and SIGTERM end the command line soon, whatever it is doing."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENDS_S = 30.0
"""A second is promised; a loaded machine may take longer, a hang takes minutes."""

DATAGRAMS = 'source = { kind = "poisson", rate = "100000pps", size = "100B" }'
TCP = 'source = { kind = "greedy" }'


def description(source: str, link: str = "") -> str:
    return f"""
name = "long"
duration = "10000s"
[[links]]
a = "a"
b = "b"
{link}
[[flows]]
name = "f"
from = "a"
to = "b"
{source}
"""


WORK = {
    "many events": description(DATAGRAMS),
    "tcp": description(TCP, 'rate = "100mbit"\ndelay = "1ms"'),
    "a round trip of a microsecond": description(TCP, 'delay = "1us"').replace("10000s", "30s"),
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("work", WORK)
def test_a_run_is_stopped(work: str, number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(WORK[work])
    program = "from dumbbell.cli import main; import sys; sys.argv[0] = 'dumbbell'; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, "run", "long.toml", "--out", "tables"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        # Progress is shown once the run is under way.
        assert "long" in process.stderr.readline()
        asked = time.monotonic()
        process.send_signal(number)
        _, errors = process.communicate(timeout=ENDS_S)
        assert time.monotonic() - asked < ENDS_S
    assert process.returncode == 130, errors
    assert "stopped; nothing was written" in errors
    assert not (tmp_path / "tables").exists()
