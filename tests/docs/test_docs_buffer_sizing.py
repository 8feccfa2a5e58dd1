"""The numbers of docs/buffer-sizing.md are those of the study."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from docs_pages import ROOT
from docs_study_table import kept, table

from dumbbell.claims import Verdict, views_of
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.buffer_sizing import (
    PRESETS,
    arms,
    claims,
    explaining,
    printed_levels,
    published,
)

PAGE = (ROOT / "docs" / "buffer-sizing.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in kept(PAGE).splitlines()[2:]
]
ROW = {row[0].strip("`"): row for row in ROWS}
MEASURED, REPLICATIONS, VERDICT = 4, 7, 8


def test_no_claim_is_left_out() -> None:
    directions = [of.id for of in claims.OBSERVATIONS]
    headlines = [f"{of.id}-light" for of in claims.OBSERVATIONS if of.is_headline]
    levels = [
        f"levels-{workload}-{platform}"
        for workload in printed_levels.EXPERIMENTS
        for platform in published.PLATFORMS
    ]
    assert len(ROWS) == len(ROW)
    attempts = [attempt.claim for attempt in explaining.ATTEMPTS]
    beyond = {"observation-03-small", "observation-08-small"}
    beyond |= {f"square-root-law-{packets}" for packets in arms.BUFFERS.values()}
    assert set(ROW) == {*directions, *headlines, *levels, *attempts, *beyond}


def test_every_row_has_the_replications_of_the_full_preset() -> None:
    assert {row[REPLICATIONS] for row in ROWS} == {str(PRESETS.full.grid.runs)}


def test_the_verdicts_in_the_text() -> None:
    section = PAGE.split("## What came out")[1].split("\n## ")[0]
    said = re.findall(r"^\| .* \| `([a-z0-9-]+)` \| (.*) \|$", section, re.MULTILINE)
    assert len(said) > 10
    for name, verdict in said:
        assert ROW[name][VERDICT] == verdict, name


@pytest.mark.long
def test_the_table_is_what_the_study_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command at the top of the page."""
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    monkeypatch.chdir(tmp_path)
    command = re.findall(r"^    dumbbell (reproduce .*)$", PAGE, re.MULTILINE)[0]
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "buffer-sizing"
    written = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert table(written["claims"]) == kept(PAGE)


@pytest.mark.long
def test_what_quick_decides_full_decides_alike() -> None:
    """Quick's seeds are the first of full's, and its runs as long."""
    report = get_study("buffer-sizing").reproduce(StudyOptions(quick=True))
    undecided = {Verdict.INCONCLUSIVE, Verdict.UNINFORMATIVE}
    decided = {
        view.id: view.verdict_text
        for view in views_of(report.judged)
        if view.verdict not in undecided
    }
    assert decided == {name: ROW[name][VERDICT] for name in decided}
    headline = {
        f"observation-{what}-{workload}-light"
        for what in ("12", "10-delay", "10-loss")
        for workload in printed_levels.EXPERIMENTS
    }
    assert headline <= set(decided)
