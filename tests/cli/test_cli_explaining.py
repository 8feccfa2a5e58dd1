"""``dumbbell explain``: the table, exit statuses, JSON, the store and the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from small_networks import home_line

pytestmark = pytest.mark.programs

Dumbbell = Callable[..., tuple[int, str, str]]

LINE = home_line("4s", downloads=1)
UNKNOWN = """
[[unknown]]
path = "links[isp->home].rate"
values = ["10mbit", "5mbit", "20mbit"]
"""


def written(folder: Path, printed: str, unknown: str = UNKNOWN) -> str:
    claim = (
        '[[claim]]\nid = "rate"\nkind = "published"\nstatement = "So much"\nsource = "a page"\n'
        f'quantity = "flow[bulk-1].goodput_bps"\nprinted = "{printed}"\nrounding = "0.2mbit"\n'
    )
    (folder / "line.toml").write_text(LINE + unknown + claim)
    return "line.toml"


def test_what_explains_gives_0_and_the_first_line_says_it(
    dumbbell: Dumbbell, tmp_path: Path
) -> None:
    code, out, _ = dumbbell("explain", written(tmp_path, "4.7mbit"), "--no-page")
    assert code == 0
    assert out.startswith("Rate 5 Mbit/s alone gives the printed number (p = ")
    assert "the file as it is   excluded" in out
    assert max(map(len, out.splitlines()[2:8])) <= 80


def test_what_nothing_explains_gives_1(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, _ = dumbbell("explain", written(tmp_path, "1.7mbit"), "--no-page")
    assert code == 1
    assert out.startswith("None of the 3 settings tried gives the printed number; all are excluded")


def test_bad_input_gives_2(dumbbell: Dumbbell, tmp_path: Path) -> None:
    file = written(tmp_path, "4.7mbit")
    for option, said in (
        (["--pairs", "alway"], "always"),
        (["--backend", "sim,kernel"], "one: sim or kernel"),
        (["--replications", "2"], "at least 10"),
        (["--set", "links[isp->home].rate=1mbit"], "a setting that no [[unknown]] table tries"),
    ):
        code, _, err = dumbbell("explain", file, *option)
        assert code == 2 and said in " ".join(err.split()), err
    code, _, err = dumbbell("explain", written(tmp_path, "4.7mbit", UNKNOWN.replace("rate", "rat")))
    assert code == 2 and "unknown[0], value 1" in err and "'rate'" in err


def test_json_and_the_store(dumbbell: Dumbbell, tmp_path: Path) -> None:
    arguments = ["explain", written(tmp_path, "4.7mbit"), "--json", "--store", "kept"]
    code, out, _ = dumbbell(*arguments)
    found = json.loads(out)
    assert code == 0 and found["explaining"] == ["rate 5 Mbit/s"]
    assert found["settings"][0]["values"] == {"links[isp->home].rate": "5mbit"}
    assert found["settings"][0]["numbers"][0]["printed"] == 4.7
    code, again, err = dumbbell(*arguments, "--resume")
    assert code == 0 and again == out
    assert "30 of 30 runs are in kept: resumed" in err
    code, out, _ = dumbbell(*arguments, "--dry-run")
    assert code == 0


@pytest.mark.slow
def test_the_page_is_a_folder_with_the_file(dumbbell: Dumbbell, tmp_path: Path) -> None:
    code, out, _ = dumbbell("explain", written(tmp_path, "4.7mbit"), "--page")
    assert code == 0
    folder = tmp_path / "results" / "line-explained"
    assert f"page: {folder.relative_to(tmp_path)}/index.html" in out
    assert "Rate 5 Mbit/s alone gives the printed number" in (folder / "index.html").read_text()
    assert json.loads((folder / "explanation.json").read_text())["explained"] is True
    assert (folder / "experiment.toml").read_text() == (tmp_path / "line.toml").read_text()
