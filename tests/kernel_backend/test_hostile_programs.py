"""Programs that mean harm: what they reach, what they leave, and that nothing of them stays."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dumbbell.backends import simulate
from dumbbell.backends.kernel import backend as kernel_backend
from dumbbell.backends.kernel import output_limits
from dumbbell.backends.kernel.launch import LaunchResult
from dumbbell.backends.kernel.program_tasks import (
    MOST_RUN_BYTES,
    UNDER_WAY,
    most_written_bytes,
    unfinished_programs,
)
from dumbbell.errors import RunError
from dumbbell.spec import CommandProgram, Experiment
from dumbbell.tables import Run
from waiting import wait_until

pytestmark = [pytest.mark.kernel, pytest.mark.programs, pytest.mark.usefixtures("kernel")]

LINKS = [{"a": "sender", "b": "receiver", "delay": "5ms", "rate": "10mbit"}]


def experiment(*words: str, **more: object) -> Experiment:
    programs = [CommandProgram(name="it", host="sender", command=words, **more)]
    return Experiment(duration="1s", links=LINKS, programs=programs)


def script(text: str) -> Experiment:
    return experiment("sh", "-c", " ".join(text.split("\n")))


def python(text: str) -> Experiment:
    """Of several lines, which no word may have."""
    return experiment("python3", "-c", f"exec(bytes.fromhex('{text.encode().hex()}'))")


def printed(run: Run) -> str:
    return run.files["it.txt"].path.read_text(encoding="utf-8", errors="replace")


def guests_of(folder: Path) -> list[int]:
    """Kernels that run in this folder of temporary files."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"uml_dir=" in words and os.fsencode(folder) in environment + words:
                found.append(int(entry.name))
    return found


WAYS_OUT = """
import os, socket, subprocess
def tried(what, do):
    try:
        print("OUT" if do() else "held", what, flush=True)
    except OSError as error:
        print("held", what, error.strerror, flush=True)
def read(path):
    return open(path, "rb").read()
os.makedirs("/mnt/all", exist_ok=True)
subprocess.run(["mount", "-t", "hostfs", "none", "/mnt/all", "-o", "/"], check=False)
for all in ("", "/mnt/all"):
    for path in ({secret!r}, {home!r}, "/etc/shadow", "/etc/ssh/ssh_config", "/root/.bashrc"):
        tried("read " + all + path, lambda: read(all + path) or True)
    tried("write " + all, lambda: open(all + {secret!r}, "w").write("changed"))
    tried("list " + all, lambda: os.listdir(all + os.path.dirname({home!r})))
def connect(family, where):
    with socket.socket(family) as sender:
        sender.settimeout(1)
        sender.connect(where)
    return True
tried("tcp", lambda: connect(socket.AF_INET, ("127.0.0.1", {port})))
tried("unix", lambda: connect(socket.AF_UNIX, {unix!r}))
tried("all unix", lambda: connect(socket.AF_UNIX, "/mnt/all" + {unix!r}))
tried("abstract", lambda: connect(socket.AF_UNIX, chr(0) + {abstract!r}))
tried("internet", lambda: connect(socket.AF_INET, ("192.0.2.1", 80)))
os.symlink({secret!r}, "link")
os.symlink("/etc/shadow", "it.log")
os.mkfifo("pipe")
"""


def test_no_way_out_to_files_sockets_or_networks(tmp_path: Path) -> None:
    secret, unix = tmp_path / "secret", tmp_path / "socket"
    secret.write_text("nobody's business\n", encoding="utf-8")
    home = Path.home() / ".ssh" / f"dumbbell-secret-of-test-{os.getpid()}"
    had_folder = home.parent.exists()
    home.parent.mkdir(mode=0o700, exist_ok=True)
    home.write_text("nobody's business\n", encoding="utf-8")
    abstract = f"dumbbell-{os.getpid()}"
    try:
        with (
            socket.create_server(("127.0.0.1", 0)) as tcp,
            socket.socket(socket.AF_UNIX) as by_path,
            socket.socket(socket.AF_UNIX) as by_name,
        ):
            by_path.bind(str(unix))
            by_name.bind(f"\0{abstract}")
            for each in (by_path, by_name):
                each.listen()
            places = {"secret": str(secret), "home": str(home), "port": tcp.getsockname()[1]}
            run = simulate(
                python(WAYS_OUT.format(**places, unix=str(unix), abstract=abstract)),
                backend="kernel",
            )
    finally:
        home.unlink()
        if not had_folder:
            home.parent.rmdir()
    text = printed(run)
    assert text.count("held") == 19, text
    assert "OUT" not in text
    assert secret.read_text() == "nobody's business\n"
    assert run.files.keys() == {"it.txt"}, "links and pipes are not kept"


