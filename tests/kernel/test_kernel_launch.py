"""The runner, with a shell script in the kernel's place."""

from __future__ import annotations

import importlib
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends.kernel import HostRefusesError, launch
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.launch import LaunchResult
from host_processes import has_ended
from waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.programs

Script = Callable[[str, str], Path]


def run(kernel: Path, run_dir: Path, **changed: object) -> LaunchResult:
    seen = [*SYSTEM, Path("/proc")]
    options = {"seed": 7, "wall_limit_s": 20.0, "readable": seen} | changed
    return launch(kernel, Path("/bin/true"), run_dir=run_dir, **options)  # type: ignore[arg-type]


def test_what_the_kernel_is_told(script: Script, run_dir: Path) -> None:
    kernel = script("kernel", 'for word; do echo "$word"; done; pwd; exit 5\n')
    result = run(kernel, run_dir, args=["/a b", "--x"], env={"A_B": "c d"}, memory_mb=64)
    words = result.console.read_text(encoding="utf-8").splitlines()
    assert {"mem=64M", "dumbbell.seed=7", "time-travel=inf-cpu"} <= set(words)
    assert words[-5:] == ['A_B="c d"', "--", '"/a b"', "--x", str(run_dir)]
    assert result.exit == 5
    assert not result.ok
    assert not result.timed_out
    assert "status 5" in result.why()


def test_real_time_is_without_time_travel(script: Script, run_dir: Path) -> None:
    result = run(script("kernel", 'echo "$@"\n'), run_dir, time_travel=False)
    assert result.ok
    assert "time-travel" not in result.console_tail


def test_addresses_are_where_they_always_are(script: Script, run_dir: Path) -> None:
    before = Path("/proc/self/personality").read_text(encoding="ascii")
    result = run(script("kernel", "cat /proc/self/personality\n"), run_dir)
    assert int(result.console_tail, 16) & 0x0040000
    assert Path("/proc/self/personality").read_text(encoding="ascii") == before


def test_the_hosts_environment_stays_out(
    script: Script, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "1")
    result = run(script("kernel", "env\n"), run_dir)
    assert "SECRET" not in result.console_tail
    assert f"DUMBBELL_PARENT={os.getpid()}" in result.console_tail


@pytest.mark.slow
@pytest.mark.parametrize("stubborn", [False, True])
def test_the_limit_ends_the_whole_group(script: Script, run_dir: Path, stubborn: bool) -> None:
    deaf = "trap '' TERM\n" if stubborn else ""
    kernel = script(
        "kernel", f"{deaf}mkdir uml; sleep 600 & echo $!; echo last words; wait; sleep 600\n"
    )
    began = time.monotonic()
    result = run(kernel, run_dir, wall_limit_s=3.0)
    assert result.timed_out
    assert not result.ok
    assert time.monotonic() - began < PATIENCE_S  # it would sleep for ten minutes
    assert "last words" in result.why()
    child = int(result.console_tail.split()[0])
    wait_until(lambda: has_ended(child), "the end of the child")
    assert sorted(path.name for path in run_dir.iterdir()) == ["console.log"]


def test_a_guest_that_prints_without_end_does_not_fill_the_disk(
    script: Script, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = importlib.import_module("dumbbell.backends.kernel.launch")
    monkeypatch.setattr(launcher, "CONSOLE_MAX_BYTES", 50_000)
    result = run(script("kernel", "while :; do echo again; done\n"), run_dir)
    assert result.flooded
    assert not result.ok
    assert not result.timed_out
    assert "printed more than" in result.why()


def test_stopping(script: Script, run_dir: Path) -> None:
    asked = iter([False, False, True])
    result = run(script("kernel", "exec sleep 600\n"), run_dir, cancelled=lambda: next(asked))
    assert result.cancelled
    assert not result.timed_out
    assert "was stopped" in result.why()


def test_a_signal_is_named(script: Script, run_dir: Path) -> None:
    result = run(script("kernel", "kill -SEGV $$\n"), run_dir)
    assert result.exit == -signal.SIGSEGV
    assert "SIGSEGV" in result.why()
    assert "printed nothing" in result.why()


def test_the_tail_of_a_long_console(script: Script, run_dir: Path) -> None:
    result = run(script("kernel", "seq 100000; printf '\\377'\n"), run_dir)
    assert len(result.console_tail) <= 4000
    assert result.console_tail.endswith("100000\n\ufffd")
    assert result.console.stat().st_size > 500_000


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"seed": -1}, "seed -1"),
        ({"seed": 2**64}, "between 0"),
        ({"memory_mb": 8}, "less than 32"),
        ({"args": ["mem=1G"]}, "option of its own"),
        ({"args": ['a"b']}, "quote"),
        ({"args": [""]}, "empty"),
        ({"args": ["a\nb"]}, "control"),
        ({"env": {"quiet": "1"}}, "capitals"),
        ({"args": ["x" * 3000]}, "2048"),
    ],
)
def test_what_cannot_be_passed(run_dir: Path, changed: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run(Path("/bin/true"), run_dir, **changed)
    assert list(run_dir.iterdir()) == []


def test_a_kernel_that_is_no_program(tmp_path: Path, run_dir: Path) -> None:
    (tmp_path / "text").write_text("no", encoding="utf-8")
    with pytest.raises(HostRefusesError, match="cannot be started"):
        run(tmp_path / "text", run_dir)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_guest_dies_with_whoever_runs_it(
    script: Script, run_dir: Path, number: signal.Signals
) -> None:
    # A kernel of ours asks for this itself (patches/0003): here a program does it in its place.
    kernel = script(
        "kernel",
        f"exec {shlex.quote(sys.executable)} -c 'import ctypes, os, time\n"
        "ctypes.CDLL(None).prctl(1, 9)\n"
        "print(os.getpid(), flush=True)\ntime.sleep(600)'\n",
    )
    program = (
        "import signal, sys; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dumbbell.backends.kernel import launch\n"
        "from dumbbell.backends.kernel.confinement import SYSTEM\n"
        f"launch(Path({str(kernel)!r}), Path('/bin/true'), run_dir=Path({str(run_dir)!r}),"
        f" readable=[*SYSTEM, Path({sys.prefix!r}), Path({sys.base_prefix!r})],"
        " seed=1, wall_limit_s=300)\n"
    )
    console = run_dir / "console.log"
    runner = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    wait_until(
        lambda: console.exists() and console.read_text(encoding="ascii").endswith("\n"),
        "its number",
    )
    guest = int(console.read_text(encoding="ascii"))
    assert not has_ended(guest)
    runner.send_signal(number)
    runner.wait(timeout=PATIENCE_S)
    wait_until(lambda: has_ended(guest), "the end of the guest")
