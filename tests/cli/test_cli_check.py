"""``dumbbell check``: tables, exit statuses, folders."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from small_networks import home_line

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]

LINE = home_line("4s", downloads=1)
HOLDS = """
[[claim]]
id = "waits"
kind = "ordering"
statement = "A call waits behind a download"
quantity = "probe[call].mean_rtt_ms"
above = "20.1ms"
"""
FAILS = """
[[claim]]
id = "no-wait"
kind = "ordering"
statement = "It does not"
quantity = "probe[call].mean_rtt_ms"
below = "20ms"
"""
OPEN = """
[[claim]]
id = "both"
kind = "agreement"
statement = "Two backends agree"
quantity = "probe[call].mean_rtt_ms"
"""


def written(folder: Path, *claims: str) -> str:
    (folder / "line.toml").write_text(LINE + "".join(claims))
    return "line.toml"


def test_claims_that_hold(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, _ = dumbbell("check", written(tmp_path, HOLDS), "--replications", "3", "--no-page")
    assert code == 0
    assert "line: 3 replications of one cell" in out
    assert "✓ reproduced" in out
    assert "contradicted" not in out
    assert not (tmp_path / "results").exists()


def test_a_claim_that_is_contradicted_gives_1(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = written(tmp_path, HOLDS, FAILS)
    code, out, _ = dumbbell("check", file, "--replications", "3", "--no-page")
    assert code == 1
    assert "contradicted: no-wait" in out


def test_what_is_open_gives_0_unless_strict(dumbbell: Dumbbell, tmp_path: Path) -> None:
    arguments = ["check", written(tmp_path, HOLDS, OPEN), "--replications", "3", "--json"]
    code, out, _ = dumbbell(*arguments)
    assert code == 0
    found = json.loads(out)
    assert found["undecided"] == ["both"] and found["contradicted"] == []
    assert [each["verdict"] for each in found["claims"]] == ["reproduced", "not testable"]
    assert dumbbell(*arguments, "--strict")[0] == 1


def test_a_wrong_claim_gives_2(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, _, err = dumbbell("check", written(tmp_path, HOLDS.replace("20.1ms", "25")))
    assert code == 2
    assert "claim[0].above" in err and "a time with its unit" in err
    code, _, err = dumbbell("check", written(tmp_path))
    assert code == 2 and "[[claim]] tables" in err


def test_run_leaves_claims_alone(dumbbell: Dumbbell, tmp_path: Path) -> None:
    assert dumbbell("run", written(tmp_path, FAILS), "--no-page")[0] == 0


def test_a_folder_is_run_again_anywhere(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = written(tmp_path, HOLDS, FAILS)
    code, out, _ = dumbbell("check", file, "--replications", "3", "--out", "kept")
    assert code == 1 and "page: kept/index.html" in out
    assert "A call waits behind a download" in (tmp_path / "kept" / "index.html").read_text()
    shutil.move(tmp_path / "kept", tmp_path / "clone")
    before = sorted(path.name for path in (tmp_path / "clone").iterdir())
    # A claim that is contradicted, and is so again, is the same.
    code, out, _ = dumbbell("check", "clone")
    assert code == 0
    assert "numbers: the same in all 3 runs, by their digests" in out
    assert "verdicts: the same, all 2" in out
    assert sorted(path.name for path in (tmp_path / "clone").iterdir()) == before
    assert dumbbell("check", "clone", "--replications", "4")[0] == 2
    description = tmp_path / "clone" / "experiment.toml"
    description.write_text(description.read_text().replace('delay = "10ms"', 'delay = "11ms"'))
    code, out, _ = dumbbell("check", "clone")
    assert code == 1
    assert "numbers: not those of the folder" in out
    (tmp_path / "clone" / "check.json").unlink()
    code, _, err = dumbbell("check", "clone")
    assert code == 2 and "no bundle" in err


def test_the_worked_example_is_a_preview_when_it_is_short(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    example = Path(__file__).parents[2] / "examples" / "bbr-and-random-loss.toml"
    assert len(example.read_text().splitlines()) <= 120
    arguments = ["check", str(example), "--set", "duration=1s", "--replications", "2", "--json"]
    code, out, _ = dumbbell(*arguments)
    assert code == 0
    claims = json.loads(out)["claims"]
    assert len(claims) == 6
    assert {each["verdict"] for each in claims} == {"preview"}


def test_a_finished_run_is_not_repeated_but_that_of_a_folder_is(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    file = written(tmp_path, HOLDS)
    options = ("check", file, "--replications", "3", "--store", "kept", "--json")
    code, first, _ = dumbbell(*options, "--no-page")
    assert code == 0
    code, listed, _ = dumbbell("results", "--store", "kept", "--json")
    assert code == 0
    assert [each["replications"] for each in json.loads(listed)] == [3]
    code, again, _ = dumbbell(*options, "--out", "page")
    assert (code, json.loads(again)) == (0, json.loads(first))
    code, told, _ = dumbbell("check", "page", "--json")
    assert code == 0
    assert json.loads(told)["same"]


@pytest.mark.slow
def test_the_workers_of_a_cluster_give_the_same_verdicts(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    file = written(tmp_path, HOLDS, FAILS)
    options = ["check", file, "--replications", "3", "--json"]
    code, here, _ = dumbbell(*options)
    assert code == 1
    code, there, err = dumbbell(*options, "--cluster", "local", "--jobs", "2", "--out", "page")
    assert (code, json.loads(there)) == (1, json.loads(here))
    assert "of 3 runs" in err
    # And a folder may be run again there.
    code, told, _ = dumbbell("check", "page", "--cluster", "local", "--jobs", "1", "--json")
    assert (code, json.loads(told)["same"]) == (0, True)
    code, _, err = dumbbell("check", file, "--cluster", "nowhere")
    assert code == 2 and "tcp://host:8786" in err


def test_shards_check_what_none_of_them_has_run_alone(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = written(tmp_path, HOLDS)
    options = ["check", file, "--replications", "4", "--no-page"]
    code, plain, _ = dumbbell(*options)
    assert code == 0
    code, out, _ = dumbbell(*options, "--store", "kept", "--shard", "1/2")
    assert (code, "shard 1/2: 2 runs done; 2 of all 4" in out) == (0, True)
    code, out, _ = dumbbell(*options, "--store", "kept", "--shard", "2/2")
    assert (code, out) == (0, plain)
    code, out, err = dumbbell(*options, "--store", "kept", "--resume")
    assert (code, out) == (0, plain)
    assert "4 of 4 runs are in kept: resumed" in err
    code, _, err = dumbbell(*options, "--store", "none", "--resume")
    assert code == 2 and "no runs of this name are stored" in err


def test_a_dry_run_of_claims_runs_nothing(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = written(tmp_path, HOLDS, OPEN)
    code, out, _ = dumbbell("check", file, "--dry-run", "--store", "kept")
    assert code == 0
    assert "1 cell, 10 runs" in out and "Nothing was run." in out
    assert not (tmp_path / "results").exists() and not (tmp_path / "kept").exists()


def test_what_a_folder_is_not_asked(dumbbell: Dumbbell, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for words in (["--resume"], ["--shard", "1/2"], ["--keep-tables"]):
        code, _, err = dumbbell("check", "folder", *words)
        assert code == 2 and f"error: {words[0]}" in err and "is run again" in err
    os.mkfifo(tmp_path / "pipe")
    code, _, err = dumbbell("check", "pipe")
    assert code == 2 and "a copy of it" in err


def test_the_precision_of_a_sweep_is_taken(dumbbell: Dumbbell, tmp_path: Path) -> None:
    sweep = '[sweep]\nprecision = 0.4\n"links[isp->home].rate" = ["10mbit", "20mbit"]\n'
    where = 'where = { "links[isp->home].rate" = "20mbit" }\n'
    file = written(tmp_path, sweep, HOLDS, where)
    code, out, _ = dumbbell("check", file, "--dry-run", "--json")
    assert (code, json.loads(out)["precision"]) == (0, 0.4)
    code, out, err = dumbbell("check", file, "--out", "page", "--json")
    assert code == 0, err
    kept = json.loads((tmp_path / "page" / "check.json").read_text())
    assert (kept["precision"], kept["replications"]) == (0.4, None)
    assert [len(each["digests"]) for each in kept["runs"]] == [10]
    assert json.loads(dumbbell("check", "page", "--json")[1])["same"]
    # What is typed stands in its place.
    code, out, _ = dumbbell("check", file, "--dry-run", "--json", "--replications", "3")
    assert json.loads(out)["precision"] is None
