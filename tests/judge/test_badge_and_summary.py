"""The badge and the one-page summary: counts as in the dossier, all text escaped, one page."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.judge.badge import badge_svg
from dumbbell.judge.dossier import Dossier
from dumbbell.judge.outcome_bar import COLOURS, outcome_bar
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.suites import SUITES, sections_of
from dumbbell.judge.summary import (
    _COLUMNS,
    _MARGIN_PT,
    _MEAN_WIDTH,
    _TITLE_SIZE,
    HEIGHT_PT,
    summary_svg,
)
from dumbbell.judge.words import FAILS, HOLDS, OPEN, answer, outcome_counts
from dumbbell.report import FigureDrawer
from dumbbell.report.figure_frames import PDF
from small_dossiers import short_dossier

SVG = "{http://www.w3.org/2000/svg}"
DIGEST = "ab" * 32


@pytest.fixture(scope="module")
def dossier(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    return short_dossier(JudgeRequest("bbr", against=("cubic",)), tmp_path_factory.mktemp("bbr"))


def texts(svg: str) -> list[ET.Element]:
    return list(ET.fromstring(svg).iter(f"{SVG}text"))


def words(svg: str) -> str:
    return " ".join(each.text or "" for each in texts(svg))


def test_the_badge_counts_and_names_its_evidence(dossier: Dossier) -> None:
    counts = outcome_counts(dossier)
    assert sum(counts.values()) == len(dossier.judged)
    svg = badge_svg(dossier, DIGEST)
    assert f"bbr: {counts[HOLDS]} of {len(dossier.judged)} expectations hold" in words(svg)
    title = ET.fromstring(svg).findtext(f"{SVG}title")
    assert title is not None
    assert f"{counts[FAILS]} do not, {counts[OPEN]} are not decided" in title
    assert "This is no verdict by RFC 9743" in title
    assert DIGEST in title
    assert "complian" not in svg.lower()


def test_a_bar_has_the_shares_of_the_counts() -> None:
    bar = ET.fromstring(f"<g>{outcome_bar({HOLDS: 6, FAILS: 3, OPEN: 1}, 10, 0, 200, 8)}</g>")
    drawn = [(float(each.attrib["x"]), float(each.attrib["width"])) for each in bar]
    assert drawn == [(10, 120), (130, 60), (190, 20)]
    assert [each.attrib["fill"] for each in bar] == list(COLOURS.values())
    assert outcome_bar({HOLDS: 0, FAILS: 0, OPEN: 0}, 10, 0, 200, 8) == ""


def test_the_summary_has_the_answer_and_what_does_not_hold(dossier: Dossier) -> None:
    svg = summary_svg(dossier, DIGEST)
    told = words(svg)
    assert answer(dossier) in told
    assert DIGEST in told
    failed = [each for found in dossier.found for each in found.fails]
    assert failed
    assert f"Does not hold: {len(failed)}" in told
    assert all(each.claim.statement[:60] in told for each in failed)


@pytest.mark.parametrize("times", [1, 9, 60])
def test_the_summary_stays_on_its_page(times: int, dossier: Dossier) -> None:
    found = tuple(
        replace(each, checked=replace(each.checked, judged=times * each.judged))
        for each in dossier.found
    )
    svg = summary_svg(replace(dossier, found=found), DIGEST)
    heights = [float(each.attrib["y"]) for each in texts(svg)]
    assert min(heights) > 0
    assert max(heights) < HEIGHT_PT
    # The last three lines are the foot's; nothing is written over it.
    foot = sorted(heights)[-3]
    assert sum(each >= foot for each in heights) == 3
    if times > 10:
        assert re.search(r"and \d+ more, on the page", words(svg))


def test_a_name_of_a_file_is_text_and_nothing_else(dossier: Dossier) -> None:
    name = 'file:<script>alert("x")&.c'
    evil = replace(dossier, request=JudgeRequest(name, against=("cubic",)))
    for svg in (badge_svg(evil, DIGEST), summary_svg(evil, DIGEST)):
        assert "<script" not in svg
        assert "<script>alert" in words(svg)


@pytest.mark.slow
def test_the_summary_becomes_a_pdf_of_one_page(dossier: Dossier, tmp_path: Path) -> None:
    with FigureDrawer() as drawer:
        pdf = drawer.converted("summary", summary_svg(dossier, DIGEST), PDF)
    assert pdf.startswith(b"%PDF-")
    assert re.search(rb"/Count\s+1\b", pdf)
    assert re.search(rb"/MediaBox\s*\[0 0 595 842\]", pdf)


@pytest.mark.parametrize("suite", SUITES)
def test_references_and_titles_of_every_suite_fit_their_columns(suite: str) -> None:
    for section in sections_of(suite):
        columns = _COLUMNS[section.suite.references]
        assert columns.fitted(section.title) == section.title
        reference_pt = len(section.reference) * _TITLE_SIZE * _MEAN_WIDTH
        assert _MARGIN_PT + reference_pt < columns.title
    assert columns.fitted("more words than there is room for " * 3).endswith(" …")
