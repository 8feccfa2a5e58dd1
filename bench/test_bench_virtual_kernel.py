"""The arithmetic of the kernel's table, and the script that stands beside our guest."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import tcp
import virtual_kernel as bench

from dumbbell.backends.kernel import find_kernel
from dumbbell.backends.kernel.job import job, links_of_hosts

OURS = bench.Sample(packets=25_000, goodput_mbps=9.5, virtual_s=30, wall_s=2, cpu_s=1.0)
THEIRS = replace(OURS, cpu_s=4.0)


def test_costs_are_per_virtual_second_and_per_packet() -> None:
    assert OURS.cpu_per_virtual_s == pytest.approx(1 / 30)
    assert OURS.cpu_us_per_packet == pytest.approx(40)
    assert OURS.speed == pytest.approx(30)


def test_the_ratio_is_iperf3_s_cost_over_ours() -> None:
    row = bench.Row(10, [OURS] * 3, [THEIRS] * 3)
    ratio = row.ratio()
    assert ratio is not None
    assert ratio.median == pytest.approx(4)
    assert row.verdict() == "met"
    assert bench.Row(10, [OURS], []).ratio() is None


def test_the_goal_can_be_missed_and_other_work_does_not_count() -> None:
    slow = replace(OURS, cpu_s=15.0)
    assert bench.Row(10, [slow] * 3, []).verdict() == "missed"
    assert bench.Row(10, [OURS, slow], []).verdict() == "open"
    assert bench.Row(100, [slow] * 3, []).verdict() == "-"
    fewer = replace(THEIRS, packets=20_000)
    assert "packets -20.0%" in bench.Row(10, [OURS], [fewer]).verdict()


def test_the_table_has_a_line_for_each_side() -> None:
    beside = {bench.BY_MODULE: [replace(OURS, cpu_s=0.25)] * 3, bench.SIMULATOR: []}
    both = bench.Row(10, [OURS] * 3, [THEIRS] * 3, beside)
    text = bench.table([both, bench.Row(100, [OURS], [])])
    ours, theirs, module, alone = text.splitlines()[1:]
    assert "0.033" in ours
    assert "40.0" in ours
    assert "30.0" in ours
    assert "0.133" in theirs
    assert theirs.endswith(" 4 [4, 4]")
    assert bench.BY_MODULE in module
    assert module.endswith(" 0.25 [0.25, 0.25]")
    assert alone.split()[-1] == "-"


def test_the_script_runs_the_lines_that_our_guest_is_given(tmp_path: Path) -> None:
    tools = {"ip": "/sbin/ip", "tc": "/sbin/tc"}
    text = bench.experiment(10, 5, 1).resolved_json()
    asked = json.loads(job(text, 0, tmp_path, tools))
    script = bench.bare_script(text, tmp_path, tools, 5)
    assert subprocess.run(["sh", "-n", "-c", script], check=False).returncode == 0
    for step in asked["steps"]:
        assert "\n".join(step["lines"]) in script
    _, links = links_of_hosts(text)
    assert all("\n".join(link.line for link in of) in script for of in links)
    assert "--client 10.10.2.2 --time 5 --congestion cubic" in script
    assert "-s -j qdisc show dev eth2" in script


def test_no_pairs_is_no_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As if a kernel were there: what it is asked to measure is nothing."""
    built = SimpleNamespace(path=Path("/bin/true"), sha256="")
    monkeypatch.setattr(bench, "find_kernel", lambda: built)
    monkeypatch.setattr(bench, "guest_program", Path)
    monkeypatch.setattr(bench, "host_tools", dict)
    monkeypatch.setattr(bench, "write", lambda *_: pytest.fail("there is nothing to be written"))
    monkeypatch.setattr(sys, "argv", ["virtual_kernel.py", "--pairs", "3", "--kernel-pairs", "0"])
    assert bench.main() == 0
    assert "skipped: --kernel-pairs 0" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["virtual_kernel.py", "--kernel-pairs", "-1"])
    with pytest.raises(SystemExit) as left:
        bench.main()
    assert left.value.code == 2
    assert "'-1' is not a whole number from 0" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--pairs", "--tcp-pairs"])
def test_a_table_that_is_not_left_out_needs_a_pair(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["tcp.py", option, "0"])
    with pytest.raises(SystemExit) as left:
        tcp.arguments()
    assert left.value.code == 2
    assert "'0' is not a whole number from 1" in capsys.readouterr().err


@pytest.mark.kernel
@pytest.mark.parametrize("rate_mbps", [10])
def test_our_guest_is_faster_than_real_time(rate_mbps: int) -> None:
    kernel = find_kernel()
    if kernel is None:
        pytest.skip("the kernel in virtual time is not built")
    sample = bench.run_ours(kernel.path, rate_mbps, 10, 1)
    assert 0.9 * rate_mbps < sample.goodput_mbps < rate_mbps
    assert sample.speed > bench.FASTER_THAN_REAL_TIME
