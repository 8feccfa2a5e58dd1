"""Guests that fail, disks that are full, processes that are killed, and what is left of them."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from guest_processes import lay_launcher, processes_below
from kernel_samples import EXPONENTIAL, network, ping

from dumbbell.backends import Failure, run_many, simulate
from dumbbell.backends.base import Job
from dumbbell.backends.kernel import LaunchResult
from dumbbell.backends.kernel import backend as kernel_backend
from dumbbell.backends.kernel.backend import kernel_seed
from dumbbell.backends.kernel.cache import kernels_folder, require_kernel
from dumbbell.backends.kernel.confinement import SYSTEM
from dumbbell.backends.kernel.folders import remove_left_folders
from dumbbell.backends.kernel.guest import GUEST_VARIABLE, guest_program
from dumbbell.backends.kernel.job import job
from dumbbell.backends.kernel.programs import files_read_inside, host_tools
from dumbbell.backends.kernel.tool_library import tool_library_of
from dumbbell.spec import Experiment
from waiting import PATIENCE_S, wait_until

# The package has a function of that name too.
launching = importlib.import_module("dumbbell.backends.kernel.launch")

pytestmark = [pytest.mark.kernel, pytest.mark.programs, pytest.mark.usefixtures("kernel")]

PYTHON = shutil.which("python3", path="/usr/bin")
OUT_OF_MEMORY = f"""exec {PYTHON} -c '
x = []
while 1: x.append(bytearray(10 ** 6))'"""
EXPERIMENT = """
duration = "20s"
guest = "process"
[[links]]
a = "sender"
b = "receiver"
forward = { rate = "1mbit", qdisc = "pfifo limit 20", delay = "3ms" }
[[flows]]
name = "stream"
from = "sender"
to = "receiver"
source = { kind = "poisson", rate = "200pps", size = "exponential 512B" }
"""

BY_MODULE = EXPERIMENT.replace('guest = "process"', 'guest = "module"')
TCP_BY_MODULE = BY_MODULE.replace(
    'source = { kind = "poisson", rate = "200pps", size = "exponential 512B" }',
    'transport = "tcp"\nsource = { kind = "greedy" }',
)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made: nobody else's."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def guest_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a script in the guest program's place; the real one is at hand in it as `$real`."""
    real = guest_program()
    seen = [*SYSTEM, *files_read_inside()]
    monkeypatch.setattr(kernel_backend, "files_read_inside", lambda _asked: seen)

    def put(text: str) -> None:
        script = tmp_path / "guest"
        begin = f'real={shlex.quote(str(real))}\n[ "$1" != confine ] || exec "$real" "$@"'
        script.write_text(f"#!/bin/sh\n{begin}\n{text}\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setenv(GUEST_VARIABLE, str(script))

    return put


@pytest.mark.parametrize(
    ("failing", "said"),
    [
        ("echo something is wrong; exit 3", ["something is wrong", "status 3"]),
        ("echo begun; kill -SEGV $$; exit 1", ["the guest"]),
        ("echo begun; while :; do :; done", ["begun", "did not end within"]),
        ("echo begun; sleep 100000000000", ["begun", "did not end within"]),
        (OUT_OF_MEMORY, ["panicked: it ran out of memory", "Kernel panic"]),
        ("while :; do echo a line that is printed over and over; done", ["printed more than"]),
    ],
    ids=["fails", "crashes", "spins", "sleeps", "memory", "prints"],
)
def test_a_guest_that_fails_is_one_failed_run_and_the_others_are_kept(
    guest_script: Callable[[str], None],
    temporary: Path,
    monkeypatch: pytest.MonkeyPatch,
    failing: str,
    said: list[str],
) -> None:
    only_the_second = """*'"replication": 1,'*) ;; *) exec "$real\""""
    guest_script(f'case "$(/bin/cat "$DUMBBELL_JOB")" in {only_the_second};; esac\n{failing}')

    def launched(*words: Any, env: dict[str, str], **options: Any) -> LaunchResult:
        # What never ends is waited for, and nobody else has as little time.
        is_the_second = '"replication": 1,' in Path(env["DUMBBELL_JOB"]).read_text("utf-8")
        if is_the_second and "did not end within" in said:
            options["wall_limit_s"] = 8.0
        return launching.launch(*words, env=env, **options)

    monkeypatch.setattr(kernel_backend, "launch", launched)
    monkeypatch.setattr(launching, "CONSOLE_MAX_BYTES", 100_000)
    failures: list[Failure] = []
    experiment = network(probes=[ping()])
    runs = run_many(
        [(experiment, n) for n in range(3)], backend="kernel", jobs=1, on_failure=failures.append
    )
    assert [index for index, _ in runs] == [0, 2]
    assert [failure.replication for failure in failures] == [1]
    for words in said:
        assert words in failures[0].message
    assert list(temporary.iterdir()) == []
    wait_until(lambda: not processes_below(temporary), "the end of each process")


