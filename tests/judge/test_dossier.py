"""A complete dossier of two short sections: numbers, words, page, files."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dumbbell import _engine
from dumbbell.claims import Verdict
from dumbbell.compare.executing import Threads
from dumbbell.errors import SpecError
from dumbbell.folders import write_content
from dumbbell.judge.dossier import Dossier, judge_controller, write_experiments
from dumbbell.judge.figures import figures_of, threshold
from dumbbell.judge.folder import dossier_files, section_files
from dumbbell.judge.kept_dossier import LISTED, SECTIONS_FOLDER, is_dossier, read_dossier
from dumbbell.judge.page import dossier_report
from dumbbell.judge.request import JudgeRequest
from dumbbell.judge.sections.rfc9743 import RFC_9743
from dumbbell.judge.tables import csv_text, harm_table, latex_text, section_table, verdict_frame
from dumbbell.judge.words import answer, how_measured, outcome_words, question
from dumbbell.report.folder import REPORT
from small_dossiers import SHORT, short_dossier


@pytest.fixture(scope="module")
def dossier(tmp_path_factory: pytest.TempPathFactory) -> Dossier:
    folder = tmp_path_factory.mktemp("dossier")
    return short_dossier(JudgeRequest("bbr", against=("cubic",)), folder)


def test_all_that_is_asked_is_judged(dossier: Dossier) -> None:
    for found in dossier.found:
        assert len(found.judged) == len(found.written.trial.expectations)
        assert len(found.holds) + len(found.fails) + len(found.open) == len(found.judged)
        assert found.split == []


def test_progress_names_the_controller_and_the_section(tmp_path: Path) -> None:
    request = JudgeRequest("bbr", against=("cubic",))
    seen: list[str] = []
    written = write_experiments(request, tmp_path, SHORT)
    judge_controller(
        request,
        written,
        executor_of=lambda cells: Threads(1),
        on_progress=lambda progress: seen.append(progress.task),
    )
    assert list(dict.fromkeys(seen)) == [f"bbr, {each.section.heading}" for each in written]


def test_stopped_before_its_first_run_it_is_interrupted_and_no_error(tmp_path: Path) -> None:
    request = JudgeRequest("bbr", against=("cubic",))
    cancel = _engine.Cancel()
    cancel.set()
    found = judge_controller(
        request,
        write_experiments(request, tmp_path, SHORT),
        executor_of=lambda cells: Threads(1),
        cancel=cancel,
    )
    assert found.interrupted
    assert found.found == ()


def test_a_number_is_that_of_its_cell(dossier: Dossier) -> None:
    found = dossier.found[1]
    small, *_, large = [
        each for each in found.written.trial.expectations if each.quantity.endswith("loss_ratio")
    ]
    assert found.measured(small, "sim").value > 0
    assert found.label(small) != found.label(large)


def test_the_words_count_what_holds(dossier: Dossier) -> None:
    assert question(dossier) == "May I deploy bbr, and where not?"
    held = sum(each.verdict is Verdict.REPRODUCED for each in dossier.judged)
    assert f"{held} of {len(dossier.judged)} expectations" in answer(dossier)
    assert "no check-list" in answer(dossier)
    assert how_measured(dossier).startswith(RFC_9743.caution)


def test_where_nothing_fails_nothing_is_named(dossier: Dossier) -> None:
    found = [
        replace(each, checked=replace(each.checked, judged=tuple(each.holds)))
        for each in dossier.found
    ]
    assert answer(replace(dossier, found=tuple(found))).startswith("No run speaks against it")


def test_where_something_fails_it_is_named(dossier: Dossier) -> None:
    worst = max(dossier.found, key=lambda found: len(found.fails))
    assert worst.fails
    assert worst.section.trouble in answer(dossier)
    assert answer(dossier).startswith("Not without care")


def test_the_figures_have_a_threshold_where_there_is_one(dossier: Dossier) -> None:
    overview, existing, tail_drop = figures_of(dossier)
    assert overview.data["expectations"].sum() == len(dossier.judged)  # type: ignore[union-attr]
    assert set(existing.data["theory"]) == {10.0}
    assert set(tail_drop.data["theory"]) == {85.0}
    harm = next(each for each in dossier.found[0].written.trial.expectations if "harm" in each.id)
    assert threshold(harm, None) is None  # type: ignore[arg-type]


def test_the_tables_say_the_outcome_in_words(dossier: Dossier) -> None:
    for found in dossier.found:
        table = section_table(found, dossier.backends)
        told = [row.filled[0].words for row in table.rows]
        assert told == [outcome_words(each) for each in found.judged]


def test_harm_is_of_the_cells_it_names(dossier: Dossier) -> None:
    found = dossier.found[0]
    table = harm_table(found, "sim")
    assert [row.name for row in table.rows] == ["cubic, 0.5 BDP", "cubic, 8 BDP"]
    each = found.written.trial.harms[0]
    alone, own = (found.values(each.quantity, where, "sim") for where in (each.alone, each.own))
    expected = 1 - own.mean() / alone.mean()
    assert table.rows[0].filled[0].value == pytest.approx(expected)


def test_numbers_go_to_spreadsheets_and_papers(dossier: Dossier) -> None:
    frame = verdict_frame(dossier)
    rows = list(csv.DictReader(io.StringIO(csv_text(frame))))
    assert len(rows) == len(dossier.judged)
    assert {each["outcome"] for each in rows} <= {"holds", "does not hold", "not decided"}
    latex = latex_text(frame, dossier.suite)
    assert latex.count(r" \\") == len(rows) + 1
    assert " 1 \\% of its packets" in latex


def test_the_page_lists_what_is_not_said(dossier: Dossier) -> None:
    report = dossier_report(dossier, {})
    notes = " ".join(report.notes)
    for found in dossier.found:
        assert found.section.not_covered in notes
    assert "6.2 Tunnel Behavior is not judged" in notes
    assert report.meta["controller"] == "bbr"


def kept(dossier: Dossier, folder: Path) -> Path:
    n = dossier.request.depth.replications
    sections = {found.section.id: section_files(found, n) for found in dossier.found}
    for name, content in dossier_files(dossier, sections, lambda svg: b"").items():
        write_content(folder / name, content)
    for name, files in sections.items():
        place = folder / SECTIONS_FOLDER / name
        place.mkdir(parents=True)
        for file, content in files.items():
            write_content(place / file, content)
    return folder


def test_a_folder_that_nobody_changed_is_whole(dossier: Dossier, tmp_path: Path) -> None:
    folder = kept(dossier, tmp_path)
    assert is_dossier(folder)
    found = read_dossier(folder)
    assert [each.name for each in found.sections] == ["existing", "tail-drop"]
    # The page and its list are written by the command.
    assert set(found.changed) == {REPORT.marker}
    for name in ("badge.svg", "summary.svg"):
        assert found.digest in (folder / name).read_text()


def test_what_was_changed_or_taken_away_is_said(dossier: Dossier, tmp_path: Path) -> None:
    folder = kept(dossier, tmp_path)
    with (folder / SECTIONS_FOLDER / "existing" / "experiment.toml").open("a") as file:
        file.write("\n")
    (folder / SECTIONS_FOLDER / "tail-drop" / "check.json").unlink()
    with (folder / "badge.svg").open("a") as file:
        file.write("<!-- all hold -->")
    (folder / "verdicts.csv").unlink()
    found = read_dossier(folder)
    above = f"{SECTIONS_FOLDER}/"
    sentences = [each for name, each in found.changed.items() if name != REPORT.marker]
    assert sentences == [
        f"{above}existing/experiment.toml was changed since it was written",
        f"{above}tail-drop/check.json is missing",
        "verdicts.csv is missing",
        "badge.svg was changed since it was written",
    ]
    assert all(map(found.is_changed, found.sections))


def test_the_digest_is_of_every_file_of_the_sections(dossier: Dossier, tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    folder = kept(dossier, tmp_path / "one")
    before = read_dossier(folder).digest
    listed = json.loads((folder / LISTED).read_text())
    listed["sections"]["existing"]["results.json"] = "0" * 64
    (folder / LISTED).write_text(json.dumps(listed))
    assert read_dossier(folder).digest != before


@pytest.mark.parametrize("key", ["sections", "files"])
@pytest.mark.parametrize("name", ["..", "a/b", "../../etc", "", "a\n"])
def test_a_list_leads_nowhere_else(name: str, key: str, dossier: Dossier, tmp_path: Path) -> None:
    folder = kept(dossier, tmp_path)
    listed = json.loads((folder / LISTED).read_text())
    listed[key][name] = {} if key == "sections" else "0" * 64
    (folder / LISTED).write_text(json.dumps(listed))
    with pytest.raises(SpecError, match="name of a section"):
        read_dossier(folder)


def test_a_damaged_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / LISTED).write_text('{"format": 2}')
    with pytest.raises(SpecError, match=LISTED):
        read_dossier(tmp_path)
