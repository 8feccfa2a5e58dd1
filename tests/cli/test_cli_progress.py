from __future__ import annotations

import io
import os
import signal
import threading

import pytest

from dumbbell.cli.terminal import progress as progress_module
from dumbbell.cli.terminal.consoles import PrintingConsole
from dumbbell.cli.terminal.progress import PlainLines, shown_progress
from dumbbell.cli.terminal.signals import stopped_by_ctrl_c
from dumbbell.replication import Progress


def test_a_line_when_a_task_begins_then_every_few_seconds() -> None:
    out = io.StringIO()
    now = 0.0
    lines = PlainLines(out, clock=lambda: now)
    lines(Progress("ideal", 0.5, 10))
    for now in (1.0, 4.9):  # noqa: B007 - read by the clock
        lines(Progress("ideal", 1, 10))
    now = 5.0
    lines(Progress("ideal", 4, 10, detail="±3 %"))
    lines(Progress("nominal", 0, 100, "runs"))
    assert out.getvalue().splitlines() == [
        "ideal: 0.5 of 10 replications",
        "ideal: 4 of 10 replications (±3 %)",
        "nominal: 0 of 100 runs",
    ]


def test_no_terminal_no_bars() -> None:
    out = io.StringIO()
    with shown_progress(out) as show:
        show(Progress("ideal", 1, 10))
    assert out.getvalue() == "ideal: 1 of 10 replications\n"


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()

    def terminal(file: object) -> PrintingConsole:
        return PrintingConsole(out, force_terminal=True, width=100)

    monkeypatch.setattr(progress_module, "PrintingConsole", terminal)
    with shown_progress(out) as show:
        show(Progress("ideal", 1, 10))
        show(Progress("nominal", 3.7, 10, detail="±3 %"))
    assert "nominal" in out.getvalue()
    assert "3/10" in out.getvalue()
    assert "\x1b[" in out.getvalue()


def test_the_first_ctrl_c_sets_the_event_and_the_second_raises(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopped_by_ctrl_c() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before
    assert "Ctrl-C again" in capsys.readouterr().err


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)

    def use() -> None:
        with stopped_by_ctrl_c() as stop:
            assert not stop.is_set()
            assert signal.getsignal(signal.SIGINT) is before

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
