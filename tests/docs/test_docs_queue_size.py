"""The numbers of docs/queue-size-delay.md are those of the study."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from docs_pages import ROOT
from docs_study_table import kept, table

from dumbbell.studies.queue_size_delay import LATE_AT, limits, listing, measured, published

PAGE = (ROOT / "docs" / "queue-size-delay.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in kept(PAGE).splitlines()[2:]
]
ROW = {row[0].strip("`"): row for row in ROWS}
PUBLISHED, THEORY, ELSEWHERE, MEASURED, INTERVAL, VERDICT = 1, 2, 3, 4, 5, 8


def ends(name: str) -> tuple[float, float]:
    low, high = ROW[name][INTERVAL].split(" to ")
    return float(low), float(high)


def test_no_claim_is_left_out() -> None:
    sizes = len(published.LIMITS)
    expected = 2 * (sizes + 1) + 1 + 2 * sizes + 1 + len(LATE_AT) + 6 + published.RUNS + 4
    assert len(ROWS) == len(ROW) == expected


def test_theory_and_published_numbers() -> None:
    for limit, size in published.LIMITS.items():
        largest = limits.largest_delay_ms(size)
        for kind in ("ideal", "ditg"):
            assert float(ROW[f"peak-{kind}-{limit}"][PUBLISHED]) == pytest.approx(largest, rel=1e-3)
        law = limits.mean_ping_peak_ms(limit)
        assert float(ROW[f"ping-peak-{limit}"][THEORY]) == pytest.approx(law, rel=1e-3)
        assert float(ROW[f"measured-{limit}"][ELSEWHERE]) in measured.PING_PEAKS_MS[limit]
    assert float(ROW["load-as-asked"][PUBLISHED]) == published.RHO
    for kind in ("ideal", "ditg"):
        grown = float(ROW[f"listing-growth-{kind}"][PUBLISHED])
        assert grown == pytest.approx(listing.growth_ms(), rel=1e-3)


def test_the_counts_of_verdicts() -> None:
    section = PAGE.split("## The verdicts")[1].split("\n## ")[0]
    said = {
        verdict: int(count)
        for verdict, count in re.findall(
            r"^\| ([a-z ]+) \| [–\d]+ \| (\d+) \|", section, re.MULTILINE
        )
    }
    assert said == Counter(row[VERDICT] for row in ROWS)


def test_the_words_about_a_real_kernel() -> None:
    text = " ".join(PAGE.split())
    outside = [f"measured-{limit}" for limit in published.LIMITS]
    outside = [name for name in outside if ROW[name][VERDICT] == "not reproduced"]
    assert outside == ["measured-40kb"]
    low, high = ends("measured-40kb")
    assert f"46.0 ms, where {low:.1f} to {high:.1f} are predicted" in text
    assert "at seven of the eight sizes" in text.lower()
    for number in range(1, 4):
        assert ROW[f"measured-2mb-run{number}"][VERDICT] == "reproduced"


def test_the_words_about_the_worst_case() -> None:
    assert "equals that at ρ = 8 to 0.03 ms" in " ".join(PAGE.split())
    assert float(ROW["as-bad-as-infinity"][MEASURED]) == pytest.approx(0.03, abs=0.005)
    for limit in published.LIMITS:
        difference = float(ROW[f"ping-peak-{limit}"][MEASURED]) - float(
            ROW[f"ping-peak-{limit}"][THEORY]
        )
        # "higher by a tenth of a millisecond", and four digits.
        assert 0.05 <= difference <= 0.25


@pytest.mark.long
def test_the_table_is_what_the_study_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command at the top of the page."""
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    monkeypatch.chdir(tmp_path)
    command = next(iter(re.findall(r"^    dumbbell (reproduce .*)$", PAGE, re.MULTILINE)))
    done = CliRunner().invoke(app, command.split())
    assert done.exit_code == 0, done.output
    folder = tmp_path / "results" / "queue-size-delay"
    claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
    assert table(claims) == kept(PAGE)
