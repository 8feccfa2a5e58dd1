"""The arithmetic of the programs' cost, and the script that stands beside our guest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import programs_cost as bench
from virtual_kernel import bare_hosts

from dumbbell.backends.kernel.job import job
from dumbbell.backends.kernel.programs import asked_tools, host_tools
from dumbbell.errors import RunError


def test_the_goal_is_a_ratio_of_cpu_time() -> None:
    cheap, dear = bench.Cost(10.0, 1000), bench.Cost(13.0, 1000)
    line, is_met = bench.said([(cheap, dear)] * 3, 600)
    assert is_met
    assert "ratio 0.769" in line
    line, is_met = bench.said([(dear, cheap)] * 3, 600)
    assert not is_met
    assert "missed" in line


def test_other_work_does_not_count() -> None:
    line, is_met = bench.said([(bench.Cost(1.0, 1000), bench.Cost(10.0, 1200))], 600)
    assert not is_met
    assert "not counted" in line


def test_the_script_runs_the_same_commands_and_no_copies_of_packets(tmp_path: Path) -> None:
    resolved = bench.experiment(600, 1, programs=True).resolved()
    try:
        tools = host_tools(asked_tools(resolved))
    except RunError as error:
        pytest.skip(str(error))
    text = bench.experiment(600, 1, programs=False).resolved_json()
    asked = json.loads(job(text, 0, tmp_path, tools))
    hosts = bare_hosts(text, tmp_path, tools)
    script = bench.script(hosts, asked, resolved, tools, tmp_path)
    assert script.count("ITGSend -a ") == 2
    assert script.count(" -t 600000 ") == 2
    assert script.count("-i 0.2 -c 1000 ") == 2
    assert script.count("/ITGRecv > ") == 1
    assert "netem" in script
    assert "see-" not in script
    file = tmp_path / "script"
    file.write_text(script)
    subprocess.run(["sh", "-n", file], check=True)
