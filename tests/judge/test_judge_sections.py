"""The sections of a dossier: citations, expectations, and equal expectations at both depths."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from dumbbell.backends import get_backend
from dumbbell.compare.checking import asserted
from dumbbell.errors import SpecError
from dumbbell.judge.dossier import write_experiments
from dumbbell.judge.experiment_text import experiment_text
from dumbbell.judge.request import Depth, JudgeRequest
from dumbbell.judge.sections import SECTIONS
from dumbbell.judge.sections.not_covered import NOT_COVERED
from dumbbell.judge.suites import SUITES, sections_of

CONTROLLERS = ("reno", "cubic", "bbr", "vegas", "dctcp")
NOT_ON_KERNEL = {
    *(f"aqm-{each}-dualpi2" for each in ("goodput", "wait")),
    *(f"ecn-{each}-dualpi2" for each in ("goodput", "lost", "wait")),
    *(f"jitter-aggregated-{each}kb" for each in (10, 50)),
    *(
        f"varying-rate-{each}-{trace}"
        for each in ("busy", "wait")
        for trace in ("handover-outage", "on-off")
    ),
}
"""As docs/judge.md says: DualPI2, bursts as of Wi-Fi, and outages."""
RFC = tomllib.loads(
    (Path(__file__).parents[1] / "docs" / "rfc_sections.toml").read_text(encoding="utf-8")
)["9743"]


def test_each_section_of_the_rfc_with_a_criterion_is_judged_or_said_not_to_be() -> None:
    judged = {section.reference for section in SECTIONS}
    not_covered = {title.split()[0] for title in NOT_COVERED}
    groups = {"5.1", "5.2", "5.3", "6", "7"}
    criteria = {number for number in RFC["sections"] if number[0] in "567"} - groups
    assert judged | not_covered >= criteria - {"5"}
    assert judged | not_covered <= set(RFC["sections"])


def test_titles_of_what_is_not_said_are_the_rfcs() -> None:
    for title in NOT_COVERED:
        number, _, words = title.partition(" ")
        assert RFC["sections"][number] == words


def test_names_are_unique_and_labels_short() -> None:
    assert len({section.id for section in SECTIONS}) == len(SECTIONS)
    assert len({section.short for section in SECTIONS}) == len(SECTIONS)
    for section in SECTIONS:
        assert len(f"{section.reference} {section.short}") <= 19
        assert section.question.endswith("?")
        assert section.not_covered


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("depth", Depth)
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_every_file_is_read_and_every_claim_has_its_cell(
    controller: str, depth: Depth, suite: str, tmp_path: Path
) -> None:
    request = JudgeRequest(controller, depth=depth)
    for written in write_experiments(request, tmp_path, sections_of(suite)):
        expectations = written.trial.expectations
        assert len(written.claims.plans) == len(expectations) == len(written.labels)
        statements = [each.statement for each in expectations]
        assert len(set(statements)) == len(statements)
        assert written.claims.precision is None
        for each in expectations:
            assert written.label_of(each.where) is not None
        for harm in written.trial.harms:
            for where in (harm.alone, harm.own, harm.beside):
                written.label_of(where)


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("controller", CONTROLLERS)
def test_quick_asks_some_of_what_full_asks_and_nothing_else(controller: str, suite: str) -> None:
    for section in sections_of(suite):
        quick, full = (
            section.trial(JudgeRequest(controller, depth=depth))
            for depth in (Depth.QUICK, Depth.FULL)
        )
        if quick is None or full is None:
            assert quick is full
            continue
        assert quick.document == full.document
        whole = {each.id: each for each in full.expectations}
        assert len(quick.expectations) <= len(whole)
        for each in quick.expectations:
            assert whole[each.id] == each
    assert Depth.QUICK.replications < Depth.FULL.replications


def test_nothing_is_said_to_meet_the_rfc(tmp_path: Path) -> None:
    for written in write_experiments(JudgeRequest("bbr", depth=Depth.FULL), tmp_path):
        text = written.file.read_text(encoding="utf-8").lower()
        assert "complian" not in text
        assert "threshold of ours" in text or written.section.id in ("known", "existing")


def test_a_controller_is_not_held_against_itself() -> None:
    assert JudgeRequest("cubic").rivals == ("reno", "bbr")
    assert JudgeRequest("bbr", against=("bbr",)).rivals == ()
    existing = next(each for each in SECTIONS if each.id == "existing")
    assert existing.trial(JudgeRequest("bbr", against=("bbr",))) is None


def test_what_is_known_is_asked_of_that_controller_alone() -> None:
    known = next(each for each in SECTIONS if each.id == "known")
    assert known.trial(JudgeRequest("illinois")) is None
    for controller in CONTROLLERS:
        trial = known.trial(JudgeRequest(controller))
        assert trial is not None
        assert all(each.source for each in trial.expectations)
    assert known.trial(JudgeRequest("linux:vegas")) is not None


def test_a_name_with_quotes_stays_text(tmp_path: Path) -> None:
    section = next(each for each in SECTIONS if each.id == "tail-drop")
    request = JudgeRequest('a"b\\c\x7f\n')
    trial = section.trial(request)
    assert trial is not None
    read = tomllib.loads(experiment_text(section, trial, request))
    assert read["flows"][0]["tcp"]["congestion_control"] == request.controller


def test_a_file_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    for folder in (first, second):
        folder.mkdir()
        write_experiments(JudgeRequest("cubic"), folder)
    for file in first.iterdir():
        assert file.read_bytes() == (second / file.name).read_bytes()
        assert asserted(file).cells


@pytest.mark.parametrize("suite", ["rfc9743", "ccperf"])
def test_every_cell_of_quick_runs_on_the_kernel(suite: str, tmp_path: Path) -> None:
    kernel = get_backend("kernel")
    for written in write_experiments(JudgeRequest("cubic"), tmp_path, sections_of(suite)):
        for cell in written.claims.cells:
            kernel.check(cell.experiment.resolved_json())


def test_of_full_the_kernel_refuses_dualpi2_bursts_and_outages_alone(tmp_path: Path) -> None:
    kernel = get_backend("kernel")
    request = JudgeRequest("cubic", depth=Depth.FULL)
    refused: dict[str, str] = {}
    for written in write_experiments(request, tmp_path):
        cells = {each.label: each.experiment for each in written.claims.cells}
        pairs = zip(written.trial.expectations, written.labels, strict=True)
        for expectation, label in pairs:
            try:
                kernel.check(cells[label].resolved_json())
            except SpecError as error:
                refused[f"{written.section.id}-{expectation.id}"] = str(error)
    assert set(refused) == NOT_ON_KERNEL, refused
