"""``dumbbell run`` of a file with ``[sweep]``, and ``--dry-run``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from test_cli_compare import LINE, QDISC

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]
DELAY = "links[server->isp].delay"
SWEEP = f"""
[sweep]
replications = 2
"{QDISC}" = ["pfifo limit 100", "fq_codel"]
"{DELAY}" = ["5ms", "40ms"]
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    short = LINE.replace('duration = "5s"', 'duration = "2s"').replace('"1s"', '"500ms"', 1)
    (tmp_path / "line.toml").write_text(short + SWEEP)
    return "line.toml"


def test_a_row_a_cell_and_a_page(dumbbell: Dumbbell, file: str, tmp_path: Path) -> None:
    code, out, err = dumbbell("run", file, "--page")
    assert code == 0, err
    assert "line: 2 replications of each, 4 cells" in out
    lines = [each.split() for each in out.splitlines()]
    assert [row[:3] for row in lines if row[:1] == ["fq_codel"]][:2] == [
        ["fq_codel", "5", row[2]] for row in lines if row[:2] == ["fq_codel", "5"]
    ] + [["fq_codel", "40", row[2]] for row in lines if row[:2] == ["fq_codel", "40"]]
    assert "fq_codel in place of pfifo limit 100, 2 pairs of cells:" in out
    assert "from pfifo limit 100, all else equal" in out
    page = tmp_path / "results" / "line-swept" / "index.html"
    assert page.is_file()
    assert (page.parent / "tables" / "runs.parquet").is_file()


def test_all_of_it_as_json_with_typed_coordinates(dumbbell: Dumbbell, file: str) -> None:
    code, out, _ = dumbbell("run", file, "--json", "--replications", "1")
    found = json.loads(out)
    assert code == 0
    assert [each["path"] for each in found["parameters"]] == [QDISC, DELAY]
    assert found["parameters"][1] == {
        "path": DELAY,
        "name": "delay",
        "unit": "ms",
        "values": ["5ms", "40ms"],
        "coordinates": [5.0, 40.0],
    }
    assert found["cells"][3]["coordinates"] == {QDISC: "fq_codel", DELAY: 40.0}
    assert found["compared_along"] == QDISC
    assert [each["replications"] for each in found["runs"]] == [1] * 4


def test_a_wrong_cell_is_reported_and_the_rest_is_run(dumbbell: Dumbbell, file: str) -> None:
    settings = [f"{QDISC}={each}" for each in ("pie", "fq_codle")]
    arguments = [part for each in settings for part in ("--set", each)]
    code, out, err = dumbbell("run", file, "--no-page", *arguments)
    assert code == 1
    assert "2 cells" in out
    assert "fq_codle, 5 ms and 1 more cell: links[1].qdisc: 'fq_codle'" in err
    assert "did you mean 'fq_codel'?" in err
    again = next(each for each in err.splitlines() if "again: " in each)
    assert f"--set '{QDISC}=fq_codle' --set '{DELAY}=5ms'" in again
    code, _, err = dumbbell(
        "run", file, "--set", f"{QDISC}=fq_codle", "--set", f"{DELAY}=5ms", "--no-page"
    )
    assert code == 2 and "did you mean 'fq_codel'?" in err


def test_a_cell_that_fails_in_running_costs_itself(dumbbell: Dumbbell, file: str) -> None:
    # Far more pings than fit in what the runs may use.
    path = "probes[call].interval"
    settings = ["--set", f"{path}=50ms", "--set", f"{path}=1us"]
    code, out, err = dumbbell("run", file, "--no-page", "--memory", "40MB", *settings)
    assert code == 1, err
    assert "4 cells" in out
    assert "again: dumbbell run line.toml" in err


@pytest.mark.slow
def test_cells_that_are_not_precise_enough_are_named(dumbbell: Dumbbell, file: str) -> None:
    code, out, _ = dumbbell(
        "run", file, "--json", "--precision", "0.00001", "--set", f"{DELAY}=5ms",
        "--set", "duration=600ms",
    )  # fmt: skip
    found = json.loads(out)
    assert code == 0
    assert [each["cell"] for each in found["not_precise"]] == ["pfifo limit 100", "fq_codel"]


