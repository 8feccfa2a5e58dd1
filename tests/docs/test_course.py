"""The course: its lines can be typed, its experiments open, its answers' numbers are computed."""

from __future__ import annotations

import itertools
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from course_tables import ANSWERS, REPLICATIONS, Row, rows_of
from docs_pages import ROOT, links, prose, shell_lines

from dumbbell.lab import LabExperiment, state_hash
from dumbbell.spec import Experiment, Setting, settings_applied

COURSE = ROOT / "docs" / "course"
NO_HANDOUTS = ("index.md", "teachers.md")
HANDOUTS = [page for page in sorted(COURSE.glob("*.md")) if page.name not in NO_HANDOUTS]
EXPERIMENTS = sorted((ROOT / "examples" / "course").glob("*.toml"))
PAGE = ROOT / "python" / "dumbbell" / "lab" / "page"
ROWS = [row for page in ANSWERS for row in rows_of(page)]
FIRST = [next(rows_of(page)) for page in ANSWERS]
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_ITALIC = re.compile(r"(?<!\*)\*([^*\n]+)\*(?!\*)")


@pytest.mark.slow
@pytest.mark.parametrize("row", FIRST, ids=lambda row: row.id)
def test_a_row_of_each_answer_is_what_its_runs_give(row: Row) -> None:
    """When this fails: python tests/docs/course_tables.py, and read the answers again."""
    assert row.computed() == row.cells


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in ROWS if row not in FIRST], ids=lambda row: row.id)
def test_every_row_is_what_its_runs_give(row: Row) -> None:
    assert row.computed() == row.cells


def test_there_is_an_answer_page_for_each_handout() -> None:
    assert len(HANDOUTS) == 5
    assert [page.name for page in HANDOUTS] == [page.name for page in ANSWERS]
    for handout, answers in zip(HANDOUTS, ANSWERS, strict=True):
        assert _numbered(handout, "## Questions") == _numbered(answers, "## Answers")
        assert 6 <= len(_numbered(handout, "## Questions")) <= 10
        assert not any("answers" in target for target in links(handout))


def test_answers_are_linked_from_the_page_for_teachers_alone() -> None:
    for page in (COURSE / "index.md", ROOT / "docs" / "index.md", *HANDOUTS):
        assert [each for each in links(page) if "answers/" in each] == [], page.name
    linked = {(COURSE / each).resolve() for each in links(COURSE / "teachers.md")}
    assert set(ANSWERS) <= linked


def test_the_points_of_a_lab_add_up() -> None:
    text = (COURSE / "teachers.md").read_text(encoding="utf-8")
    (whole,) = re.findall(r"A lab has (\d+) points", text)
    parts = re.findall(r"^\| [\w ]+ \| (\d+) \|", text.split("## Marking")[1], re.MULTILINE)
    assert len(parts) >= 4 and sum(map(int, parts)) == int(whole)


@pytest.mark.parametrize("page", HANDOUTS, ids=lambda page: page.stem)
def test_a_handout_says_which_file_is_handed_in(page: Path) -> None:
    handed_in = page.read_text(encoding="utf-8").split("## Hand in\n")[1]
    named = re.findall(r"As a file, with its digest: `([\w-]+)`", handed_in)
    assert [name for name in named if f"{name}.toml" in page.read_text(encoding="utf-8")] == named
    assert len(named) == 1
    assert f"`{named[0]}`" in (COURSE / "teachers.md").read_text(encoding="utf-8")


def _numbered(page: Path, heading: str) -> list[str]:
    section = page.read_text(encoding="utf-8").split(f"{heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^(\d+)\. ", section, re.MULTILINE)


@pytest.mark.parametrize("page", ANSWERS, ids=lambda page: page.stem)
def test_what_is_bold_stands_in_a_table(page: Path) -> None:
    """Each is the mean of some cell, with the unit of its column."""
    known = {
        f"{cell.split(' ± ')[0]}{_unit(title)}"
        for row in rows_of(page)
        for title, cell in zip(row.titles, row.cells, strict=True)
    }
    said = _BOLD.findall(prose(page))
    assert len(said) >= 8
    assert [each for each in said if each not in known] == []


def _unit(title: str) -> str:
    """`sojourn, ms` has ` ms`; an index has none."""
    return f" {title.rpartition(', ')[2]}" if ", " in title else ""


@pytest.mark.parametrize("page", HANDOUTS, ids=lambda page: page.stem)
def test_the_lines_for_a_terminal_are_the_rows_of_the_answers(page: Path) -> None:
    """What they run after the shell has expanded them has a row each, and the same for all rows."""
    typed = [experiment for line in shell_lines(page) for experiment in _typed(line)]
    assert len(typed) >= 5
    rows = [row.experiment() for row in ROWS if row.page.name == page.name]
    assert [each.name for each in typed if each not in rows] == []
    assert len(typed) <= len(rows)


def _typed(line: str) -> Iterator[Experiment]:
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True
    )
    program, command, file, *options = done.stdout.splitlines()
    assert (program, command) == ("dumbbell", "run")
    assert options[:2] == ["--replications", str(REPLICATIONS)]
    values: defaultdict[str, list[Setting]] = defaultdict(list)
    for option in options[2:]:
        setting = Setting.parse(option.removeprefix("--set="))
        values[setting.path].append(setting)
    document = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))
    for settings in itertools.product(*values.values()):
        yield Experiment.read(settings_applied(document, settings))


@pytest.mark.parametrize("page", HANDOUTS, ids=lambda page: page.stem)
def test_what_is_set_in_italics_stands_on_the_page_of_the_laboratory(page: Path) -> None:
    """Names of fields and numbers, in the laboratory's own words; some are flows of the files."""
    words = " ".join(path.read_text(encoding="utf-8") for path in sorted(PAGE.iterdir()))
    flows = {flow.name for file in EXPERIMENTS for flow in Experiment.from_toml(file).flows}
    emphasised = {"this run", "mean of 30 runs", "policer", "does", "one"} | flows
    steps = " ".join(prose(page).split("## In the laboratory")[1].split("## The same")[0].split())
    named = [each for each in _ITALIC.findall(steps) if each not in emphasised]
    assert len(named) >= 3
    assert [each for each in named if each not in words] == []


def test_every_experiment_is_used_and_opens() -> None:
    linked = {(page.parent / each).resolve() for page in HANDOUTS for each in links(page)}
    assert set(EXPERIMENTS) <= linked
    for file in EXPERIMENTS:
        experiment = Experiment.from_toml(file)
        assert experiment.name == file.stem
        assert state_hash(LabExperiment("file", file.stem, "", experiment)).startswith("#s=")
