"""Parse the lines of a shell session; needs no kernel."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from dumbbell.backends.kernel import command_not_found
from dumbbell.backends.kernel.session_orders import (
    AdvanceTime,
    EndSession,
    OpenTerminal,
    Order,
    PressKeys,
    StopWaiting,
    TerminalPlace,
    TypeLine,
)
from dumbbell.cli.shell.lines import Help, Reader
from dumbbell.cli.shell.programs import serves
from dumbbell.cli.shell.transcript import MOST_BYTES, Transcript
from dumbbell.cli.terminal.output import coloured
from dumbbell.errors import SpecError

HOSTS = ("sender-1", "router", "receiver-1")
SENDER, SECOND, RECEIVER = TerminalPlace(0), TerminalPlace(0, 2), TerminalPlace(2)


def orders(*lines: str, current: TerminalPlace | None = None) -> list[Order]:
    return list(Reader(HOSTS, current).script(lines, "a script"))[:-2]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("sender-1$ ls -l", [TypeLine(SENDER, "ls -l")]),
        ("[   12.000000256] sender-1:2$ ls", [TypeLine(SECOND, "ls")]),
        ("sender-1$  indented", [TypeLine(SENDER, " indented")]),
        ("sender-1$", [TypeLine(SENDER, "")]),
        ("receiver-1$ ITGRecv", [TypeLine(RECEIVER, "ITGRecv", serves=True)]),
        ("sender-1> 1 + 1", [TypeLine(SENDER, "1 + 1", at_prompt=False)]),
        (
            "sender-1 ping -c 3 receiver-1",
            [TypeLine(SENDER, "ping -c 3 receiver-1"), AdvanceTime((SENDER,))],
        ),
        ("receiver-1 iperf3 -s", [TypeLine(RECEIVER, "iperf3 -s", serves=True)]),
        ("sender-1", [OpenTerminal(SENDER)]),
        ("sender-1 ^C", [PressKeys(SENDER, "\x03")]),
        (":wait", [AdvanceTime()]),
        (":wait 1500ms", [AdvanceTime(None, 1_500_000_000)]),
        (":wait sender-1 sender-1:2", [AdvanceTime((SENDER, SECOND))]),
        (":wait sender-1 2s", [AdvanceTime((SENDER,), 2_000_000_000)]),
        (":leave receiver-1", [StopWaiting(RECEIVER)]),
        ("# a remark", []),
        ("", []),
        ("sender-1| 64 bytes from receiver-1-link-1", []),
    ],
)
def test_a_line(line: str, found: list[Order]) -> None:
    assert orders(line) == found


def test_what_stands_alone_goes_to_the_present_terminal() -> None:
    assert orders("router", "tc qdisc") == [
        OpenTerminal(TerminalPlace(1)),
        TypeLine(TerminalPlace(1), "tc qdisc"),
        AdvanceTime((TerminalPlace(1),)),
    ]
    assert orders("hostname", current=SENDER)[0] == TypeLine(SENDER, "hostname")


def test_a_script_ends_with_a_wait_unless_it_says_that_it_ends() -> None:
    reader = Reader(HOSTS)
    assert list(reader.script(["sender-1$ ls"], "s"))[1:] == [AdvanceTime(), EndSession()]
    assert list(reader.script(["sender-1$ ls", ":end", "no line"], "s"))[1:] == [EndSession()]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sender-3$ ls", r"s:2: 'sender-3' is not allowed.*did you mean 'sender-1'"),
        ("sender-1:99$ ls", r"s:2: 'sender-1:99'.*terminals 1 to 16"),
        ("sender-1:0$ ls", r"s:2: .*terminals 1 to 16"),
        (":wat", r"s:2: ':wat'.*did you mean ':wait'"),
        (":wait 10x", r"s:2: '10x'.*a time"),
        (":wait nobody", r"s:2: 'nobody'.*a host"),
        (":leave", r"s:2: ':leave'"),
        (":end now", r"s:2: ':end now'"),
        ("ls", r"s:2: 'ls' .*a terminal before it, as in sender-1\$ ls"),
        ("sender-1$ echo \x1b]0;title\x07", r"s:2: .*no control characters"),
        ("sender-1$ " + "x" * 5000, r"s:2: .*at most 4000 bytes"),
    ],
)
def test_a_line_that_is_none_says_where_and_why(line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        list(Reader(HOSTS).script(["# first", line], "s"))


def test_help_is_asked_of_the_console() -> None:
    assert Reader(HOSTS).line(":help").asked == Help()


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("ITGRecv", True),
        ("sudo /usr/bin/ITGRecv -l log", True),
        ("iperf3 -s", True),
        ("strace -f -c -o calls.txt ITGRecv", True),
        ("strace -c ITGSend -a server", False),
        ("iperf3 -sV -p 5202", True),
        ("iperf3 -c server -t 10", False),
        ("iperf -s -u", True),
        ("ping server", True),
        ("ping -i 0.2 -c 1000 server | tee a.txt", False),
        ("ping -c10 server", False),
        ("ping server | tee a.txt", True),
        ("tcpdump -i eth1", True),
        ("tcpdump -i eth1 -c 10", False),
        ("tcpdump -r a.pcap", False),
        ("nc -l 80", True),
        ("LANG=C nice -n 5 iperf3 --server", True),
        ("cd /tmp; iperf3 -s", True),
        ("iperf3 -s &", False),
        ("ITGSend -a server -E 110", False),
        ("python3 -m http.server 80", True),
        ("echo 'ITGRecv", False),
        ("cat ITGRecv", False),
        ("", False),
    ],
)
def test_what_goes_on_without_an_end_is_known(line: str, goes_on: bool) -> None:
    assert serves(line) is goes_on


def test_a_shell_says_what_to_install() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash")

    def said(command: str) -> tuple[int, str]:
        environment = {"PATH": "/nowhere", command_not_found.VARIABLE: command_not_found.function()}
        done = subprocess.run(
            [bash, "-c", command], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    known = "bash: R: command not found; this machine does not have it (Debian: apt-get install "
    assert said("R --version") == (127, f"{known}r-base-core)\n")
    assert said("ITGSend -a x")[1].endswith("apt-get install d-itg)\n")
    assert said("no-such") == (127, "bash: no-such: command not found\n")
    assert said("'$(echo x)'") == (127, "bash: $(echo x): command not found\n")
    assert said("true; exit 3")[0] == 3


def typed(text: str, at_ns: int = 0) -> dict[str, object]:
    place = {"host": 0, "number": 1}
    return {"event": "typed", "at_ns": at_ns, "place": place, "text": text, "at_prompt": True}


def printed(text: str) -> dict[str, object]:
    place = {"host": 0, "number": 2}
    return {"event": "printed", "at_ns": 5, "place": place, "text": text, "open": False}


def test_a_transcript_is_a_script() -> None:
    said = Transcript(HOSTS, ["a session"])
    said.add(typed("ls", 1_500_000_000))
    said.add(printed("one\n\ntwo"))
    wait = {"event": "waiting", "at_ns": 2, "until": {"kind": "all"}, "at_most_ns": None}
    said.add(wait)
    stopped = {"at_ns": 3, "stopped_after_ns": 250_000_000, "time_up": False, "running": []}
    said.add({"event": "waited", **stopped})
    said.add({"event": "ended", "at_ns": 4})
    assert said.lines == [
        "# a session",
        "[1.500000000] sender-1$ ls",
        "sender-1:2| one",
        "sender-1:2| ",
        "sender-1:2| two",
        "[0.000000002] :wait 250ms",
        "# 0.000000003 s",
        "[0.000000004] :end",
    ]
    again = list(Reader(HOSTS).script(said.lines, "t"))
    assert again == [TypeLine(SENDER, "ls"), AdvanceTime(None, 250_000_000), EndSession()]


def test_what_a_program_prints_is_only_shown() -> None:
    said = Transcript(HOSTS, [])
    said.add(printed("\x1b]0;title\x07\r\x1b[31mred\n"))
    assert "\x1b" not in said.text()
    assert "red" in said.text()
    # Colours are a terminal's own; what asks or sets anything else is not.
    assert coloured("\x1b[31mred\x1b[0m\tand\n") == "\x1b[31mred\x1b[0m\tand\n"
    assert "\x1b" not in coloured("\x1b[2J\x1b]52;c;aGk=\x07\x1bP")


def test_a_transcript_is_bounded() -> None:
    said = Transcript(HOSTS, [])
    assert not said.is_full
    said.add(printed("x" * (MOST_BYTES + 1)))
    assert said.is_full
