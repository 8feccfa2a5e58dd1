"""Sessions of shells in a guest: what one types, what is kept, what it cannot reach."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dumbbell.backends.kernel.cache import KernelInfo
from dumbbell.backends.kernel.session import Limits, Session
from dumbbell.backends.kernel.session_orders import AdvanceTime, TerminalPlace, TypeLine
from dumbbell.errors import RunError
from dumbbell.spec import Experiment
from host_processes import has_ended
from waiting import wait_until

pytestmark = [pytest.mark.kernel, pytest.mark.programs]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/shell"
CHAIN = """
name = "chain"
duration = "1s"
links = [
  { a = "client", b = "router", delay = "1ms", rate = "10mbit" },
  { a = "router", b = "server", delay = "1ms" },
]
"""
R_PLOTS = Path("/usr/lib/R/site-library/ggplot2")
"""Debian's r-cran-ggplot2."""
Play = Callable[..., "Played"]


def needs(*programs: str) -> None:
    """Skip where one is not installed; with CI it is a failure."""
    missing = [name for name in programs if shutil.which(name) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"missing: {', '.join(missing)}")
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def command(*words: str | Path) -> list[str]:
    return [sys.executable, "-m", "dumbbell.cli", "shell", *map(str, words)]


class Played:
    """A session that has ended."""

    def __init__(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        self.status, self.errors = done.returncode, done.stderr
        self.folder = folder
        transcript = folder / "transcript.txt"
        self.text = transcript.read_text(encoding="utf-8") if transcript.exists() else ""

    def of(self, terminal: str) -> list[str]:
        """What a terminal printed."""
        lines = self.text.splitlines()
        return [line[len(terminal) + 2 :] for line in lines if line.startswith(f"{terminal}| ")]


@pytest.fixture
def play(kernel: KernelInfo, tmp_path: Path) -> Play:
    def run(script: str, *words: str, experiment: str = CHAIN, output: str = "session") -> Played:
        file = tmp_path / "experiment.toml"
        file.write_text(experiment, encoding="utf-8")
        (tmp_path / "script").write_text(script, encoding="utf-8")
        options = ("--script", tmp_path / "script", "--output", tmp_path / output, *words)
        done = subprocess.run(
            command(file, *options), capture_output=True, text=True, check=False, timeout=1800
        )
        return Played(done, tmp_path / output)

    return run


@pytest.mark.usefixtures("kernel")
def test_files_of_a_session_are_bounded_together() -> None:
    """What a line prints is kept too, and none of it is called back."""
    limits = Limits(most_written_bytes=2**20)
    with Session(Experiment.from_toml(CHAIN).resolved_json(), limits) as session:
        list(session.events())
        session.give([TypeLine(TerminalPlace(host=0), "seq 1000000; sleep 1000"), AdvanceTime()])
        with pytest.raises(RunError, match="more than the 1 MB that all files of this run may"):
            list(session.events())


@pytest.mark.usefixtures("kernel")
def test_a_wish_that_comes_when_its_wait_is_over_ends_no_other() -> None:
    with Session(Experiment.from_toml(CHAIN).resolved_json()) as session:
        list(session.events())
        session.end_wait()
        session.give([TypeLine(TerminalPlace(host=0), "sleep 10"), AdvanceTime()])
        (waited,) = [each for each in session.events() if each["event"] == "waited"]
    assert waited["stopped_after_ns"] is None
    assert waited["running"] == []


@pytest.mark.usefixtures("kernel")
def test_patience_begins_when_the_session_has_begun() -> None:
    """No machine comes up within a microsecond."""
    limits = Limits(patience_s=1e-6)
    with Session(Experiment.from_toml(CHAIN).resolved_json(), limits) as session:
        assert next(session.events())["event"]


def test_hosts_are_as_one_expects_them(play: Play) -> None:
    needs("ping", "bash")
    done = play(
        "client$ hostname; cat /etc/hostname; echo $HOME $PWD $USER; whoami; date +%Z\n"
        "client$ ping -c 2 server\n"
        "client$ getent hosts router server-link-1\n"
        "router$ sudo -n tc qdisc replace dev eth2 root netem rate 1000kbit\n"
        "router$ sudo VAR=1 sh -c 'echo $VAR'; tc qdisc show dev eth2 | cut -d' ' -f 1-3\n"
        "client$ echo kept > file; chmod +x file; ln -s file link; mkfifo pipe\n"
        "client$ mkdir d; touch d/e\n"
        "client$ sh -c 'ps -e -o comm='; echo there > /tmp/mine; cd d\n"
        "client$ pwd; false\n"
        "client$ echo $?\n"
        "server$ ls /tmp /root | cat; cat <<END\n"
        "server$ of a here-document\n"
        "server$ END\n"
        "server$ cat\n"
        "server> to cat\n"
        "server ^D\n"
        "server$ seq 3 | tee numbers | tail -n 1; sleep 100 &\n"
        "server$ jobs; kill %1\n"
        "server$ exit\n"
        "server$ echo a new shell\n"
    )
    assert done.status == 0, done.errors
    client = done.of("client")
    assert client[:5] == ["client", "client", "/root /root root", "root", "UTC"]
    # Two links of 1 ms each way, and 98 bytes at 10 Mbit/s.
    assert client[6] == "64 bytes from server-link-1 (10.10.2.2): icmp_seq=1 ttl=63 time=4.16 ms"
    assert "10.10.1.2       router-link-0 router" in client
    assert "10.10.2.2       server-link-1 server" in client
    assert done.of("router")[:2] == ["1", "qdisc netem 8001:"]
    assert "bash" in client
    assert not {"ITGRecv", "kworker"} & set(client), "processes of this host only"
    assert client[-2:] == ["/root/d", "1"], "the folder stays, and the status of the last command"
    server = done.of("server")
    assert "mine" not in server, "each host has a /tmp of its own"
    assert "of a here-document" in server
    assert "to cat" in server
    assert "3" in server
    assert any("Running" in line and "sleep 100" in line for line in server)
    assert server[-1] == "a new shell"
    kept = done.folder / "hosts"
    assert (kept / "client/file").read_text() == "kept\n"
    assert (kept / "client/d/e").exists()
    assert not (kept / "client/link").is_symlink()
    assert not (kept / "client/pipe").exists()
    assert (kept / "server/numbers").read_text() == "1\n2\n3\n"
    assert not (kept / "router").exists(), "an empty home is not kept"


def test_the_same_lines_give_the_same_bytes_and_so_does_the_transcript(play: Play) -> None:
    needs("iperf3", "ping")
    script = (
        "server$ iperf3 -s\n"
        "client$ iperf3 -c server -t 2 -J > iperf3.json\n"
        "client:2$ ping -i 0.1 -c 10 server | tee ping.txt\n"
        ":wait\n"
        "client$ ss -tin; cat /proc/sys/kernel/random/uuid; head -c 8 /dev/urandom | od -x\n"
        "client$ date --iso=ns; echo $RANDOM $$\n"
        ":wait 1s\n"
        "server ^C\n"
    )
    first = play(script, output="first")
    assert first.status == 0, first.errors
    assert "10 packets transmitted, 10 received" in first.text
    second = play(first.text, output="second")
    assert second.text == first.text
    for name in ("iperf3.json", "ping.txt"):
        one, two = ((each.folder / "hosts/client" / name).read_bytes() for each in (first, second))
        assert one == two
        assert one


def test_time_passes_only_while_one_waits(play: Play) -> None:
    done = play(
        "client$ sleep 100\nserver$ sleep 50\n:wait server\nrouter$ uptime -s\n:wait 7s\n"
        "client$ echo after\n:leave client\nclient$ sleep 3000\n:leave client\n:wait\n"
    )
    assert done.status == 0, done.errors
    instants = [float(line[1:].split("]")[0]) for line in done.text.splitlines() if line[0] == "["]
    texts = [line.split("] ")[1] for line in done.text.splitlines() if line[0] == "["]
    at = dict(zip(texts, instants, strict=True))
    assert at["server$ sleep 50"] - at["client$ sleep 100"] == pytest.approx(1, abs=0.1)
    assert at["router$ uptime -s"] == pytest.approx(51, abs=0.2)
    # The prompt of the terminal was waited for.
    assert at["client$ echo after"] == pytest.approx(100, abs=0.2)
    assert at[":end"] < 110


@pytest.mark.parametrize(
    ("script", "words", "message"),
    [
        (
            "client$ echo before; while :; do :; done\n",
            # Coming up is to take less, on a busy machine too.
            ("--patience", "15"),
            "client: echo before; while :; do :; done\n    last printed: before",
        ),
        ("client$ yes\nserver$ echo goes on\n", (), "# client: ended: one line printed more than"),
        (
            "client$ sleep 1000\n:wait\nserver$ echo goes on\n",
            ("--longest-wait", "20s"),
            "still running: client",
        ),
        ("client$ kill -SEGV $$\nclient$ echo goes on\n", (), "# client: the shell has ended"),
    ],
)
def test_what_spins_floods_hangs_or_crashes_is_named(
    play: Play, script: str, words: tuple[str, ...], message: str
) -> None:
    done = play(script, *words)
    assert message in done.text + done.errors
    assert done.status == (0 if "SEGV" in script else 1)
    if "goes on" in script:
        assert "| goes on" in done.text
    else:
        assert "| before" in done.text, "what was printed until then is kept"


def test_a_program_reaches_nothing_of_the_machine(play: Play, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("nobody's business\n", encoding="utf-8")
    home = Path.home() / f".dumbbell-secret-of-test-{os.getpid()}"
    home.write_text("nobody's business\n", encoding="utf-8")
    port = subprocess.Popen(
        [sys.executable, "-c", "import socket,time;s=socket.create_server(('127.0.0.1',0));"
         "print(s.getsockname()[1],flush=True);time.sleep(100)"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert port.stdout is not None
        number = port.stdout.readline().strip()
        done = play(
            "client$ mkdir /mnt/all; mount -t hostfs none /mnt/all -o /\n"
            f"client$ cat {secret} /mnt/all{secret} {home} /mnt/all{home} /mnt/all/etc/shadow\n"
            f"client$ echo changed > {secret}; echo changed > /mnt/all{secret}\n"
            f"client$ rm -rf {tmp_path} /mnt/all{tmp_path}/secret; ls /home /mnt/all/root\n"
            f"client$ (echo > /dev/tcp/127.0.0.1/{number}) && echo connected\n"
            "client$ touch /usr/bin/new /usr/new; ls -d /usr/bin/new /usr/new; ip link | cat\n"
        )
    finally:
        port.kill()
        port.wait()
        home.unlink()
    assert done.status == 0, done.errors
    assert "nobody's business" not in done.text
    assert "root:" not in "\n".join(done.of("client"))
    assert secret.read_text() == "nobody's business\n"
    assert "client| connected" not in done.text
    assert not Path("/usr/new").exists()
    assert "eth1" in done.text


def test_an_experiment_file_alone_runs_no_command(play: Play, tmp_path: Path) -> None:
    for text in (
        CHAIN + '[shell]\nscript = "touch /tmp/x"\n',
        CHAIN.replace('"client"', '"$(touch x)"'),
        CHAIN.replace('name = "chain"', 'name = "`id`"'),
    ):
        done = play("router$ echo hello\n", experiment=text)
        assert done.status == 2
        assert "is not allowed" in done.errors or "allowed:" in done.errors


def test_everything_ends_with_a_killed_parent(kernel: KernelInfo, tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(CHAIN, encoding="utf-8")
    script = (
        "client$ echo started\nclient$ ping server\nclient$ setsid sleep 1e9 &\n:wait 1000000s\n"
    )
    process = subprocess.Popen(
        command(tmp_path / "experiment.toml", "--script", "-", "--output", tmp_path / "out"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(script)
    process.stdin.close()
    while "started" not in (process.stdout.readline() or "started"):
        pass
    guests = guests_of(tmp_path)
    assert guests
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: all(map(has_ended, guests)), "the end of each process")


def guests_of(folder: Path) -> list[int]:
    """Processes that were told of this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if b"uml_dir=uml" in words and os.fsencode(folder) in environment:
                found.append(int(entry.name))
    return found


def test_the_sources_own_commands_yield_its_files(play: Play) -> None:
    needs("ITGSend", "ping", "ifconfig")
    experiment = (EXAMPLES / "multiplexing.toml").read_text(encoding="utf-8")
    script = (EXAMPLES / "multiplexing.session").read_text(encoding="utf-8")
    # As printed but for the times: twelve seconds in place of ten minutes.
    short = script.replace("-t 600000", "-t 12000").replace("-c 1000", "-c 50")
    done = play(short, experiment=experiment)
    assert done.status == 0, done.errors
    for number in (1, 2):
        for name in ("sm", "tdm"):
            file = done.folder / f"hosts/sender-{number}/pingtimes-{number}-{name}.csv"
            rows = [line.split(",") for line in file.read_text().splitlines()]
            assert len(rows) == 50
            assert rows[0][:3] == [str(number), name.upper(), "1"]
            assert all(float(row[3]) >= 1 for row in rows), "two links of 0.25 ms, there and back"
    again = play(done.text, experiment=experiment, output="again")
    assert again.text == done.text


@pytest.mark.long
def test_the_whole_session_of_the_source_with_its_plot(play: Play) -> None:
    needs("ITGSend", "ping", "ifconfig")
    experiment = (EXAMPLES / "multiplexing.toml").read_text(encoding="utf-8")
    script = (EXAMPLES / "multiplexing.session").read_text(encoding="utf-8")
    has_r = Path("/usr/bin/R").exists() and R_PLOTS.is_dir()
    if has_r:
        script += (EXAMPLES / "multiplexing-in-r.session").read_text(encoding="utf-8")
    done = play(script, experiment=experiment)
    assert done.status == 0, done.errors
    if has_r:
        assert_r_has_drawn(done)
    drawn = subprocess.run(
        [sys.executable, EXAMPLES / "delay_cdf.py", done.folder],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(":")[0] for line in drawn.stdout.splitlines()] == ["SM", "TDM"]
    assert (done.folder / "delay.svg").stat().st_size > 10_000
    assert (done.folder / "delay.png").read_bytes().startswith(b"\x89PNG")
    again = play(done.text, experiment=experiment, output="again")
    assert again.text == done.text


def assert_r_has_drawn(done: Played) -> None:
    """Its figures, and the quartiles that NumPy finds in the same files (type 7 of both)."""
    home = done.folder / "hosts/sender-1"
    assert (home / "delay.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (home / "delay.svg").read_bytes()[:200]
    rows = [line.split(",") for line in (home / "pingtimes-all.csv").read_text().splitlines()]
    printed = done.of("sender-1")
    for kind in ("SM", "TDM"):
        times = [float(row[3]) for row in rows if row[1] == kind]
        said = [float(word) for word in printed[printed.index(f"${kind}") + 2].split()]
        found = np.quantile(times, (0.25, 0.5, 0.75, 1))
        assert said == pytest.approx(found, rel=1e-3), "R prints four digits"


@pytest.mark.long
def test_the_sources_commands_for_r_draw_its_figure(play: Play) -> None:
    """As pasted, of a few made-up round trips: whether R finds all that it wants."""
    needs("R", "python3", "curl")
    if not R_PLOTS.is_dir():
        pytest.skip("r-cran-ggplot2 is not installed")
    made = (
        "sender-{0}$ for t in sm tdm; do for k in $(seq 9); do "
        "echo {0},${{t^^}},$k,$((k * k * {0})).5; done > pingtimes-{0}-$t.csv; done\n"
    )
    script = (EXAMPLES / "multiplexing-in-r.session").read_text(encoding="utf-8")
    done = play(
        made.format(1) + made.format(2) + script,
        experiment=(EXAMPLES / "multiplexing.toml").read_text(encoding="utf-8"),
    )
    assert done.status == 0, done.errors
    assert_r_has_drawn(done)


@pytest.mark.long
def test_the_second_source_with_its_table(play: Play) -> None:
    needs("iperf", "ping", "ITGSend")
    experiment = (EXAMPLES / "queue-size.toml").read_text(encoding="utf-8")
    script = (EXAMPLES / "queue-size.session").read_text(encoding="utf-8")
    done = play(script, experiment=experiment)
    assert done.status == 0, done.errors
    table = subprocess.run(
        [sys.executable, EXAMPLES / "peak_delays.py", done.folder],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    peaks = {line.split()[0]: [float(word) for word in line.split()[1:]] for line in table[1:]}
    assert {"5kb", "200kb", "2mb"} <= peaks.keys()
    for limit, (peak_ms, full_ms) in peaks.items():
        # 2 MB are all but full after ten seconds; the ping's own way comes on top.
        assert 0.85 * full_ms < peak_ms < 1.02 * full_ms + 1, limit
    again = play(done.text, experiment=experiment, output="again")
    assert again.text == done.text


def test_a_link_that_takes_no_time_is_named(play: Play) -> None:
    bare = 'name = "bare"\nduration = "1s"\nlinks = [{ a = "a", b = "b" }]\n'
    done = play("a$ ping -c 1 b\n", experiment=bare)
    assert done.status == 0, done.errors
    assert "links[0]: neither rate nor delay" in done.errors


@pytest.mark.parametrize("means", ["landlock", "mount-namespace"])
def test_a_host_is_the_same_by_whatever_the_guest_is_held(
    means: str, kernel: KernelInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.backends.kernel import session as sessions
    from dumbbell.backends.kernel.confinement import Confinement, ConfinementMethod
    from dumbbell.backends.kernel.session_orders import EndSession, TerminalPlace, TypeLine
    from dumbbell.spec import Experiment

    launch, confinement = sessions.launch, Confinement(ConfinementMethod(means))
    if ConfinementMethod(means) is ConfinementMethod.MOUNT_NAMESPACE and os.getuid() != 0:
        pytest.skip("a mount namespace is certain to be had by root only")

    def held(*words: object, **options: object) -> object:
        return launch(*words, **options, confinement=confinement)  # type: ignore[arg-type]

    monkeypatch.setattr(sessions, "launch", held)
    experiment = Experiment.from_toml(CHAIN)
    printed = []
    with sessions.Session(experiment.resolved_json()) as session:
        assert list(session.events())[-1]["event"] == "asking"
        session.give(
            [
                TypeLine(TerminalPlace(0), "ls /; ping -c 1 server; cat /etc/shadow; ls /home"),
                EndSession(),
            ]
        )
        printed = [event["text"] for event in session.events() if event["event"] == "printed"]
    text = "".join(printed)
    assert "bin\ndev\n" in text or "bin  dev" in text, text
    assert "1 received" in text
    assert "/etc/shadow: No such file" in text
