from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from dumbbell.cli.terminal.signals import stop_signals, stopped_by_ctrl_c
from waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def as_they_were() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = [(number, signal.getsignal(number)) for number in numbers]
    yield
    for number, handler in before:
        signal.signal(number, handler)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_whatever_asks_a_program_to_end_stops_the_work(name: str) -> None:
    with stopped_by_ctrl_c() as stop:
        os.kill(os.getpid(), signal.Signals[name])
        assert stop.wait(PATIENCE_S)


def test_what_was_ignored_from_the_start_stays_ignored() -> None:
    """As by `nohup`, and by a shell's `&`."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert signal.SIGHUP not in stop_signals()
    with stopped_by_ctrl_c() as stop:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