def test_a_full_disk_is_a_failed_run(tmp_path: Path) -> None:
    """One of 1 MB, which a run without samples fits in and one with many does not."""
    if subprocess.run(["unshare", "-Urm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces for users here: a small file system cannot be mounted")
    small = tmp_path / "small"
    small.mkdir()
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from kernel_samples import EXPONENTIAL, network
from dumbbell.backends import run_many
records = network(source={{**EXPONENTIAL, "rate": "1000pps"}}, sample_interval="1ms")
plain = network(source=EXPONENTIAL)
def failed(failure):
    print("failed", failure.index, failure.message)
tasks = [(plain, 0), (records, 0), (plain, 1)]
for index, run in run_many(tasks, backend="kernel", jobs=1, on_failure=failed):
    print("ran", index)
fill = Path({str(small)!r}, "fill")
try:
    fill.write_bytes(bytes(2 ** 20))
except OSError:
    pass
list(run_many([(plain, 0)], backend="kernel", jobs=1, on_failure=failed))
fill.unlink()
print("left", list(Path({str(small)!r}).iterdir()))
"""
    place = shlex.quote(str(small))
    mount = f"mount -t tmpfs -o size=1m none {place} && exec env TMPDIR={place} "
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", mount + '"$0" -c "$1"', sys.executable, program],
        capture_output=True, text=True, check=False, timeout=600,
        env={**os.environ, GUEST_VARIABLE: str(guest_program())},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split()[:2] for line in lines] == [
        ["ran", "0"], ["failed", "1"], ["ran", "2"], ["failed", "0"], ["left", "[]"],
    ]  # fmt: skip
    assert done.stdout.lower().count("no space left on") == 2


@pytest.fixture
def started(tmp_path: Path) -> Callable[[str], subprocess.Popen[str]]:
    """Start ``dumbbell run`` with a home and a temporary folder of its own, and a long guest."""

    def start(experiment: str) -> subprocess.Popen[str]:
        file = tmp_path / "experiment.toml"
        file.write_text(experiment.replace('"20s"', '"20000s"'), encoding="utf-8")
        process = dumbbell_run(file, tmp_path)
        temporary = tmp_path / "tmp"

        def runs() -> bool:
            assert process.poll() is None, process.communicate()
            return bool(
                list(temporary.glob("*/console.log")) and len(processes_below(temporary)) >= 2
            )

        wait_until(runs, "the guest")
        return process

    return start


def dumbbell_run(file: Path, folder: Path) -> subprocess.Popen[str]:
    """``dumbbell run --backend kernel --out FOLDER/out`` at home in another folder."""
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    environment = {
        **os.environ,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CACHE_HOME": str(kernels_folder().parents[1]),
        GUEST_VARIABLE: str(guest_program()),
    }
    words = ["-m", "dumbbell.cli", "run", str(file), "--backend", "kernel", "--out", "out"]
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL]
)
@pytest.mark.parametrize(
    "experiment",
    [EXPERIMENT, BY_MODULE, TCP_BY_MODULE],
    ids=["process", "datagrams by the module", "TCP by the module"],
)
def test_nothing_is_left_of_a_run_that_is_stopped(
    started: Callable[[str], subprocess.Popen[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    experiment: str,
) -> None:
    process = started(experiment)
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode != 0, errors
    temporary = tmp_path / "tmp"
    wait_until(lambda: not processes_below(temporary), "the end of each process")
    if number == signal.SIGKILL:
        # Nobody could remove it; whoever comes next does.
        assert len(list(temporary.iterdir())) == 1
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        remove_left_folders()
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_but_the_results(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    before = sorted(kernels_folder().rglob("*"))
    process = dumbbell_run(file, tmp_path)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert list((tmp_path / "home").rglob("*")) == []
    assert list((tmp_path / "tmp").rglob("*")) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["experiment.toml", "home", "out", "tmp"]
    )
    assert sorted(kernels_folder().rglob("*")) == before


_AS_SOMEBODY = """
import json, sys
from pathlib import Path
from confinement import SYSTEM
from launcher import launch
job, library = Path("job.json").resolve(), Path("tool_library.so").resolve()
asked = json.loads(Path("asked.json").read_text())
result = launch(
    Path("linux").resolve(), Path("dumbbell-guest").resolve(), run_dir=Path("run"),
    seed=asked["seed"], wall_limit_s=60, memory_mb=asked["memory_mb"],
    env={"DUMBBELL_JOB": str(job)}, readable=[*SYSTEM, job, library],
)
print(result.why())
sys.exit(result.exit)
"""


def test_an_ordinary_user_has_the_same_digest() -> None:
    """With the system's own Python, since root's environment may not be theirs to read."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None or PYTHON is None:
        pytest.skip("needs root, setpriv and the system's python3 to become somebody else")
    link = {"rate": "1mbit", "qdisc": "pfifo limit 20", "delay": "3ms", "loss": 0.01}
    experiment: Experiment = network(source=EXPONENTIAL, link=link, probes=[ping()])
    text = experiment.resolved_json()
    own = simulate(experiment, 3, backend="kernel").meta["digest"]
    with tempfile.TemporaryDirectory(dir="/tmp") as shared:
        place = Path(shared)
        place.chmod(0o755)
        shutil.copy(require_kernel().path, place / "linux")
        lay_launcher(place)
        (place / "go.py").write_text(_AS_SOMEBODY, encoding="utf-8")
        output = place / "run/output"
        output.mkdir(parents=True)
        for folder in (output.parent, output):
            folder.chmod(0o777)
        library = place / "tool_library.so"
        shutil.copy(tool_library_of(), library)
        told = job(text, 3, output, host_tools(), tool_library=library)
        (place / "job.json").write_text(told, encoding="utf-8")
        memory_mb = kernel_backend.BACKEND.check(text).memory_bytes // 2**20 + 1
        asked = {"seed": kernel_seed(Job(text, 3)), "memory_mb": memory_mb}
        (place / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", PYTHON, "go.py"],
            cwd=place, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        theirs = json.loads((output / "result.json").read_text(encoding="utf-8"))["digest"]
    assert theirs == own