AT_THE_MODULE = """
import ctypes, os, subprocess
os.makedirs("/mnt/proc", exist_ok=True)
subprocess.run(["mount", "-t", "proc", "proc", "/mnt/proc"], check=False)
for path in ("/proc", "/mnt/proc"):
    try:
        os.open(path + "/dumbbell_traffic", os.O_RDWR)
        print("OUT")
    except OSError as error:
        print("held", error.strerror)
delete_module = 176 # asm/unistd_64.h
refused = ctypes.CDLL(None).syscall(delete_module, b"dumbbell_traffic", os.O_NONBLOCK)
print("held" if refused else "OUT")
"""


@pytest.mark.usefixtures("modules")
def test_the_module_that_sends_is_out_of_reach() -> None:
    sent = {"kind": "poisson", "rate": "200pps", "size": "500B"}
    flow = {"name": "stream", "from": "sender", "to": "receiver", "source": sent}
    given = python(AT_THE_MODULE).model_copy(update={"guest": "module"})
    beside = Experiment.model_validate({**given.model_dump(by_alias=True), "flows": [flow]})
    run = simulate(beside, backend="kernel")
    text = printed(run)
    assert text.count("held") == 3, text
    assert "OUT" not in text
    assert run.column("flows", "delivered_pkts")[0] > 150


