"""Sweeps, claims, the store and precision, typed with ``--backend kernel``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from small_networks import home_line

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.programs]

QDISC = "links[isp->home].forward.qdisc"
DELAY = "links[server->isp].delay"
LINE = home_line("1s", downloads=1)
SWEEP = f"""
[sweep]
replications = 2
"{QDISC}" = ["pfifo limit 50", "fq_codel"]
"""
CLAIM = """
[[claim]]
id = "agree"
kind = "agreement"
statement = "Simulator and kernel agree on the mean round trip"
quantity = "probe[call].mean_rtt_ms"
"""


def typed(folder: Path, *words: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "dumbbell.cli", *words],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def line(tmp_path: Path) -> str:
    (tmp_path / "line.toml").write_text(LINE + SWEEP)
    return "line.toml"


def test_a_sweep_has_both_beside_each_other_and_says_whether_they_agree(
    tmp_path: Path, line: str
) -> None:
    # The kernel has whole microseconds: two of the four cells are refused there alone.
    delays = ["--set", f"{DELAY}=10ms", "--set", f"{DELAY}=10.0005ms"]
    words = ["run", line, *delays, "--backend", "sim,kernel"]
    code, out, err = typed(tmp_path, *words, "--dry-run")
    assert code == 1
    assert "sim: 4 cells, 8 runs" in out and "kernel: 2 of 4 cells, 4 runs" in out
    assert "allowed: whole microseconds on the kernel" in err
    code, out, err = typed(tmp_path, *words, "--no-page")
    assert code == 1, err
    assert "line: 2 replications of each, 4 cells" in out
    assert [each for each in out.splitlines() if each in ("sim", "kernel")] == ["sim", "kernel"]
    # Of two runs nothing is decided, and it says of which.
    (said,) = [each for each in out.splitlines() if each.startswith("kernel and sim, ")]
    assert said.startswith("kernel and sim, 2 cells: ")
    assert "call: round trip, 95 % not decided in all" in said
    again = next(each for each in err.splitlines() if "again: " in each)
    assert again.endswith(f"--set '{DELAY}=10.0005ms' --backend kernel")


def test_finished_runs_of_the_kernel_are_not_repeated(tmp_path: Path, line: str) -> None:
    words = ["run", line, "--backend", "kernel", "--store", "kept", "--json"]
    code, first, err = typed(tmp_path, *words, "--replications", "1")
    assert code == 0, err
    code, more, err = typed(tmp_path, *words, "--resume")
    assert code == 0 and "2 of 4 runs are in kept: resumed" in err
    runs = [json.loads(text)["runs"] for text in (first, more)]
    for before, after in zip(*runs, strict=True):
        assert (before["replications"], after["replications"]) == (1, 2)
        for path, values in before["values"].items():
            assert values == after["values"][path][:1]
    code, again, err = typed(tmp_path, *words, "--resume")
    assert (code, again) == (0, more)
    assert "4 of 4 runs are in kept: resumed" in err
    # A simulator's run is another one.
    code, _, err = typed(tmp_path, "run", line, "--store", "kept", "--resume", "--no-page")
    assert code == 2 and "of other values or backends" in err


@pytest.mark.usefixtures("linux_6_1")
def test_a_claim_that_both_agree_is_judged(tmp_path: Path) -> None:
    (tmp_path / "claim.toml").write_text(LINE + CLAIM)
    words = ["check", "claim.toml", "--backend", "sim,kernel", "--json"]
    code, out, err = typed(tmp_path, *words, "--replications", "5")
    assert code == 0, err
    (claim,) = json.loads(out)["claims"]
    assert claim["verdict"] == "reproduced"


def test_a_precision_decides_how_often_the_kernel_runs(tmp_path: Path, line: str) -> None:
    words = ["run", line, "--backend", "kernel", "--set", f"{QDISC}=fq_codel", "--json"]
    code, out, err = typed(tmp_path, *words, "--precision", "0.9")
    assert code == 0, err
    found = json.loads(out)
    assert [each["replications"] for each in found["runs"]] == [10]
    assert found["not_precise"] == []
