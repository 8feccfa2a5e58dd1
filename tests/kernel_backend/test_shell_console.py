"""``dumbbell shell`` as a person types it: at a terminal of this machine."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from dumbbell.backends.kernel.cache import KernelInfo
from host_processes import state
from waiting import PATIENCE_S, wait_until

pytestmark = [pytest.mark.kernel, pytest.mark.programs]

CHAIN = """
name = "chain"
duration = "1s"
links = [
  { a = "client", b = "router", delay = "1ms", rate = "10mbit" },
  { a = "router", b = "server", delay = "1ms" },
]
"""
CTRL_C, CTRL_D = "\x03", "\x04"
IN_CONTROL = (
    "import fcntl,os,sys,termios; fcntl.ioctl(0,termios.TIOCSCTTY,0); "
    "os.execv(sys.executable,[sys.executable,'-m','dumbbell.cli','shell',*sys.argv[1:]])"
)
"""Ctrl-C is a signal only of the terminal that controls a process."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Typist:
    """A terminal with ``dumbbell`` in it."""

    def __init__(self, *words: str | Path) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(40, 100)
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_CONTROL, *map(str, words)],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""
        self._seen = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, line: str) -> None:
        os.write(self._ours, f"{line}\n".encode())

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def press_ctrl_c_at_a_prompt(self) -> None:
        """As a person does, who is slower than the few instructions behind a prompt's output.

        A signal between them and the select() of Python's readline is only noticed with the next
        key: 16 of 100,000 where a program presses it at once.
        """
        time.sleep(0.2)
        wait_until(lambda: state(self.process.pid) == "S", "the console, for a key")
        self.press(CTRL_C)

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Of what is shown from the end of the last match on."""
        deadline = time.monotonic() + PATIENCE_S
        while (found := re.compile(pattern).search(self.shown, self._seen)) is None:
            left = deadline - time.monotonic()
            assert left > 0, f"{pattern!r} is not in {self.shown[self._seen :]!r}"
            assert self._read(min(left, 1.0)), f"ended without {pattern!r}: {self.shown!r}"
        self._seen = found.end()
        return found

    def prompt(self, name: str, sign: str = "$") -> float:
        """Wait for it, and give its instant."""
        return float(self.wait_for(rf"(\d+\.\d{{3}}) s {re.escape(name + sign)} ")[1])

    def rest(self) -> int:
        """Read until the end; the exit status."""
        while self._read(PATIENCE_S):
            pass
        return self.process.wait(PATIENCE_S)

    def _read(self, seconds: float) -> bool:
        """Whether there may be more."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return seconds < PATIENCE_S
        try:
            piece = os.read(self._ours, 1 << 16)
        except OSError:  # nobody has the other side open any more
            return False
        self.shown += _ESCAPES.sub("", piece.decode("utf-8", "replace"))
        return bool(piece)


def two_hosts_and_waiting(person: Typist) -> None:
    person.wait_for("hosts: client, router, server; :help says")
    person.prompt("client")
    person.type("hostname; stty size")
    person.wait_for("\nclient\n24 80\n")
    began = person.prompt("client")
    person.type("ping -c 3 -i 5 server")
    person.wait_for("3 packets transmitted, 3 received")
    # A second to type it, and ten between the first and the last.
    assert person.prompt("client") - began == pytest.approx(10, abs=0.2)
    person.type("server")
    person.prompt("server")
    # Nobody waits for it, and time stands still.
    person.type("client ping -i 1 server")
    person.wait_for(r"# client runs on; client \^C ends it")
    person.prompt("server")
    person.type(":wait 3s")
    person.wait_for(r"client\| 64 bytes from server-link-1")
    person.prompt("server")


def what_takes_no_time(person: Typist) -> None:
    """A window of another size, a word that is none, what the console itself says."""
    person.resize(30, 60)
    person.process.send_signal(signal.SIGWINCH)
    person.type("hostname")
    person.wait_for("\nserver\n")
    began = person.prompt("server")
    person.type(":wat")
    person.wait_for("did you mean ':wait'")
    person.prompt("server")
    person.type(":terminals")
    person.wait_for("  client: ping -i 1 server\n  server: at its prompt\n")
    assert person.prompt("server") == began


def keys(person: Typist) -> None:
    # At the terminal where ping runs the prompt says so, and Ctrl-C is for it.
    person.type("client")
    person.prompt("client", ">")
    person.press_ctrl_c_at_a_prompt()
    person.wait_for("packets transmitted")
    person.prompt("client")
    # While time passes Ctrl-C has it stand still first.
    person.type("echo sleeps; sleep 1e9")
    person.wait_for("\nsleeps\n")
    person.press(CTRL_C)
    person.wait_for("# Ctrl-C again ends the session")
    person.prompt("client")
    person.type("exit")
    person.wait_for("# client: the shell has ended")
    person.prompt("client")
    person.type("echo a $((1 + 1))nd shell; echo kept > file")
    person.wait_for("\na 2nd shell\n")
    person.prompt("client")
    person.press(CTRL_D)


def test_a_person_at_the_console(kernel: KernelInfo, tmp_path: Path) -> None:
    """Two hosts, waiting, keys, what is mistyped; and the transcript gives the same bytes."""
    file, out = tmp_path / "chain.toml", tmp_path / "typed"
    file.write_text(CHAIN, encoding="utf-8")
    # Virtual hours pass in seconds: no wait may be over before a key is pressed.
    with Typist(file, "--output", out, "--longest-wait", "1000000s") as person:
        two_hosts_and_waiting(person)
        what_takes_no_time(person)
        keys(person)
        assert person.rest() == 0, person.shown
    transcript = (out / "transcript.txt").read_text(encoding="utf-8")
    assert re.search(r"^\[\d+\.\d+\] client \^C$", transcript, re.MULTILINE)
    assert re.search(r"^\[\d+\.\d+\] :wait client [\d.]+m?s$", transcript, re.MULTILINE)
    assert transcript.endswith("] :end\n")
    assert (out / "hosts/client/file").read_text() == "kept\n"
    again = tmp_path / "again"
    words = (file, "--script", out / "transcript.txt", "--output", again)
    subprocess.run(
        [sys.executable, "-m", "dumbbell.cli", "shell", *words],
        check=True,
        capture_output=True,
        timeout=600,
    )
    assert (again / "transcript.txt").read_text(encoding="utf-8") == transcript


def test_ctrl_c_twice_ends_a_session_and_what_was_said_is_kept(
    kernel: KernelInfo, tmp_path: Path
) -> None:
    file, out = tmp_path / "chain.toml", tmp_path / "out"
    file.write_text(CHAIN, encoding="utf-8")
    with Typist(file, "--output", out, "--host", "router") as person:
        person.prompt("router")
        # It reads no clock, so time stands still and no beat comes.
        person.type("echo begun; while :; do :; done")
        person.wait_for("\nbegun\n")
        person.press(CTRL_C)
        person.wait_for("# Ctrl-C again ends the session")
        person.press(CTRL_C)
        assert person.rest() == 130, person.shown
    assert "router| begun" in (out / "transcript.txt").read_text(encoding="utf-8")
