"""The page of ``dumbbell run``, for a run and a comparison, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dumbbell.cli.app import app
from small_networks import sampled_queue

SPEC = sampled_queue("a-small-one", "2s")
PAGE = Path("results/a-small-one/index.html")
QUEUES = [
    f"--set=links[router->b].qdisc={each}" for each in ("pfifo limit 20", "fq_codel", "nothing")
]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DUMBBELL_PAGE")
    Path("one.toml").write_text(SPEC, encoding="utf-8")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["run", *words])


def test_a_run_has_a_page_with_its_figures_and_numbers() -> None:
    done = run("one.toml")
    assert done.exit_code == 0
    assert f"page: {PAGE}" in done.stdout
    page = PAGE.read_text(encoding="utf-8")
    assert (PAGE.parent / "figures" / "queue.svg").read_bytes().startswith(b"<svg")
    values = json.loads((PAGE.parent / "values.json").read_text(encoding="utf-8"))
    assert [each["title"] for each in values] == ["Flows", "Queues", "Pings", "All flows"]
    assert "pfifo limit 20" in page and "No figure over time" not in page


@pytest.mark.parametrize("words", [["--no-page"], ["--json"], ["--out", "tables"]])
def test_who_wants_none_gets_none(words: list[str]) -> None:
    assert run("one.toml", *words).exit_code == 0
    assert not Path("results").exists()


def test_a_comparison_has_one_with_what_differs_and_what_failed() -> None:
    done = run("one.toml", *QUEUES, "--replications", "5")
    assert done.exit_code == 1, "one cell cannot be described"
    (said,) = (line for line in done.stdout.splitlines() if line.startswith("page: "))
    place = Path(said.removeprefix("page: "))
    assert place.parent.name.startswith(
        "a-small-one-compared@links.router--b.qdisc=pfifo+limit+20,fq_codel,nothing"
    )
    page = place.read_text(encoding="utf-8")
    assert "fq_codel in place of pfifo limit 20" in page
    assert "nothing failed:" in page
    drawn = {each.stem for each in (place.parent / "figures").glob("*.svg")}
    assert {"operating-points", "ping-cdf", "delay-cdf", "queues", "delays", "rates"} <= drawn
    cells = json.loads((place.parent / "meta.json").read_text(encoding="utf-8"))["cells"]
    assert [each["replications"]["sim"] for each in cells] == [5, 5]
    values = json.loads((place.parent / "values.json").read_text(encoding="utf-8"))
    titles = [each["title"] for each in values]
    assert titles == ["Numbers", "Differences from pfifo limit 20"]


def test_its_folder_may_be_named() -> None:
    assert run("one.toml", "--replications", "2", "--out", "elsewhere").exit_code == 0
    assert Path("elsewhere/index.html").is_file() and not Path("results").exists()


@pytest.mark.slow
def test_another_files_page_stays_and_the_numbers_are_still_printed() -> None:
    run("one.toml")
    before = PAGE.read_bytes()
    Path("two.toml").write_text(SPEC.replace("2mbit", "4mbit"), encoding="utf-8")
    done = run("two.toml")
    assert done.exit_code == 0
    assert "no page: results/a-small-one" in done.stderr and "bulk" in done.stdout
    assert PAGE.read_bytes() == before
    assert run("two.toml", "--page").exit_code != 0
    assert run("two.toml", "--page", "--replace").exit_code == 0
    assert PAGE.read_bytes() != before


def test_the_same_file_may_be_edited_and_run_again() -> None:
    run("one.toml")
    before = PAGE.read_bytes()
    Path("one.toml").write_text(SPEC.replace("2mbit", "4mbit"), encoding="utf-8")
    assert run("one.toml").exit_code == 0
    assert PAGE.read_bytes() != before
