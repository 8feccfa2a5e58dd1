"""A program that hangs is distinguished from one that got no CPU time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from soak_patience import Patience, cpu_s, hangs


@pytest.mark.parametrize(
    ("silent_s", "worked_s", "is_lost"),
    [
        (19.0, 38.0, False),  # two threads, still within its limit
        (21.0, 16.0, True),
        (21.0, 3.0, False),  # other processes used the CPU
        (119.0, 14.0, False),
        (121.0, 0.0, True),  # waits forever
    ],
)
def test_a_limit_of_20_s(silent_s: float, worked_s: float, is_lost: bool) -> None:
    assert hangs(silent_s, worked_s, 20.0) is is_lost


def test_cpu_time_of_another_process_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 0.0
    monkeypatch.setattr("soak_patience.time", SimpleNamespace(monotonic=lambda: now_s))
    busy = "print(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", busy], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        before_s = cpu_s(process.pid)
        patience = Patience(process.pid, 0.1)
        assert not patience.is_lost()
        now_s = 0.2
        while not patience.is_lost():
            time.sleep(0.05)
        assert cpu_s(process.pid) > before_s
        patience.heard()
        assert not patience.is_lost()
        process.kill()


def test_a_process_that_was_waited_for_does_not_hang() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert not Patience(process.pid, 0.1).is_lost()
