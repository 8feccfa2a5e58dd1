"""``dumbbell analyze CAPTURE --beside``: compare a capture's flows with simulated runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dumbbell.backends import simulate
from dumbbell.spec import Experiment

Dumbbell = Callable[..., tuple[int, str, str]]
TOML = """
duration = "4s"
[[links]]
a = "a"
b = "r"
[[links]]
a = "r"
b = "b"
rate = "5mbit"
delay = "10ms"
qdisc = "pfifo limit 20"
[[flows]]
name = "bulk"
from = "a"
to = "b"
start_jitter = "100ms"
source = { kind = "greedy" }
tcp = { congestion_control = "CONTROLLER" }
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A capture, and the experiment that it is one run of."""
    toml = TOML.replace("CONTROLLER", "reno")
    captured = toml.replace('limit 20"', 'limit 20"\nforward = { capture = true }')
    run = simulate(Experiment.from_toml(captured), replication=100)
    capture = tmp_path / "some.pcapng"
    capture.write_bytes(run.files["capture.pcapng"].path.read_bytes())
    (tmp_path / "same.toml").write_text(toml)
    (tmp_path / "strange.toml").write_text(TOML.replace("CONTROLLER", "reno-sce"))
    return str(capture), str(tmp_path / "same.toml")


def numbers(out: str) -> dict[tuple[str, str], dict[str, float]]:
    beside = json.loads(out)["beside"]
    return {(row["series"], row["statistic"]): row for row in beside["numbers"]}


def test_flows_beside_runs_of_the_same(dumbbell: Dumbbell, files: tuple[str, str]) -> None:
    capture, same = files
    words = ("analyze", capture, "--beside", same, "--replications", "4", "--json")
    code, out, _ = dumbbell(*words)
    assert code == 0
    found = numbers(out)
    assert {place for place, _ in found} == {"r->b before", "r->b after"}
    for place in ("r->b before", "r->b after"):
        rate = found[place, "median throughput"]
        assert rate["measured"] == pytest.approx(rate["simulated"], rel=0.05)
        assert rate["low"] <= rate["simulated"] <= rate["high"]
    # What the queue drops is late behind it.
    assert found["r->b after", "mean loss by bytes"]["simulated"] > 0
    code, again, _ = dumbbell(*words[:-1])
    assert code == 0 and "r->b after beside r->b after, of 4 simulated runs of " in again


def test_another_controller_and_other_values(
    dumbbell: Dumbbell, files: tuple[str, str], tmp_path: Path
) -> None:
    capture, same = files
    plain = ("analyze", capture, "--replications", "2", "--json", "--beside")
    _, first, _ = dumbbell(*plain, same)
    _, replaced, _ = dumbbell(*plain, str(tmp_path / "strange.toml"), "--instead", "reno-sce=reno")
    assert numbers(first) == numbers(replaced)
    code, _, err = dumbbell(*plain, str(tmp_path / "strange.toml"))
    assert code == 2 and "reno-sce" in err
    code, _, err = dumbbell(*plain, same, "--instead", "cubic=reno")
    assert code == 2 and "a controller of its flows: reno" in err
    code, slower, _ = dumbbell(*plain, same, "--set", "links[r->b].forward.rate=2mbit")
    assert code == 0
    assert numbers(slower)["r->b after", "median throughput"]["simulated"] < 2.1
    code, _, err = dumbbell(*plain, same, "--of", "r->c")
    assert code == 2 and "did you mean 'r->b'" in err


def test_beside_the_run_of_a_folder(
    dumbbell: Dumbbell, files: tuple[str, str], tmp_path: Path
) -> None:
    capture, same = files
    assert dumbbell("run", same, "--out", "run", "--no-page")[0] == 0
    code, _, err = dumbbell("analyze", capture, "--beside", "run")
    assert code == 2 and "capture_flows" in err
    counted = Path(same).read_text().replace('limit 20"', 'limit 20"\ncapture_flows = true')
    (tmp_path / "counted.toml").write_text(counted)
    assert dumbbell("run", str(tmp_path / "counted.toml"), "--out", "run2", "--no-page")[0] == 0
    code, out, _ = dumbbell("analyze", capture, "--beside", "run2", "--json")
    assert code == 0
    row = numbers(out)["r->b after", "median throughput"]
    assert (row["low"], row["is_inside"]) == (None, None) and row["simulated"] > 4
    code, _, err = dumbbell("analyze", capture, "--beside", "run2", "--instead", "reno=cubic")
    assert code == 2 and "an experiment's file" in err
