"""The course is done in the laboratory alone: what its handouts say to type gives their runs."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from dumbbell import simulate
from dumbbell.spec import Experiment, Setting
from waiting import wait_until

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))
from course_tables import ANSWERS, ROOT, Row, rows_of

pytestmark = pytest.mark.browser
FILES = sorted((ROOT / "examples" / "course").glob("*.toml"))
# A setting's path, and the field that does the same: those whose value a person types or chooses.
TYPED = {
    r"links\[[^]]+\]\.forward\.qdisc": "qdisc",
    r"links\[[^]]+\]\.forward\.police": "police",
    r"flows\[(\w+)\]\.count": "count-{}",
    r"flows\[(\w+)\]\.tcp\.congestion_control": "controller-{}",
}


def _field(setting: Setting) -> str | None:
    for pattern, field in TYPED.items():
        if match := re.fullmatch(pattern, setting.path):
            return field.format(*match.groups())
    return None


ROWS = [
    row
    for page in ANSWERS
    for row in {row.id: row for row in rows_of(page)}.values()
    if all(_field(setting) for setting in row.settings)
]

SOME = [
    max((row for row in ROWS if row.page == page), key=lambda row: len(row.settings))
    for page in ANSWERS
]


@pytest.fixture(scope="module")
def laboratory(module: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a teacher hands out: all experiments of the course in one menu."""
    from typer.testing import CliRunner

    from dumbbell.cli.app import app

    assert module.is_file()
    place = tmp_path_factory.mktemp("course") / "laboratory.html"
    words = ["lab", *map(str, FILES), "--no-open", "--output", str(place)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return place


@pytest.fixture(scope="module")
def page(browser: Browser, laboratory: Path) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(laboratory.as_uri())
    _until(page, "window.laboratory && laboratory.done > 0")
    yield page
    page.close()


def _until(page: Page, expression: str) -> Any:
    return wait_until(
        lambda: page.evaluate(expression),
        expression,
        pause=lambda: page.wait_for_timeout(20),
    )


def _after(page: Page, act: str) -> None:
    """Does something and waits for the run that follows."""
    done = page.evaluate("laboratory.done")
    page.evaluate(act)
    _until(page, f"laboratory.done > {done}")


def _open(page: Page, title: str) -> None:
    """From the menu."""
    _after(
        page,
        f"""(menu => {{
            const found = [...menu.options].find(each => each.textContent === {json.dumps(title)});
            menu.value = found.value;
            menu.dispatchEvent(new Event('change'));
        }})(document.getElementById('preset'))""",
    )


def _type(page: Page, field: str, value: object) -> None:
    _after(
        page,
        f"""(field => {{
            field.value = {json.dumps(str(value))};
            field.dispatchEvent(new Event('input', {{ bubbles: true }}));
            field.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})(document.getElementById('control-{field}'))""",
    )


@pytest.mark.parametrize("row", SOME, ids=lambda row: row.id)
def test_what_is_typed_gives_a_row_of_each_answer(row: Row, page: Page) -> None:
    _check(row, page)


@pytest.mark.long
@pytest.mark.parametrize("row", [row for row in ROWS if row not in SOME], ids=lambda row: row.id)
def test_what_is_typed_gives_every_row_of_the_answers(row: Row, page: Page) -> None:
    _check(row, page)


def _check(row: Row, page: Page) -> None:
    _open(page, Path(row.file).stem)
    for setting in row.settings:
        field = _field(setting)
        assert field is not None
        _type(page, field, setting.value)
    run = simulate(row.experiment())
    assert page.text_content("#digest") == run.meta["digest"]


def test_every_handout_has_such_rows() -> None:
    assert {row.page for row in ROWS} == set(ANSWERS)
    assert len(ROWS) > 25


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_load_is_a_slider(file: Path, page: Page) -> None:
    """Of the experiments whose handouts say to move it; the others have no such source."""
    _open(page, file.stem)
    experiment = Experiment.from_toml(file)
    names = [flow.name for flow in experiment.flows if flow.source.kind == "poisson"]
    found = page.evaluate(
        "[...document.querySelectorAll('#traffic-fields input[type=range]')].map(each => each.id)"
    )
    assert found == [f"control-load-{name}" for name in names]
