"""The numbers of docs/statistical-multiplexing.md are those of the study."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from docs_pages import ROOT
from docs_study_table import kept, table

from dumbbell.claims import Verdict, counts_of, from_json
from dumbbell.studies import StudyOptions, get_study
from dumbbell.studies.statistical_multiplexing import claims, external_measurements, published
from dumbbell.studies.statistical_multiplexing.parts import PRESETS
from dumbbell.studies.statistical_multiplexing.senders import OVERSLEEPING, SENDERS, SLOWER

STREAMS = PRESETS.full.ideal.over
PAGE = (ROOT / "docs" / "statistical-multiplexing.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in kept(PAGE).splitlines()[2:]
]
ROW = {row[0].strip("`"): row for row in ROWS}
PUBLISHED, THEORY, ELSEWHERE, MEASURED, INTERVAL, VERDICT = 1, 2, 3, 4, 5, 8


def test_published_numbers() -> None:
    for printed in published.RTT:
        name = f"{printed.arm.lower()}-{printed.name}"
        assert float(ROW[f"nominal-{name}"][PUBLISHED]) == printed.ms
        if printed not in published.QUARTILES:
            for sender in SENDERS:
                assert float(ROW[f"{sender.label}-{name}"][PUBLISHED]) == printed.ms
    assert float(ROW["nominal-mean-ratio"][PUBLISHED]) == published.MEAN_RATIO
    assert float(ROW["load"][PUBLISHED]) == published.PACKETS_PER_SECOND


def test_theory() -> None:
    for m in STREAMS:
        law = claims.multiplexing(m)
        assert float(ROW[f"ideal-t-sm-m{m}"][THEORY]) == pytest.approx(1e3 * law.T_sm, rel=1e-3)
        assert float(ROW[f"ideal-t-tdm-m{m}"][THEORY]) == pytest.approx(1e3 * law.T_tdm, rel=1e-3)


def test_no_claim_is_left_out() -> None:
    ideal = 4 * len(STREAMS)
    nominal = len(published.RTT) + 2
    fitted = nominal - len(published.QUARTILES)
    measured = sum(
        len(runs) for each in external_measurements.SHAPERS for runs in each.mean_rtt_ms.values()
    )
    of_senders = len(SENDERS) * (1 + fitted) + 1
    assert len(ROWS) == len(ROW) == ideal + nominal + of_senders + measured


def test_the_counts_of_verdicts() -> None:
    section = PAGE.split("## The verdicts")[1].split("\n## ")[0]
    said = {
        verdict: int(rows)
        for verdict, rows in re.findall(
            r"^\| ([a-z ]+) \| [–\d]+ \| (\d+) \|", section, re.MULTILINE
        )
    }
    # Of what is explained the row says where, too.
    assert said == Counter(
        next(each.value for each in Verdict if row[VERDICT].startswith(each.value)) for row in ROWS
    )


def test_the_words_about_the_fit() -> None:
    for sender, name in ((SLOWER, "slower"), (OVERSLEEPING, "oversleeping")):
        row = ROW[sender.calibration]
        best = f"{float(row[MEASURED]):#.3g} {sender.unit}"
        assert f"| {name} | {best} | {row[INTERVAL]} |" in PAGE
        at_best = [each for name, each in ROW.items() if name.startswith(f"{sender.label}-")]
        assert {each[VERDICT] for each in at_best} == {"reproduced"}
    assert ROW["quartiles-together"][VERDICT].startswith(Verdict.EXPLAINED_AT.value)
    assert all(
        float(low) <= float(row[ELSEWHERE]) <= float(high) and not row[PUBLISHED]
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
    assert f"one such pair would give {rounded('nominal-mean-ratio', 2)}" in text
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
    written = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    assert table(written["claims"]) == kept(PAGE)
    notes = {claim["id"]: claim["note"] for claim in written["claims"]}
    for sender in SENDERS:
        fit = re.search(
            r"base RTT ([\d.]+ ms) \((.*?)\); goodness of fit: (chi-square [\d.]+)",
            notes[sender.calibration],
        )
        assert fit is not None
        assert f"{fit[1].removesuffix(' ms')} ({fit[2]}) | {fit[3]}, p = " in PAGE
    facts = Counter[str]()
    for count in counts_of(from_json(written)):
        facts.update({verdict.value: n for verdict, n in count.verdicts.items()})
    section = PAGE.split("## The verdicts")[1].split("\n## ")[0]
    said = re.findall(r"^\| ([a-z ]+) \| (\d+) \| \d+ \|", section, re.MULTILINE)
    assert facts == {verdict: int(n) for verdict, n in said}


@pytest.mark.long
def test_what_quick_decides_full_decides_alike() -> None:
    """Quick's seeds are the first of full's, and its runs as long."""
    report = get_study("statistical-multiplexing").reproduce(StudyOptions(quick=True))
    undecided = {Verdict.INCONCLUSIVE, Verdict.UNINFORMATIVE}
    decided = {
        one.claim.id: one.verdict.value for one in report.judged if one.verdict not in undecided
    }
    # The page says of some where: "explained at ...".
    unlike = {name for name, word in decided.items() if not ROW[name][VERDICT].startswith(word)}
    assert not unlike
    # The headline: the gain, the order, and that nothing printed follows from the load asked for.
    headline = {"ideal-factor-m2", "nominal-sm-left-of-tdm", "nominal-sm-p50", "nominal-tdm-p50"}
    assert headline <= set(decided)