@pytest.mark.parametrize(
    "text",
    [
        # What it leaves behind is not of its session, group or parent.
        "setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done' & "
        "setsid setsid sleep 1e9 & exit 0",
        # The first process of its host, and process 1, which it does not see.
        "kill -9 1; kill -TERM 1; exit 0",
    ],
)
def test_what_stays_or_kills_its_parent_hinders_nobody(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    run = simulate(script(text), backend="kernel")
    assert run.column("programs", "exit_status").tolist() == [0]
    wait_until(lambda: not guests_of(tmp_path), "the end of each process")


def test_what_ends_its_host_is_a_failed_run() -> None:
    with pytest.raises(RunError, match=r"it printed last: Rebooting|was ended by signal"):
        simulate(script("echo Rebooting; reboot -f; sleep 3; exit 0"), backend="kernel")


def test_names_and_floods_of_files_stay_in_bounds() -> None:
    made = (
        "import os\n"
        "for n in range(1100): open(f'f{n:04}', 'w').close()\n"
        "for name in ('a\\nb', 'c\\x1b[2Jd', '-rf', '.hidden', 'e' * 255, '\\u202egpj'):\n"
        "    open(name, 'w').write('x')\n"
        "print('\\x1b]0;title\\x07\\x1b[2J')\n"
        "deep = '.'\n"
        "for n in range(60):\n"
        "    deep += '/d'; os.mkdir(deep); open(deep + '/f', 'w').close()\n"
    )
    run = simulate(python(made), backend="kernel")
    assert len(run.files) <= 1001
    assert all(name.isprintable() and name[0] not in "-." for name in run.files)


BESIDE_ITS_OUTPUT = (
    "import os, subprocess\n"
    "os.makedirs('/mnt/all', exist_ok=True)\n"
    "subprocess.run(['mount', '-t', 'hostfs', 'none', '/mnt/all', '-o', '/'], check=False)\n"
    "folder = '/mnt/all' + os.path.dirname(os.readlink('/proc/self/fd/1')) + '/'\n"
    "print('filling', flush=True)\n"
)


@pytest.mark.parametrize(
    "fill",
    [
        "for n in range(1000):\n    open(f'{folder}more{n}', 'wb').write(bytes(1 << 20))\n",
        # Removed and open still: no file of the folder shows it.
        "kept = []\n"
        "for n in range(1000):\n"
        "    kept.append(open(f'{folder}more', 'wb', 0))\n"
        "    kept[-1].write(bytes(1 << 20)); os.unlink(f'{folder}more')\n",
    ],
    ids=["many files", "removed files"],
)
def test_the_sum_of_its_files_is_bounded(
    fill: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is smaller than the limit of one; who has filled the disk is named."""
    monkeypatch.setattr(kernel_backend, "most_written_bytes", lambda *asked: 100 << 20)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    rest = "import time\ntime.sleep(1)\nwhile True: pass\n"
    with pytest.raises(RunError, match="wrote more than the 100 MB that all files") as raised:
        simulate(python(BESIDE_ITS_OUTPUT + fill + rest), backend="kernel")
    assert "it (any), which printed last 'filling'" in str(raised.value)
    wait_until(lambda: not guests_of(tmp_path), "the end of each process")
    assert not list(tmp_path.rglob("more*"))


def test_empty_files_and_hiding_places_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).touch()
    monkeypatch.setattr(output_limits, "MOST_RUN_FILES", 3)
    assert not output_limits.GuestFiles(os.getpid(), tmp_path, 1 << 40).is_exceeded()
    (tmp_path / "d").touch()
    assert output_limits.GuestFiles(os.getpid(), tmp_path, 1 << 40).is_exceeded()
    assert not output_limits.GuestFiles(os.getpid(), tmp_path, None).is_exceeded()
    monkeypatch.setattr(output_limits, "MOST_RUN_FILES", 1000)
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(100):
        os.mkdir("d" * 200, dir_fd=here)
        deeper = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert output_limits.GuestFiles(os.getpid(), tmp_path, 1 << 40).is_exceeded()
    shutil.rmtree(tmp_path)


def test_what_a_run_may_write_follows_from_its_programs() -> None:
    one, three = (
        Experiment(
            duration="1s",
            links=LINKS,
            programs=[
                CommandProgram(name=f"it-{n}", host="sender", command=["true"]) for n in names
            ],
        ).resolved()
        for names in (range(1), range(3))
    )
    assert most_written_bytes(one, 0, 1 << 20) == (16 + 2) << 20
    assert most_written_bytes(three, 0, 1 << 20) == (48 + 2) << 20
    captures = [
        {"kind": "tcpdump", "name": f"all-{n}", "host": "sender", "neighbor": "receiver"}
        for n in range(5)
    ]
    many = Experiment(duration="1s", links=LINKS, programs=captures).resolved()
    assert most_written_bytes(many, 0, 0) == MOST_RUN_BYTES


def test_what_a_program_lays_in_the_way_of_the_result_fails_the_run() -> None:
    """It finds the folder of its own run, since that is where its output goes."""
    forge = (
        "import os, subprocess\n"
        "os.makedirs('/mnt/all', exist_ok=True)\n"
        "subprocess.run(['mount', '-t', 'hostfs', 'none', '/mnt/all', '-o', '/'], check=False)\n"
        "folder = os.path.dirname(os.readlink('/proc/self/fd/1'))\n"
        "for name in ('result.json', 'homes/sender'):\n"
        "    os.makedirs('/mnt/all' + folder + '/' + name, exist_ok=True)\n"
    )
    with pytest.raises(RunError, match="Is a directory") as raised:
        simulate(python(forge), backend="kernel")
    assert "Traceback" not in str(raised.value)


@pytest.mark.parametrize(
    "line",
    [
        '{"name": "it\\u001b[2J", "kind": "any", "output": "it.txt"}',
        '{"name": "it", "kind": "any", "output": "../../../../etc/passwd"}',
        '{"name": 1}',
        "[" * 60_000,
        "7",
        '{"name": "it", "kind": "any", "output": "a\\u0000b"}',
    ],
)
def test_who_is_said_to_be_under_way_may_be_anything(line: str, tmp_path: Path) -> None:
    (tmp_path / UNDER_WAY).write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "it.txt").write_text("last \x1b]0;title\x07", encoding="utf-8")
    said = unfinished_programs(tmp_path)
    assert said.isprintable()
    assert "root:" not in said


def test_what_a_console_ends_with_steers_no_terminal(tmp_path: Path) -> None:
    console = "first\n\x1b[2J\x1b]52;c;aGk=\x07\n"
    ended = LaunchResult(
        exit=1, cpu_s=0.0, wall_s=0.0, timed_out=False, cancelled=False, flooded=False,
        disk_full=False, console_tail=console, console=tmp_path,
    )  # fmt: skip
    assert all(line.isprintable() for line in ended.why().split("\n"))


def test_a_fork_bomb_ends_with_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_backend, "_LEAST_WALL_LIMIT_S", 4.0)
    monkeypatch.setattr(kernel_backend, "_PATIENCE", 0)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(RunError):
        simulate(experiment("bash", "-c", "f() { f | f & }; f; sleep 1e9"), backend="kernel")
    wait_until(lambda: not guests_of(tmp_path), "the end of each process")


def test_everything_ends_when_dumbbell_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "it.toml"
    file.write_text(
        'duration = "1000s"\nlinks = [{ a = "sender", b = "receiver" }]\n'
        '[[programs]]\nkind = "any"\nname = "it"\nhost = "sender"\n'
        'command = ["sh", "-c", "setsid sh -c \'while :; do :; done\' & sleep 900"]\n',
        encoding="utf-8",
    )
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dumbbell.cli", "run", file, "--backend", "kernel"),
            *("--allow-programs", "--no-store", "--no-page", "--yes"),
        ],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: guests_of(tmp_path), "a guest")
    time.sleep(2)
    assert guests_of(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not guests_of(tmp_path), "the end of each process")
