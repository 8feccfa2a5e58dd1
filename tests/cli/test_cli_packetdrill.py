"""``dumbbell packetdrill``: verdicts, output, exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from dumbbell.cli.app import app

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "packetdrill" / "scripts"
HANDSHAKE = """
`sysctl -q net.ipv4.tcp_timestamps=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 511
+0 accept(3, ..., ...) = 4
+0 write(4, ..., 1000) = 1000
"""


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.pkt"
    path.write_text(HANDSHAKE + text)
    return path


def run(*arguments: str | Path) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["packetdrill", *map(str, arguments)])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_each_script_has_its_verdict_and_a_sum_is_drawn(tmp_path: Path) -> None:
    good = script(tmp_path, "good", "+0 > P. 1:1001(1000) ack 1\n")
    odd = script(tmp_path, "odd", "+0 splice(4, 5) = 9\n")
    bad = script(tmp_path, "bad", " +.2 > P. 1:1001(1000) ack 1 win 9\n")
    status, output = run(good, odd, bad)
    assert status == 1
    assert output.splitlines() == [
        f"{good}: passed",
        f"{odd}:11:1: unsupported: splice",
        f"{bad}:11:2: failed",
        "    expected: 0.300001 > P. 1:1001(1000) ack 1 win 9",
        "    found:    0.100001 > P. 1:1001(1000) ack 1 win 502",
        "1 passed, 1 failed, 1 unsupported",
    ]
    assert run(good, odd)[0] == 0


def test_calls_and_assertions_that_differ_are_shown(tmp_path: Path) -> None:
    call = script(tmp_path, "call", "+0 close(9) = 0\n")
    assertion = script(tmp_path, "assertion", "+0 %{ assert tcpi_snd_cwnd > 10, 'no' }%\n")
    _, output = run(call, assertion)
    assert output.splitlines()[:6] == [
        f"{call}:11:1: failed: close",
        "    expected: 0",
        "    found:    -1 EBADF",
        f"{assertion}:11:1: failed",
        "    expected: tcpi_snd_cwnd > 10",
        "    found:    tcpi_snd_cwnd = 10",
    ]


def test_what_is_no_script_is_refused_with_its_place(tmp_path: Path) -> None:
    bad = script(tmp_path, "bad", "+0 > P. 1:1001(999) ack 1\n")
    status, output = run(bad)
    assert status == 2
    assert f"{bad}:11:9: 1:1001(999) does not fit" in output


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.pkt"], "a script that can be read"),
        (["."], "a folder with *.pkt in it"),
        (["--profile", "bsd", "nowhere.pkt"], "one of linux-6.1, rfc"),
        (["--fuzz", "3", "--backend", "both", "--kernel", "6.12"], "6.1 with --fuzz"),
        (["--fuzz", "3", "--congestion-control", "vega"], "vegas"),
    ],
)
def test_bad_input_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["packetdrill", *arguments])
    assert words in str(done.exception)
    assert getattr(done.exception, "exit_code", None) == 2


def test_what_is_too_large_is_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.pkt"
    large.write_bytes(b" " * ((1 << 20) + 1))
    done = CliRunner().invoke(app, ["packetdrill", str(large)])
    assert "at most 1048576 bytes" in str(done.exception)


def test_shell_lines_are_never_run(tmp_path: Path) -> None:
    there = tmp_path / "there"
    path = script(tmp_path, "touch", f"`touch {there}`\n")
    status, output = run(path)
    assert status == 0 and "unsupported: shell line" in output
    assert not there.exists()


def test_json_has_the_same(tmp_path: Path) -> None:
    script(tmp_path, "a", "+0 > P. 1:1001(1000) ack 2\n")
    script(tmp_path, "b", "+0 > P. 1:1001(1000) ack 1\n")
    status, output = run("--json", tmp_path)
    found = json.loads(output)
    assert (status, found["passed"], found["failed"]) == (1, 1, 1)
    assert found["scripts"][0]["difference"]["kind"] == "packet"


def test_of_a_build_alone_the_json_has_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = SimpleNamespace(path=tmp_path / "packetdrill", source_sha256="0" * 64)
    monkeypatch.setattr(
        "dumbbell.backends.kernel.packetdrill.build_packetdrill", lambda source: built
    )
    told = {"packetdrill": str(built.path), "source_sha256": built.source_sha256}
    assert json.loads(run("--build", tmp_path, "--json")[1]) == told
    good = script(tmp_path, "good", "+0 > P. 1:1001(1000) ack 1\n")
    assert json.loads(run("--build", tmp_path, "--json", good)[1])["passed"] == 1


def test_a_profile_is_required(tmp_path: Path) -> None:
    """Of a timeout: Linux's bound is on its variance, the RFC's on the whole."""
    text = "`sysctl -q net.ipv4.tcp_recovery=0`\n+0 > P. 1:1001(1000) ack 1\n"
    late = script(tmp_path, "late", text + "+1 > P. 1:1001(1000) ack 1\n")
    assert run(late)[0] == 1
    assert run("--profile", "rfc", late)[0] == 0


def test_the_page_names_what_is_known_to_differ() -> None:
    page = (ROOT / "docs" / "packetdrill.md").read_text()
    named = set(re.findall(r"`known-to-differ/([a-z-]+)\.pkt`", page))
    assert named == {path.stem for path in (SCRIPTS / "known-to-differ").glob("*.pkt")}


def test_scripts_of_the_repository(tmp_path: Path) -> None:
    """What the crate's tests judge strictly, by the command."""
    status, output = run(SCRIPTS)
    of_kinds = [SCRIPTS.glob(f"{folder}*.pkt") for folder in ("", "bursts/", "found/")]
    kept = sum(len(list(paths)) for paths in of_kinds)
    known = len(list((SCRIPTS / "known-to-differ").glob("*.pkt")))
    assert output.splitlines()[-1] == f"{kept} passed, {known} failed, 0 unsupported"
    assert status == 1
