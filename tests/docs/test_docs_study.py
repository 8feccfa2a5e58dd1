"""The numbers of docs/statistical-multiplexing.md are those of the study."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from docs_pages import ROOT
from docs_study_table import kept, table

from dumbbell.studies.statistical_multiplexing import STREAMS, judging, kernel, published

PAGE = (ROOT / "docs" / "statistical-multiplexing.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in kept(PAGE).splitlines()[2:]
]
ROW = {row[0].strip("`"): row for row in ROWS}
PUBLISHED, THEORY, MEASURED, INTERVAL, VERDICT = 1, 2, 3, 4, 7


def test_published_numbers() -> None:
    for arm in published.ARMS:
        for name, value in published.RTT_MS[arm].items():
            for label in ("nominal", "fitted"):
                assert float(ROW[f"{label}-{arm.lower()}-{name}"][PUBLISHED]) == value
    assert float(ROW["nominal-mean-ratio"][PUBLISHED]) == published.MEAN_RATIO
    assert float(ROW["load-as-asked"][PUBLISHED]) == published.PACKETS_PER_SECOND


def test_theory() -> None:
    for m in STREAMS:
        law = judging.multiplexing(m)
        assert float(ROW[f"ideal-t-sm-m{m}"][THEORY]) == pytest.approx(1e3 * law.T_sm, rel=1e-3)
        assert float(ROW[f"ideal-t-tdm-m{m}"][THEORY]) == pytest.approx(1e3 * law.T_tdm, rel=1e-3)


def test_no_claim_is_left_out() -> None:
    ideal = 4 * len(STREAMS)
    as_published = 2 * (2 * len(published.RTT_QUANTILES) + 2)
    measured = sum(len(runs) for each in kernel.SHAPERS for runs in each.mean_rtt_ms.values())
    assert len(ROWS) == len(ROW) == ideal + as_published + 1 + measured


def test_the_counts_of_verdicts() -> None:
    section = PAGE.split("## The verdicts")[1].split("\n## ")[0]
    said = {
        verdict: int(count)
        for verdict, count in re.findall(r"^\| ([a-z ]+) \| (\d+) \|", section, re.MULTILINE)
    }
    assert said == Counter(row[VERDICT] for row in ROWS)


def test_the_words_about_the_fit() -> None:
    row = ROW["load-as-asked"]
    assert f"| packets/s from each sender | {row[MEASURED]} | {row[INTERVAL]} |" in PAGE
    fitted = [row for name, row in ROW.items() if re.fullmatch(r"fitted-(sm|tdm)-(p\d+|max)", name)]
    assert Counter(row[VERDICT] for row in fitted) == {"reproduced": 7, "not reproduced": 1}
    assert ROW["fitted-tdm-p50"][VERDICT] == "not reproduced"
    assert all(
        float(low) <= float(row[PUBLISHED]) <= float(high)
        for name, row in ROW.items()
        if name.startswith("kernel-")
        for low, high in [row[INTERVAL].split(" to ")]
    )


def rounded(name: str, digits: int) -> str:
    low, high = (float(end) for end in ROW[name][INTERVAL].split(" to "))
    return f"{low:.{digits}f} to {high:.{digits}f}"


def test_the_other_numbers_in_the_text() -> None:
    text = " ".join(PAGE.split())
    factor = ROW["ideal-factor-m2"]
    said = f"factor is {factor[MEASURED]}, with a 95 % interval from {factor[INTERVAL]}"
    assert said in text
    assert f"one run would give {rounded('nominal-mean-ratio', 2)}" in text
    assert f"13.9 ms printed, {ROW['fitted-tdm-p50'][INTERVAL]} predicted" in text
    kernel_runs = [rounded(f"kernel-tbf-{arm}-run1", 0) for arm in ("sm", "tdm")]
    assert f"predicts {kernel_runs[0]} ms and {kernel_runs[1]} ms" in text
    for arm in ("sm", "tdm"):  # "more than 20 times shorter"
        row = ROW[f"nominal-{arm}-p50"]
        assert float(row[MEASURED]) > 20 * float(row[PUBLISHED])


@pytest.mark.long
def test_the_table_is_what_the_study_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command at the top of the page.."""
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    monkeypatch.chdir(tmp_path)
    command = re.findall(r"^    dumbbell (reproduce .*)$", PAGE, re.MULTILINE)[0]
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "statistical-multiplexing"
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert table(claims) == kept(PAGE)
    note = next(claim["note"] for claim in claims if claim["id"] == "load-as-asked")
    base = re.search(r"base RTT ([\d.]+) ms \(([\d.]+) to ([\d.]+)\)", note)
    assert base is not None
    assert f"| base RTT, ms | {base[1]} | {base[2]} to {base[3]} |" in PAGE
    assert "chi-square 24.0" in note
