"""packetdrill inside the virtual-time kernel: verdicts, and scripts that do not end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends.kernel import KernelInfo
from dumbbell.backends.kernel.packetdrill import (
    Conditions,
    fuzz,
    judge_scripts,
)
from dumbbell.folders import cache_folder

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("kernel", "packetdrill")]

HANDSHAKE = """`sysctl -q net.ipv4.tcp_timestamps=0`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 7>
+.1 < . 1:1(0) ack 1 win 511
+0 accept(3, ..., ...) = 4
"""
PASSES = "+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n"


@pytest.fixture
def packets(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, rest: str) -> Path:
        path = tmp_path / f"{name}.pkt"
        path.write_text(HANDSHAKE + rest, encoding="utf-8")
        return path

    return write


def test_each_has_its_verdict_and_a_state_of_its_own(
    packets: Callable[[str, str], Path], kernel: KernelInfo
) -> None:
    good = packets("good", PASSES)
    wrong = packets("wrong", PASSES + "+0 %{ assert tcpi_snd_cwnd == 11 }%\n")
    changes = packets("changes", "+0 `sysctl -q net.ipv4.tcp_window_scaling=0`\n" + PASSES)
    late = packets("late", PASSES.replace("+0 >", "+.1 >"))
    own = packets("own", "+0 `dumbbell host-queue keeps`\n" + PASSES)
    again = packets("again", PASSES)
    reports = judge_scripts([good, wrong, changes, late, own, again], Conditions(gso_max_segs=1))
    verdicts = {path.stem: report["verdict"] for path, report in reports.items()}
    assert verdicts == {
        "good": "passed",
        "wrong": "failed",
        "changes": "passed",
        "late": "failed",
        "own": "unsupported",
        "again": "passed",
    }
    assert reports[wrong]["difference"]["found"] == [["tcpi_snd_cwnd", 10.0]]
    assert reports[late]["difference"]["found"].endswith("> P. 1:1001(1000) ack 1 win 502")


def test_the_cache_may_lie_below_tmp(
    packets: Callable[[str, str], Path], kernel: KernelInfo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which the guest covers with an empty one."""
    with tempfile.TemporaryDirectory(dir="/tmp") as cache:
        shutil.copytree(cache_folder(), Path(cache, "dumbbell"), symlinks=True)
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        good = packets("good", PASSES)
        reports = judge_scripts([good], Conditions(gso_max_segs=1))
    assert reports[good]["verdict"] == "passed"


def test_one_that_takes_the_guest_with_it_costs_no_other(
    packets: Callable[[str, str], Path], kernel: KernelInfo
) -> None:
    first, last = packets("first", PASSES), packets("last", PASSES)
    crash = packets("crash", "+0 `kill -9 $PPID`\n")
    halt = packets("halt", "+0 `echo o > /proc/sysrq-trigger; kill -TERM 1; sleep 1000`\n")
    reports = judge_scripts([first, crash, halt, last], Conditions(gso_max_segs=1))
    verdicts = [reports[path]["verdict"] for path in (first, crash, halt, last)]
    assert verdicts == ["passed", "failed", "failed", "passed"]
    assert reports[crash]["difference"]["kind"] == "ending"


def test_random_scripts_repeat(kernel: KernelInfo) -> None:
    once = [(each.script, each.report) for each in fuzz(3, 11)]
    assert once == [(each.script, each.report) for each in fuzz(3, 11)]
