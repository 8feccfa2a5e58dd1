"""What needs the kernel itself: short guests with a shell script as init."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from guest_processes import lay_launcher, processes_below

from dumbbell.backends.kernel import EPOCH_NS, KernelInfo, LaunchResult, launch
from dumbbell.backends.kernel.host_checks import host_checks
from dumbbell.backends.kernel.selftest import self_test
from waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.kernel, pytest.mark.programs]

Guest = Callable[..., LaunchResult]
PRELUDE = "export PATH=/usr/sbin:/usr/bin:/sbin:/bin\nmount -n -t proc proc /proc\n"


@pytest.fixture
def guest(kernel: KernelInfo, script: Callable[[str, str], Path], run_dir: Path) -> Guest:
    """Run a guest whose init is such a script."""

    def run(text: str, **changed: object) -> LaunchResult:
        options = {"seed": 1, "wall_limit_s": 60.0} | changed
        init = script("init", PRELUDE + text)
        return launch(kernel.path, init, run_dir=run_dir, **options)  # type: ignore[arg-type]

    return run


def test_the_self_test(kernel: KernelInfo) -> None:
    assert [check for check in host_checks() if not check.ok] == []
    found = list(self_test(kernel.path))
    assert len(found) == 8
    assert [finding for finding in found if not finding.ok] == []


def test_the_clock_is_virtual(guest: Guest) -> None:
    result = guest("date +%s%N; sleep 3600; date +%s%N\n")
    assert result.ok, result.why()
    before, after = (int(word) for word in result.console_tail.split()[:2])
    assert 0 <= before - EPOCH_NS < 10**9
    assert 0 <= after - before - 3600 * 10**9 < 10**7


def test_the_status_of_init_is_the_kernels(guest: Guest) -> None:
    result = guest("exit 42\n")
    assert result.exit == 42
    assert "status 42" in result.why()


def test_arguments_and_environment(guest: Guest) -> None:
    result = guest('echo "$A|$1|$2|$#"\n', args=["/x y", "z"], env={"A": "b c"})
    assert result.console_tail.splitlines()[0] == "b c|/x y|z|2"


def test_a_panic_shows_its_console(guest: Guest, run_dir: Path) -> None:
    # Init runs out of memory and nobody else is there to be killed.
    loop = "x = []\nwhile 1: x.append(bytearray(10 ** 6))"
    result = guest(f'exec {shutil.which("python3", path="/usr/bin")} -c "{loop}"\n', memory_mb=64)
    assert result.exit == -signal.SIGABRT
    assert result.why().startswith("the guest panicked")
    assert "Kernel panic" in result.why()
    assert list(run_dir.iterdir()) == [result.console]


@pytest.mark.parametrize("spin", ["while :; do :; done", "sleep 100000000000"])
def test_a_guest_that_never_ends(guest: Guest, run_dir: Path, spin: str) -> None:
    # What it takes to come up is the machine's affair.
    whole = guest("exit 0\n")
    whole.console.unlink()
    result = guest(f"({spin}) &\necho begun\n{spin}\n", wall_limit_s=3 + 3 * whole.wall_s)
    assert result.timed_out
    assert "begun" in result.why()
    wait_until(lambda: not processes_below(run_dir), "the end of each process")
    assert list(run_dir.iterdir()) == [result.console]


def test_running_out_of_memory_is_survived(guest: Guest) -> None:
    # `tail` keeps a line until it ends, and zeros have no end. When it is killed that is free.
    result = guest("tail /dev/zero; echo status $?\n", memory_mb=64)
    assert result.ok, result.why()
    assert "status 137" in result.console_tail


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_runner(
    kernel: KernelInfo, script: Callable[[str, str], Path], run_dir: Path, number: signal.Signals
) -> None:
    # Said when both are there: a child that the shell will make is not yet a process.
    spin = "while :; do :; done"
    init = script("init", f"{PRELUDE}({spin}) &\necho begun\n{spin}\n")
    program = (
        "import signal; from pathlib import Path\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dumbbell.backends.kernel import launch\n"
        f"launch(Path({str(kernel.path)!r}), Path({str(init)!r}), run_dir=Path({str(run_dir)!r}),"
        " seed=1, wall_limit_s=300)\n"
    )
    console = run_dir / "console.log"
    runner = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: console.exists() and b"begun" in console.read_bytes(), "the guest")
        wait_until(lambda: len(processes_below(run_dir)) >= 3, "the kernel and both programs")
        runner.send_signal(number)
        runner.wait(timeout=PATIENCE_S)
    finally:
        runner.kill()
    wait_until(lambda: not processes_below(run_dir), "the end of each process")


DRAWS = """
exec > "$1/out.txt" 2>&1
mount -n -t tmpfs tmpfs /run
od -An -tx1 -N64 /dev/urandom; date +%s%N; cat /proc/sys/kernel/random/uuid
ip link add name a type veth peer name b && ip link set a up && ip link set b up
ip -o link show a
sleep 5; od -An -tx1 -N64 /dev/urandom; date +%s%N
"""


def test_the_same_bytes_for_root_and_an_ordinary_user(kernel: KernelInfo, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("needs root and setpriv to become somebody else")
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as shared:
        place = Path(shared)
        place.chmod(0o755)
        program = shutil.copy(kernel.path, place / "linux")
        launcher = place / "go.py"
        launcher.write_text(_ALONE, encoding="utf-8")
        lay_launcher(place)
        init = place / "init"
        init.write_text("#!/bin/sh\n" + PRELUDE + DRAWS, encoding="utf-8")
        init.chmod(0o755)
        found = {}
        nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        for name, prefix, seed in (("a", [], 1), ("nobody's", nobody, 1), ("c", nobody, 2)):
            folder = place / name
            folder.mkdir()
            folder.chmod(0o777)
            command = [*prefix, "/usr/bin/python3", str(launcher), program, str(init), str(folder)]
            done = subprocess.run(
                [*command, str(seed)],
                env={"PATH": "/usr/bin:/bin"},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr + done.stdout
            found[name] = (folder / "out.txt").read_bytes()
        assert found["a"] == found["nobody's"]
        assert found["a"] != found["c"]
        assert len(found["a"].splitlines()) > 10


_ALONE = """
import sys
from pathlib import Path
from launcher import launch
program, init, folder, seed = sys.argv[1:]
result = launch(
    Path(program), Path(init), run_dir=Path(folder), seed=int(seed), wall_limit_s=60, args=[folder]
)
print(result.why())
sys.exit(result.exit)
"""