def test_many_values_of_one_path_have_a_row_each(dumbbell: Dumbbell, file: str) -> None:
    values = [f"flows[bulk].count={n}" for n in range(1, 8)]
    arguments = [part for each in values for part in ("--set", each)]
    fixed = ["--set", f"{DELAY}=5ms", "--set", f"{QDISC}=pfifo"]
    code, out, _ = dumbbell("run", file, "--replications", "1", "--no-page", *fixed, *arguments)
    assert code == 0
    assert "7 cells" in out


def test_a_dry_run_says_what_would_be_run_and_runs_nothing(
    dumbbell: Dumbbell, file: str, tmp_path: Path
) -> None:
    code, out, _ = dumbbell("run", file, "--dry-run")
    assert code == 0
    assert f"{DELAY}: 5, 40 ms" in out
    assert "4 cells, 8 runs" in out
    assert "memory: " in out and "thread" in out and "Nothing was run." in out
    assert not (tmp_path / "results").exists()
    code, out, _ = dumbbell("run", file, "--dry-run", "--json", "--precision", "0.05")
    (sim,) = json.loads(out)["backends"]
    assert (sim["least_runs"], sim["most_runs"]) == (40, 800)
    assert sim["most_cpu_s"] == pytest.approx(20 * sim["least_cpu_s"])
    assert sim["memory_bytes"] >= 2 * sim["run_bytes"] > 0
    code, out, err = dumbbell("run", file, "--dry-run", "--set", f"{QDISC}=a", "--set",
                              f"{QDISC}=pie")  # fmt: skip
    assert code == 1
    assert "2 of 4 cells, 4 runs" in out and "'a'" in err
    code, out, _ = dumbbell("run", file, "--dry-run", "--replication", "3")
    assert code == 0 and "1 cell, 1 run\n" in out


def test_a_dry_run_knows_what_is_there(dumbbell: Dumbbell, file: str) -> None:
    once = ["run", file, "--store", "kept", "--no-page"]
    assert dumbbell(*once, "--set", f"{DELAY}=5ms")[0] == 0
    code, out, _ = dumbbell(*once, "--dry-run", "--replications", "3")
    assert code == 0
    assert "4 cells, 12 runs" in out
    assert "4 of them are in kept: 8 would be done" in out
    code, out, _ = dumbbell(*once, "--dry-run", "--json")
    (some,) = json.loads(out)["backends"]
    assert (some["most_runs"], some["runs_in_store"], some["most_runs_left"]) == (8, 4, 4)
    (whole,) = json.loads(dumbbell("run", file, "--dry-run", "--json")[1])["backends"]
    assert 2 * some["most_cpu_s"] == pytest.approx(whole["most_cpu_s"], rel=0.01)
    code, out, _ = dumbbell(*once, "--dry-run", "--set", f"{DELAY}=5ms")
    assert "4 of them are in kept: 0 would be done" in out
    assert "time:" not in out and "memory:" not in out
    # Of a precision there may be fewer, or more.
    code, out, _ = dumbbell(*once, "--dry-run", "--json", "--precision", "0.1")
    (some,) = json.loads(out)["backends"]
    assert (some["least_runs_left"], some["most_runs_left"]) == (40 - 4, 800 - 4)
    # What shows packets needs their tables, and these were not kept.
    one = ["run", file, "--store", "kept", "--dry-run", "--replication", "0", "--set"]
    code, out, _ = dumbbell(*one, f"{DELAY}=5ms")
    assert "1 cell, 1 run\n" in out and "kept" not in out


def test_two_files_and_a_sweep_do_not_go_together(dumbbell: Dumbbell, file: str) -> None:
    code, _, err = dumbbell("run", file, file)
    assert code == 2
    assert "one file where there is a [sweep]" in err
