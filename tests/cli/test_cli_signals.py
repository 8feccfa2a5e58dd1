"""Ctrl-C and SIGTERM end the command line soon, whatever it is doing."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from waiting import PATIENCE_S

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
        [sys.executable, "-c", program, "run", "long.toml", "--out", "tables", "--yes"],
        cwd=tmp_path,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr is not None
        assert "minutes: " in process.stderr.readline()
        # Progress is shown once the run is under way.
        assert "long" in process.stderr.readline()
        asked = time.monotonic()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - asked < PATIENCE_S
    assert process.returncode == 130, errors
    assert "stopped; nothing was written" in errors
    assert not (tmp_path / "tables").exists()


WHILE_LOADING = """
import os, signal, sys
from dumbbell.cli import main

left, number = int(sys.argv[1]), int(sys.argv[2])

def count():
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), number)

{when}
sys.argv = ["dumbbell", "run", "short.toml", "--out", "tables"]
main()
"""
BEFORE_A_MODULE = WHILE_LOADING.format(
    when='sys.addaudithook(lambda event, _: count() if event == "import" else None)'
)
IN_A_CALLBACK = WHILE_LOADING.format(
    when="""
def profile(frame, event, _):
    # What frees the lock of a module that was loaded: importlib's `_get_module_lock`.
    if event == "call" and frame.f_code.co_name == "cb":
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            count()
sys.setprofile(profile)
"""
)
AT_THE_END = """
import os, sys, threading
from dumbbell.cli import main

end, number = threading._shutdown, int(sys.argv[1])

def shut_down():
    os.kill(os.getpid(), number)
    end()

threading._shutdown = shut_down
sys.argv = ["dumbbell", "studies", "--json"]
main()
"""


def stopped_while_loading(program: str, at: int, number: int, folder: Path) -> str:
    (folder / "short.toml").write_text(description(DATAGRAMS).replace("10000s", "0.01s"))
    done = subprocess.run(
        [sys.executable, "-c", program, str(at), str(int(number))],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 130, (at, done.stderr)
    assert not (folder / "tables").exists()
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_while_modules_are_loaded_leaves_without_a_word(
    number: signal.Signals, tmp_path: Path
) -> None:
    """At random ones of the some 500 modules that `run` asks for."""
    draw = random.Random(number)
    for at in (1, 2, draw.randrange(3, 200), draw.randrange(200, 500)):
        assert stopped_while_loading(BEFORE_A_MODULE, at, number, tmp_path) == ""


@pytest.mark.parametrize("at", [1, 5, 100, 300])
def test_a_signal_in_a_callback_of_the_import_system_is_not_lost(at: int, tmp_path: Path) -> None:
    """Python prints and drops an exception there: "Exception ignored in _get_module_lock"."""
    assert stopped_while_loading(IN_A_CALLBACK, at, signal.SIGINT, tmp_path) == ""


@pytest.mark.slow
def test_a_signal_when_all_is_done_leaves_without_a_word() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, str(int(signal.SIGINT))],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stderr) == (130, "")
    assert "statistical-multiplexing" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_after_the_end_changes_no_status(number: signal.Signals) -> None:
    """Python lets go of our handlers before it lets go of modules, which takes a while."""
    program = f"""
import os, sys
from dumbbell.cli import main

class Last:
    def __del__(self, kill=os.kill, process=os.getpid()):
        kill(process, {int(number)})

last = Last()
sys.argv = ["dumbbell", "studies"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "pie-rrul" in done.stdout
