"""A guest has its limit while it has a processor: what else a machine does is not its fault."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dumbbell.backends.kernel.patience import Patience, waited_s
from host_processes import state
from waiting import wait_until

SPINS = "while True: pass"
SLEEPS = "import time; print(flush=True); time.sleep(600)"


@contextmanager
def session(program: str, processor: int) -> Iterator[int]:
    """A process that leads a session of its own, held to one processor."""
    with subprocess.Popen(
        ["taskset", "-c", str(processor), sys.executable, "-c", program],
        start_new_session=True,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            if program == SLEEPS:  # while it starts it waits for a processor, too
                process.stdout.readline()
                wait_until(lambda: state(process.pid) == "S", "its sleep")
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def processor() -> int:
    """One that this process may use."""
    return min(os.sched_getaffinity(0))


def left_after(patience: Patience, seconds: float) -> float:
    """What is left when so much time has gone by."""
    time.sleep(seconds)
    return patience.left_s()


def test_one_that_sleeps_has_its_limit_and_no_more(processor: int) -> None:
    with session(SLEEPS, processor) as leader:
        patience = Patience(leader, 0.5 + 3 * waited_s(leader))
        assert patience.left_s() > 0
        waited = waited_s(leader)
        assert left_after(patience, 0.5 + 4 * waited + 0.1) <= 0


def test_one_that_others_keep_waiting_has_longer(processor: int) -> None:
    with session(SPINS, processor) as leader, session(SPINS, processor):
        patience = Patience(leader, 1.0)
        assert left_after(patience, 1.1) > 0, f"waited {waited_s(leader)} s"
        assert waited_s(leader) > 0.1


def test_however_long_others_keep_it_waiting_it_ends(processor: int) -> None:
    with session(SPINS, processor) as leader, session(SPINS, processor):
        time.sleep(0.5)
        assert left_after(Patience(leader, 0.01), 0.11) <= 0


def test_a_session_that_has_ended_has_not_waited() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process.wait()
    assert waited_s(process.pid) == 0
