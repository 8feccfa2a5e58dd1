"""The kernel's say in a dossier. Here its part is played by the simulator, or by one that lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell.backends import registry
from dumbbell.claims import Judged, Verdict, not_testable
from dumbbell.compare.executing import Threads
from dumbbell.errors import SpecError
from dumbbell.folders import write_content
from dumbbell.judge.badge import badge_svg
from dumbbell.judge.dossier import Dossier, KernelCheck
from dumbbell.judge.folder import all_found, dossier_files, section_files
from dumbbell.judge.kept_dossier import SECTIONS_FOLDER, read_dossier
from dumbbell.judge.kernel_check import check_on_kernel, deciding, margin_of
from dumbbell.judge.page import dossier_report
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.tables import kernel_table, verdict_frame
from dumbbell.judge.words import answer, how_measured, outcome_words, split_words
from dumbbell.report.folder import REPORT
from small_dossiers import short_dossier

CLAIM = "tail-drop-kernel"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dossier")


@pytest.fixture(scope="module")
def dossier(folder: Path) -> Dossier:
    return short_dossier(JudgeRequest("bbr", against=("cubic",)), folder)


@pytest.fixture(scope="module")
def checked(dossier: Dossier, folder: Path) -> Iterator[Dossier]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(registry._MODULES, "kernel", "dumbbell.backends.sim")
        check = check_on_kernel(dossier, folder, lambda cells: Threads(1))
        yield replace(dossier, on_kernel=check)


def check_of(dossier: Dossier) -> KernelCheck:
    assert dossier.on_kernel is not None
    return dossier.on_kernel


def margins(judged: list[Judged]) -> list[float]:
    return [found for each in judged if (found := margin_of(each)) is not None]


def test_the_worst_failure_decides_and_else_the_narrowest_success(dossier: Dossier) -> None:
    for found in dossier.found:
        expectation = deciding(found)
        assert expectation is not None
        (judged,) = [
            each for each in found.judged if each.claim.id == f"{found.section.id}-{expectation.id}"
        ]
        assert judged in found.fails
        assert margin_of(judged) == max(margins(found.fails))
        only = replace(found.checked, judged=tuple(found.holds))
        kept = [f"{found.section.id}-{each.id}" for each in found.written.trial.expectations]
        ids = {each.claim.id for each in found.holds}
        trial = replace(
            found.written.trial,
            expectations=[
                each
                for name, each in zip(kept, found.written.trial.expectations, strict=True)
                if name in ids
            ],
        )
        whole = replace(found, checked=only, written=replace(found.written, trial=trial))
        narrowest = deciding(whole)
        assert narrowest is not None
        (judged,) = [
            each
            for each in found.holds
            if each.claim.id.endswith(f"{found.section.id}-{narrowest.id}")
        ]
        assert margin_of(judged) == min(margins(found.holds))


def test_the_same_numbers_have_the_same_outcomes(checked: Dossier) -> None:
    check = check_of(checked)
    assert [each.section.id for each in check.found] == ["existing-kernel", "tail-drop-kernel"]
    assert not check.not_run
    assert not check.differing
    assert split_words(checked) == []
    for each in check.compared:
        assert each.judged[0].verdict == each.judged[1].verdict
        assert each.measured[0].value == each.measured[1].value
    assert f"in none of {len(check.compared)} expectations" in how_measured(checked)
    assert answer(checked) == answer(replace(checked, on_kernel=None))


def with_last(checked: Dossier, kernel: Judged) -> Dossier:
    """The same dossier with another verdict of the last expectation on the kernel."""
    check = check_of(checked)
    *others, last = check.compared
    last = replace(last, judged=(last.judged[0], kernel))
    compared = sorted([*others, last], key=lambda each: not each.differs)
    return replace(checked, on_kernel=replace(check, compared=tuple(compared)))


def lying(checked: Dossier) -> Dossier:
    """The opposite verdict, of another claim: nobody can make one by hand."""
    sim = check_of(checked).compared[-1].judged[0]
    opposite = {
        Verdict.REPRODUCED: Verdict.NOT_REPRODUCED,
        Verdict.NOT_REPRODUCED: Verdict.REPRODUCED,
    }[sim.verdict]
    return with_last(checked, next(each for each in checked.judged if each.verdict is opposite))


def test_a_disagreement_is_told_first_everywhere(checked: Dossier) -> None:
    found = lying(checked)
    (each,) = check_of(found).differing
    assert answer(found).startswith(f"Simulator and kernel disagree about {each.section.title}. ")
    assert how_measured(found).startswith("The Linux kernel contradicts the simulator in 1 of ")
    assert each.expectation.statement in split_words(found)[0]
    report = dossier_report(found, {})
    leading, every = report.values[:2]
    assert [table.title for table in report.values if table.is_leading] == [
        "Where simulator and kernel decide differently"
    ]
    assert [row.name for row in leading.rows] == [
        f"{each.section.reference} {each.expectation.statement}"
    ]
    outcomes = [cell.words for cell in leading.rows[0].filled]
    assert outcomes == [outcome_words(judged) for judged in each.judged]
    assert set(outcomes) == {"holds", "does not hold"}
    assert every.title == "What the Linux kernel says"
    assert every.rows[0].filled[0].words == "yes"
    assert sum(row.filled[0].words == "yes" for row in every.rows) == 1
    assert report.notes[0].startswith("Simulator and kernel decide differently: ")


def test_what_is_open_on_one_of_them_is_no_disagreement(checked: Dossier) -> None:
    last = check_of(checked).compared[-1]
    unknown = not_testable(last.judged[1].claim, "it failed", backend="kernel")
    assert not check_of(with_last(checked, unknown)).differing


def test_a_cell_the_kernel_cannot_run_is_named_and_the_others_are_run(
    dossier: Dossier, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dumbbell.judge import kernel_check

    def judged(request: JudgeRequest, written: list[object], **keys: object) -> Dossier:
        raise SpecError("links[1].forward.qdisc", "dualpi2", "a discipline of Linux 6.12")

    monkeypatch.setattr(kernel_check, "judge_controller", judged)
    check = check_on_kernel(dossier, folder, lambda cells: Threads(1))
    assert not check.found
    assert list(check.not_run) == [each.section.title for each in dossier.found]
    notes = dossier_report(replace(dossier, on_kernel=check), {}).notes
    assert sum("was not run on the kernel: links[1].forward.qdisc" in each for each in notes) == 2


def test_its_files_lie_in_the_folder_and_its_numbers_in_the_tables(
    checked: Dossier, tmp_path: Path
) -> None:
    sections = {each.section.id: section_files(each, 6) for each in all_found(checked)}
    files = dossier_files(checked, sections, lambda svg: b"")
    assert "tail-drop-kernel.toml" in files
    frame = verdict_frame(checked)
    of_kernel = frame.filter(frame["backend"] == "kernel")
    assert of_kernel["id"].str.contains(CLAIM).any()
    assert of_kernel.height == len(check_of(checked).compared)
    assert len(kernel_table(check_of(checked)).rows) == of_kernel.height
    for name, content in files.items():
        write_content(tmp_path / name, content)
    for name, kept in sections.items():
        place = tmp_path / SECTIONS_FOLDER / name
        place.mkdir(parents=True)
        for file, content in kept.items():
            write_content(place / file, content)
    found = read_dossier(tmp_path)
    assert "tail-drop-kernel" in [each.name for each in found.sections]
    assert set(found.changed) == {REPORT.marker}  # of the page, which is not written here
    # The badge counts the simulator's expectations alone.
    assert f"of {len(checked.judged)} expectations" in badge_svg(checked, found.digest)
